/* probe/machines/machines.c and machines_table.c: every description builds, holds what its record says, and looks like
 * the recorded machine of its kind where the corpus has one. */
#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/machines/machines_internal.h"
#include "probe/topology/build.h"
#include "probe/topology/topology.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static struct topology *machine(const char *name)
{
    struct err e = {0};
    struct topology *t = machine_topology(name, 1, &e);
    if (!t)
        fail_msg("%s", e.text);
    return t;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void assert_tree(const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        assert_true(o->parent < i);
        assert_true(o->parent >= 0 || o->kind == TOPO_NUMA || o->kind == TOPO_NVSWITCH);
        for (int k = 0; k < i && o->pci; k++)
            assert_true(!c->objects[k].pci || strcmp(c->objects[k].pci, o->pci) != 0);
    }
}

static void assert_known(const struct path_matrix *m)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->n; k++) {
            assert_int_not_equal(path_between(m, i, k)->class_, PATH_UNKNOWN);
            assert_true(i == k || path_between(m, i, k)->class_ == PATH_LOC || path_between(m, i, k)->GBps > 0);
        }
}

/* The ports that the description means for compute are those that the rules find. */
static void assert_roles(struct topology *t, const struct machine_size *size)
{
    const struct topo_class *c = &t->classes[0];
    const struct port_verdict *verdicts = roles_of(c, t->arena);
    int n = 0;
    for (int i = 0; i < c->nports; i++)
        n += verdicts[i].role == ROLE_COMPUTE;
    assert_int_equal(n, hw_transport_of(c, size->first_nic) == HW_SOCKETS || !c->nports ? 0 : size->ports);
    findings_attach(t);
    assert_int_equal(finding_count(t->findings, t->nfindings, FINDING_ERROR), 0);
}

/* Both ways through topology.json. */
static void assert_round_trip(const struct topology *t)
{
    struct err e = {0};
    struct topology *again = topo_new();
    char hash[SHA256_HEX], hash_again[SHA256_HEX];
    cJSON *doc = topo_to_json(t);
    if (topo_add_json(again, doc, "again", &e))
        fail_msg("%s", e.text);
    topo_hash(t, hash);
    topo_hash(again, hash_again);
    assert_string_equal(hash, hash_again);
    cJSON_Delete(doc);
    topo_free(again);
}

/* A document with its title, or an address, that comes before what is assumed. */
static void assert_source(const char *source)
{
    assert_non_null(source);
    const char *assumed = strstr(source, "assumed: "), *address = strstr(source, "https://");
    size_t told = assumed ? (size_t)(assumed - source) : strlen(source);
    assert_true(told > 10);
    assert_true(!assumed || (address && address < assumed));
}

TEST_CASE(every_machine)
{
    for (const struct machine *m = machines; m->name; m++) {
        struct machine_size size;
        struct topology *t = machine_build(m, 1, &size);
        const struct topo_class *c = &t->classes[0];
        assert_tree(c);
        assert_int_equal(c->ngpus, size.gpus);
        assert_true(size.ports > 0);
        for (int i = 0; i < c->ngpus; i++) {
            assert_int_equal(c->gpus[i].index, i);
            assert_string_equal(hw_gpu_of(c, &c->gpus[i])->name, m->gpu);
        }
        for (int i = 0; i < c->nports; i++)
            assert_true(c->ports[i].rate_Gbps <= hw_nic_of(&c->objects[c->ports[i].object])->most_Gbps);
        assert_known(path_matrix(c, t->arena));
        assert_roles(t, &size);
        assert_round_trip(t);
        assert_source(m->source);
        assert_note(c, m->source);
        topo_free(t);
    }
}

/* Every format is written of every machine. */
TEST_CASE(every_format)
{
    for (const struct machine *m = machines; m->name; m++)
        for (const struct probe_format *const *f = probe_formats; *f; f++) {
            char *text = NULL;
            size_t bytes;
            struct err e = {0};
            struct topology *t = machine(m->name);
            FILE *out = open_memstream(&text, &bytes);
            int rc = (*f)->write(t, out, &e);
            fclose(out);
            if (rc && rc != ERR_LACKS)
                fail_msg("%s as %s: %s", m->name, (*f)->name, e.text);
            assert_true(rc || bytes > 100);
            free(text);
            topo_free(t);
        }
}

