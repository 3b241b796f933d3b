/* probe/machines/machines.c: every kind of board, as the matrix shows it; files without models and links, completed by
 * name. */
#include "probe/machines/machines.h"
#include "probe/machines/machines_internal.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

/* The first row of the matrix of `n` such GPUs, which have a CPU each. */
static const char *row(struct topology *t, const char *gpu, int n)
{
    struct topo_class *c = build_class(t, NULL);
    for (int i = 0; i < n; i++) {
        struct topo_object o = {.kind = TOPO_GPU, .parent = build_numa(t, c, i), .numa = i};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i});
    }
    build_order_devices(t, c);
    wiring_usual(t, c, hw_gpu_find(gpu));
    const char *words = matrix_words(c, t->arena);
    return arena_strndup(t->arena, words, strcspn(words, "\n"));
}

TEST_CASE(boards)
{
    static const struct {
        const char *gpu;
        int n;
        const char *row;
    } cases[] = {
        {"h100-sxm", 8, "GPU0 X NV18 NV18 NV18 NV18 NV18 NV18 NV18"},
        {"h100-sxm", 4, "GPU0 X NV6 NV6 NV6"},
        {"h100-sxm", 2, "GPU0 X NV18"},
        {"h100-sxm", 1, "GPU0 X"},
        {"gb200", 4, "GPU0 X NV18 NV18 NV18"},
        {"h800-sxm", 8, "GPU0 X NV8 NV8 NV8 NV8 NV8 NV8 NV8"},
        {"a100-sxm", 8, "GPU0 X NV12 NV12 NV12 NV12 NV12 NV12 NV12"},
        {"a100-sxm-80", 4, "GPU0 X NV4 NV4 NV4"},
        {"v100-sxm2", 8, "GPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS"},
        {"v100-sxm2-32", 4, "GPU0 X NV2 NV2 NV2"},
        {"h100-nvl", 4, "GPU0 X NV12 SYS SYS"},
        {"h100-nvl", 3, "GPU0 X NV12 SYS"},
        {"h200-nvl", 8, "GPU0 X NV6 NV6 NV6 SYS SYS SYS SYS"},
        {"l40s", 4, "GPU0 X SYS SYS SYS"},
        {"mi300x", 8, "GPU0 X XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1"},
        {"mi300a", 4, "GPU0 X XGMI2 XGMI2 XGMI2"},
        {"mi250x", 8, "GPU0 X XGMI4 XGMI1 SYS SYS SYS XGMI2 SYS"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = topo_new();
        assert_string_equal(row(t, cases[i].gpu, cases[i].n), cases[i].row);
        topo_free(t);
    }
}

/* Both ends tell the same, and no GPU has more links than it has. */
TEST_CASE(ends)
{
    for (const struct hw_gpu *hw = hw_gpus; hw->name; hw++)
        for (int n = 1; n <= 16; n++) {
            struct topology *t = topo_new();
            row(t, hw->name, n);
            const struct topo_class *c = &t->classes[0];
            int links[16] = {0}, there[16][16] = {{0}};
            for (int i = 0; i < c->nlinks; i++) {
                const struct topo_link *l = &c->links[i];
                if (l->link_kind == TOPO_C2C)
                    continue;
                links[l->gpu] += l->count;
                assert_true(l->GBps == l->count * hw->link_GBps);
                if (l->peer_gpu >= 0)
                    there[l->gpu][l->peer_gpu] += l->count;
            }
            for (int i = 0; i < n; i++) {
                assert_true(links[i] <= hw->links);
                for (int k = 0; k < n; k++)
                    assert_int_equal(there[i][k], there[k][i]);
            }
            topo_free(t);
        }
}

/* The dies of MI250X have 7 links and 6 by turns, V100 in a cube all of theirs. */
TEST_CASE(boards_that_are_no_mesh)
{
    static const struct {
        const char *gpu;
        int links[8];
    } cases[] = {{"mi250x", {7, 6, 7, 6, 7, 6, 7, 6}}, {"v100-sxm2", {6, 6, 6, 6, 6, 6, 6, 6}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = topo_new();
        row(t, cases[i].gpu, 8);
        int links[8] = {0};
        for (int k = 0; k < t->classes[0].nlinks; k++)
            links[t->classes[0].links[k].gpu] += t->classes[0].links[k].count;
        assert_memory_equal(links, cases[i].links, sizeof links);
        topo_free(t);
    }
}

TEST_CASE(switches_and_cpus)
{
    struct topology *t = topo_new();
    row(t, "h100-sxm", 8);
    const struct topo_class *c = &t->classes[0];
    int counts[5] = {0}, switches = 0;
    for (int i = 0; i < c->nobjects; i++)
        switches += c->objects[i].kind == TOPO_NVSWITCH;
    assert_int_equal(switches, 4);
    for (int i = 0; i < 4; i++)
        counts[i] = c->links[i].count;
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], 18);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[3], 4);
    row(t, "gb200", 4);
    c = &t->classes[1];
    int cpus = 0;
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].link_kind == TOPO_C2C) {
            assert_int_equal(c->objects[c->links[i].peer_object].numa, c->links[i].gpu);
            assert_true(c->links[i].GBps == 225);
            cpus++;
        }
    assert_int_equal(cpus, 4);
    topo_free(t);
}