/* ---- some of them ------------------------------------------------------------------------------------------------ */

TEST_CASE(dgx_h100)
{
    struct topology *t = machine("DGX-H100");
    const struct topo_class *c = &t->classes[0];
    const struct path_matrix *m = path_matrix(c, t->arena);
    char word[PATH_WORD];
    assert_string_equal(roles_hca_list(c, roles_of(c, t->arena), t->arena),
                        "=mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1");
    assert_string_equal(path_word(word, path_between(m, 0, path_end_of(m, "mlx5_0"))), "PIX");
    assert_string_equal(path_word(word, path_between(m, 0, path_end_of(m, "mlx5_3"))), "NODE");
    assert_string_equal(path_word(word, path_between(m, 0, path_end_of(m, "mlx5_6"))), "SYS");
    assert_string_equal(path_word(word, path_between(m, path_end_of(m, "mlx5_1"), path_end_of(m, "mlx5_2"))), "PIX");
    assert_true(path_between(m, 0, path_end_of(m, "mlx5_0"))->GBps > 60);
    assert_string_equal(c->ports[0].netdev, "ib0");
    topo_free(t);
}

TEST_CASE(gb200)
{
    struct err e = {0};
    struct topology *t = machine_topology("gb200-nvl72", 18, &e);
    assert_int_equal(t->classes[0].nnotes, 1);
    assert_string_equal(t->classes[0].gpus[3].clique, "gb200-nvl72.0");
    topo_free(t);
    t = machine_topology("gb200-nvl72", 19, &e);
    assert_string_equal(t->hosts[17].clique, "gb200-nvl72.0");
    assert_string_equal(t->hosts[18].clique, "gb200-nvl72.1");
    topo_free(t);
}

/* The CPUs of P5 have PCIe 4, its switches PCIe 5. */
TEST_CASE(faster_below_switches)
{
    struct topology *t = machine("aws-p5");
    const struct topo_class *c = &t->classes[0];
    const struct topo_object *gpu = &c->objects[c->gpus[0].object], *on = &c->objects[gpu->parent];
    assert_int_equal(on->kind, TOPO_SWITCH);
    assert_true(gpu->link_GTps == 32 && on->link_GTps == 16);
    topo_free(t);
}

TEST_CASE(accelerators)
{
    struct topology *t = machine("mi300x");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->objects[c->gpus[0].object].pci_class, 0x120000);
    topo_free(t);
}

TEST_CASE(geforce)
{
    struct topology *t = machine("4x4090");
    assert_int_equal(t->classes[0].gpus[0].np2p_problems, 3);
    assert_int_equal(t->classes[0].gpus[3].np2p_problems, 0);
    assert_string_equal(t->classes[0].gpus[2].p2p_problems[0], "GPU3: read, write: not supported by the chipset");
    assert_int_equal(t->classes[0].gpus[0].gdr, 0);
    topo_free(t);
}

/* ---- many nodes, wrong questions --------------------------------------------------------------------------------- */

TEST_CASE(many_nodes)
{
    struct err e = {0};
    struct topology *t = machine_topology("dgx-h100", 100000, &e);
    assert_int_equal(t->nclasses, 1);
    assert_int_equal(t->nhosts, 100000);
    assert_string_equal(t->hosts[0].name, "node0001");
    assert_string_equal(t->hosts[9998].name, "node9999");
    assert_string_equal(t->hosts[99999].name, "node100000");
    /* There is room to go on. */
    build_host(t, "one more", 0);
    assert_int_equal(t->nhosts, 100001);
    assert_string_equal(t->hosts[0].name, "node0001");
    topo_free(t);
    t = machine_topology("dgx-h100", 1024, &e);
    build_host(t, "one more", 0);
    assert_string_equal(t->hosts[1023].name, "node1024");
    topo_free(t);
}

TEST_CASE(wrong_questions)
{
    static const int nodes[] = {0, -1, MACHINE_MOST + 1, 2147483647};
    static const struct {
        const char *name, *near;
    } names[] = {{"dgx-h10", "dgx-h100"}, {"ndv5", "azure-ndv5"}, {"azure_ndv5", "azure-ndv5"}, {"p4d", "aws-p4d"}};
    struct err e = {0};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        assert_null(machine_topology("dgx-h100", nodes[i], &e));
        assert_int_equal(e.code, ERR_USAGE);
        assert_non_null(strstr(e.text, "expected 1 to 1000000 nodes"));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(machine_topology(names[i].name, 1, &e));
        assert_int_equal(e.code, ERR_USAGE);
        if (!strstr(e.text, "did you mean") || !strstr(e.text, names[i].near))
            fail_msg("%s", e.text);
    }
    assert_null(machine_topology("", 1, &e));
    assert_non_null(strstr(e.text, "--list-machines"));
}

TEST_CASE(lists)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    machine_list(0, out);
    fclose(out);
    assert_non_null(strstr(text, "32 x 100 Gb/s EFA"));
    free(text);
}

/* ---- against recorded machines ----------------------------------------------------------------------------------- */

/* What is alike whatever the order and the names of the NICs: their distances to the GPUs, sorted. */
struct portrait {
    char *gpus;  /* the matrix of the GPUs */
    char **nics; /* a row for each card */
    int nnics;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum detail { GPUS_ONLY, NICS, SPEEDS };

/* NCCL's class, how many links, and with SPEEDS the narrowest link on the way. */
static char *append(struct arena *a, char *words, const struct topo_path *p, enum detail detail)
{
    const char *class_ = path_class_name(p->class_);
    words = p->word == WORD_LINKS ? arena_printf(a, "%s %s%d", words, class_, p->links)
                                  : arena_printf(a, "%s %s", words, class_);
    return detail == SPEEDS ? arena_printf(a, "%s %.0f", words, p->GBps) : words;
}

static int is_compute(const struct topo_class *c, const struct port_verdict *verdicts, const char *label)
{
    for (int i = 0; i < c->nports; i++)
        if (!strcmp(c->ports[i].hca, label))
            return verdicts[i].role == ROLE_COMPUTE || verdicts[i].role == ROLE_UNKNOWN;
    return 1;
}

/* NICs for compute (those of unknown state too: files do not tell it), one for all functions of a card. */
static struct portrait portrait_of(const struct topo_class *c, struct arena *a, enum detail detail)
{
    struct portrait p = {.gpus = arena_strdup(a, "")};
    const struct path_matrix *m = path_matrix(c, a);
    const struct port_verdict *verdicts = roles_of(c, a);
    for (int i = 0; i < m->ngpus; i++)
        for (int k = 0; k < m->ngpus; k++)
            p.gpus = append(a, p.gpus, path_between(m, i, k), NICS);
    p.nics = arena_alloc(a, (size_t)m->n * sizeof *p.nics);
    for (int i = m->ngpus; i < m->n; i++) {
        char *words = arena_strdup(a, "");
        int same_card = 0;
        for (int k = m->ngpus; k < i; k++)
            same_card |= path_between(m, i, k)->class_ == PATH_LOC;
        for (int k = 0; k < m->ngpus; k++)
            words = append(a, words, path_between(m, i, k), detail);
        if (!same_card && is_compute(c, verdicts, m->ends[i].label))
            p.nics[p.nnics++] = words;
    }
    qsort(p.nics, (size_t)p.nnics, sizeof *p.nics, by_text);
    return p;
}

/* Where the file tells rates of ports: the fastest of both differ by less than files round. */
static void assert_rates(const struct topo_class *ours, const struct topo_class *recorded)
{
    const double most_off = 0.15;
    double x = 0, y = 0;
    for (int i = 0; i < ours->nports; i++)
        x = fmax(x, ours->ports[i].rate_Gbps);
    for (int i = 0; i < recorded->nports; i++)
        y = fmax(y, recorded->ports[i].rate_Gbps);
    assert_true(!(y > 0) || fabs(x / y - 1) < most_off);
}

static void assert_alike(const char *name, const char *file, enum detail detail)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const char *path = corpus_file(a, file);
    if (!path) {
        arena_free(a);
        skip_because(NEEDS_CORPUS);
    }
    struct topology *ours = machine(name), *recorded = load_one(path);
    const struct machine *m = machines;
    while (strcmp(m->name, name) != 0)
        m++;
    if (machine_complete_gpus(recorded, m->gpu, &e))
        fail_msg("%s", e.text);
    struct portrait x = portrait_of(&ours->classes[0], a, detail);
    struct portrait y = portrait_of(&recorded->classes[0], a, detail);
    assert_string_equal(x.gpus, y.gpus);
    if (detail > GPUS_ONLY) {
        assert_rates(&ours->classes[0], &recorded->classes[0]);
        assert_int_equal(x.nnics, y.nnics);
        for (int i = 0; i < x.nnics; i++)
            assert_string_equal(x.nics[i], y.nics[i]);
    }
    topo_free(ours);
    topo_free(recorded);
    arena_free(a);
}