/* ---- hardware_complete ---- */

/* A node of `n` GPUs of which nothing is known. */
static struct topology *bare(int n)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    t->source = "a test";
    build_host(t, "node1", 0);
    for (int i = 0; i < n; i++) {
        int parent = build_numa(t, c, i * 2 / n);
        struct topo_object o = {.kind = TOPO_GPU, .parent = parent, .numa = i * 2 / n};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1});
    }
    build_order_devices(t, c);
    return t;
}

/* All links of a GPU but C2C. */
static int links_of(const struct topo_class *c, int gpu, double *GBps)
{
    int n = 0;
    *GBps = 0;
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].gpu == gpu && c->links[i].link_kind != TOPO_C2C) {
            n += c->links[i].count;
            *GBps += c->links[i].GBps;
        }
    return n;
}

TEST_CASE(nothing_known)
{
    struct topology *t = bare(8);
    struct err e = {0};
    double GBps;
    assert_int_equal(machine_complete_gpus(t, "H100-SXM", &e), 0);
    const struct topo_class *c = &t->classes[0];
    for (int i = 0; i < 8; i++) {
        const struct topo_gpu *g = &c->gpus[i];
        assert_int_equal(g->sm, 90);
        assert_int_equal(g->mem_bytes, 80ull << 30);
        assert_int_equal(g->gdr, 1);
        assert_string_equal(c->objects[g->object].model, "NVIDIA H100 80GB HBM3");
        assert_string_equal(hw_gpu_named(c, g)->name, "h100-sxm");
        assert_int_equal(links_of(c, i, &GBps), 18);
        assert_true(GBps == 450);
    }
    assert_note(c, "taken for h100-sxm, as requested; their links are those of the usual baseboard");
    /* Once more changes nothing. */
    int nlinks = c->nlinks;
    assert_int_equal(machine_complete_gpus(t, "h100-sxm", &e), 0);
    assert_int_equal(t->classes[0].nlinks, nlinks);
    topo_free(t);
}

/* Links to the CPU are none of the GPU's to others. */
TEST_CASE(grace)
{
    struct err e = {0};
    struct topology *t = bare(4);
    double GBps;
    assert_int_equal(machine_complete_gpus(t, "gb200", &e), 0);
    assert_int_equal(links_of(&t->classes[0], 0, &GBps), 18);
    assert_int_equal(t->classes[0].nlinks, 8);
    assert_int_equal(machine_complete_gpus(t, "gb200", &e), 0);
    topo_free(t);
}

/* What the driver calls the architecture and the memory need not be what the data sheet does. */
TEST_CASE(other_words)
{
    struct err e = {0};
    struct topology *t = bare(8);
    t->classes[0].gpus[0].arch = "gfx940";
    assert_int_equal(machine_complete_gpus(t, "mi300x", &e), 0);
    assert_string_equal(t->classes[0].gpus[0].arch, "gfx940");
    topo_free(t);
    t = bare(2);
    t->classes[0].gpus[0].mem_bytes = 25396838400; /* as a driver counts 24 GB */
    t->classes[0].gpus[1].gdr = 1;
    assert_int_equal(machine_complete_gpus(t, "rtx4090", &e), 0);
    assert_int_equal(t->classes[0].gpus[0].gdr, 0);
    assert_int_equal(t->classes[0].gpus[1].gdr, 1);
    topo_free(t);
}

TEST_CASE(what_is_known_stays)
{
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    struct topo_class *c = &t->classes[0];
    int nlinks = c->nlinks, counts[64];
    double GBps;
    assert_in_range(nlinks, 1, 64);
    for (int i = 0; i < nlinks; i++)
        counts[i] = c->links[i].count;
    c->objects[c->gpus[0].object].model = "A100-SXM4-40GB";
    c->gpus[0].mem_bytes = 42505273344;
    assert_int_equal(machine_complete_gpus(t, "a100-sxm", &e), 0);
    assert_string_equal(c->objects[c->gpus[0].object].model, "A100-SXM4-40GB");
    assert_int_equal(c->gpus[0].mem_bytes, 42505273344);
    assert_int_equal(c->nlinks, nlinks);
    for (int i = 0; i < nlinks; i++) {
        assert_int_equal(c->links[i].count, counts[i]);
        assert_true(c->links[i].GBps == 25.0 * counts[i]);
    }
    assert_int_equal(links_of(c, 0, &GBps), 12);
    topo_free(t);
}

static void assert_refused(struct topology *t, const char *gpu, const char *part)
{
    struct err e = {0};
    const char *before = matrix_words(&t->classes[0], t->arena);
    assert_int_equal(machine_complete_gpus(t, gpu, &e), ERR_USAGE);
    if (!strstr(e.text, part))
        fail_msg("'%s' does not say '%s'", e.text, part);
    assert_string_equal(matrix_words(&t->classes[0], t->arena), before);
    topo_free(t);
}

TEST_CASE(contradictions)
{
    struct topology *t = bare(4);
    t->classes[0].gpus[2].sm = 80;
    assert_refused(t, "h100-sxm", "GPU2 of class0 is not h100-sxm: it has compute capability 8.0");

    t = bare(4);
    t->classes[0].gpus[1].arch = "gfx942";
    assert_refused(t, "h100-sxm", "GPU1 of class0 is not h100-sxm: its architecture is gfx942");

    t = bare(4);
    t->classes[0].gpus[1].arch = "gfx90a";
    assert_refused(t, "mi300x", "its architecture is gfx90a");

    t = bare(4);
    t->classes[0].objects[t->classes[0].gpus[0].object].vendor = 0x1002;
    assert_refused(t, "h100-sxm", "GPU0 of class0 is not h100-sxm: its PCI vendor is 1002");

    t = bare(4);
    t->classes[0].gpus[3].mem_bytes = 80ull << 30;
    assert_refused(t, "a100-sxm", "GPU3 of class0 is not a100-sxm: it has 80 GiB of memory, not 40 GiB");

    t = bare(4);
    t->classes[0].gpus[0].mem_bytes = 94ull << 30;
    assert_refused(t, "h100-sxm", "it has 94 GiB of memory, not 80 GiB");

    t = bare(4);
    t->classes[0].objects[t->classes[0].gpus[0].object].model = "NVIDIA L40S";
    assert_refused(t, "h100-sxm", "its NVIDIA L40S says l40s");

    t = bare(2);
    build_link(t, &t->classes[0], (struct topo_link){.gpu = 0, .peer_gpu = 1, .peer_object = -1, .count = 18});
    assert_refused(t, "a100-sxm", "GPU0 of class0 is not a100-sxm: it has 18 links, not 12");

    assert_refused(load_one(FIXTURE "nccl_nvswitch.xml"), "h100-sxm", "its PCI device 10de:20b0 says a100-sxm");
    assert_refused(load_one(FIXTURE "nccl_rccl_xgmi.xml"), "h100-sxm", "is not h100-sxm");
    assert_refused(bare(2), "h100", "can be any of h100-sxm, h100-pcie, h100-nvl");
    t = topo_new();
    t->source = "a test";
    build_class(t, NULL);
    assert_refused(t, "h100-sxm", "there is no GPU");
}

/* hwloc shows the matrix of bandwidths, which says how many links there are. */
TEST_CASE(hwloc_file)
{
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    const char *before = matrix_words(&t->classes[0], t->arena);
    assert_int_equal(machine_complete_gpus(t, "v100-sxm2", &e), 0);
    assert_int_equal(t->classes[0].gpus[0].sm, 70);
    assert_string_equal(matrix_words(&t->classes[0], t->arena), before);
    topo_free(t);
}

TEST_CASES(test_wiring)