TEST_CASE(recorded_dgx)
{
    assert_alike("dgx-1v", "topo-matrix/016_microsoft+msccl-tools_test_topologies.py.txt", NICS);
    assert_alike("dgx-2", "hwloc/hwloc_nvidiaDGX2.xml", GPUS_ONLY);
}

TEST_CASE(recorded_hgx)
{
    assert_alike("hgx-h200", "topo-matrix/018_mlcommons+training_results_v5.0_result_0.txt.txt", NICS);
}

TEST_CASE(recorded_azure)
{
    /* The file gives the V100 twice the speed that they have. */
    assert_alike("azure-ndv2", "nccl-topology/azure_ndv2.xml", NICS);
    assert_alike("azure-ndv4", "nccl-topology/azure_ndv4.xml", SPEEDS);
    assert_alike("azure-ndv5", "nccl-topology/azure_ndv5.xml", SPEEDS);
    assert_alike("azure-ndv5-mi300x", "nccl-topology/amd_8p_940vm.xml", SPEEDS);
}

TEST_CASE(recorded_aws)
{
    assert_alike("aws-p4d", "nccl-topology/aws_p4d.24xlarge.xml", SPEEDS);
    assert_alike("aws-p4de", "nccl-topology/aws_p4de.24xlarge.xml", SPEEDS);
    assert_alike("aws-p3dn", "hwloc/nixl_p3dn.24xl-topo.xml", SPEEDS);
    assert_alike("aws-p5", "hwloc/nixl_p5.48xl-topo.xml", SPEEDS);
}

TEST_CASE(recorded_oci)
{
    /* Recorded while the links above the switches were asleep. */
    assert_alike("oci-h100", "nccl-topology/oci_h100.xml", NICS);
    assert_alike("oci-a100", "nccl-topology/nemo_oci.xml", SPEEDS);
}

TEST_CASE(recorded_amd)
{
    assert_alike("mi300x", "nccl-topology/amd_8p_940.xml", SPEEDS);
    assert_alike("mi350x", "nccl-topology/amd_8p_950.xml", SPEEDS);
}

/* The same dies are joined; the file counts every bundle as one link. */
TEST_CASE(recorded_mi250x)
{
    struct arena *a = arena_new();
    const char *path = corpus_file(a, "nccl-topology/amd_8p_90a.xml");
    struct topology *ours = machine("mi250x"), *recorded = path ? load_one(path) : NULL;
    const struct path_matrix *x = path_matrix(&ours->classes[0], a);
    const struct path_matrix *y = recorded ? path_matrix(&recorded->classes[0], a) : NULL;
    for (int i = 0; y && i < 8; i++)
        for (int k = 0; k < 8; k++)
            assert_int_equal(path_between(x, i, k)->class_ == PATH_NVL, path_between(y, i, k)->class_ == PATH_NVL);
    topo_free(ours);
    topo_free(recorded);
    arena_free(a);
    if (!path)
        skip_because(NEEDS_CORPUS);
}

TEST_CASES(test_machines)
