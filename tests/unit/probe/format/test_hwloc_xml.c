/* probe/format/hwloc_xml.c: what it writes is loaded by libhwloc and by our own reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hwloc.h>

#include "probe/topology/build.h"
#include "tests/unit/probe/matrix.h"

#define PATH "/tmp/nccltune-hwloc.XXXXXX"

/* The name of a file with `t` in it. */
static char *written(char name[sizeof PATH], const struct topology *t)
{
    struct err e = {0};
    int fd = mkstemp(strcpy(name, PATH));
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(out);
    if (probe_format_find("hwloc-xml")->write(t, out, &e))
        fail_msg("%s", e.text);
    assert_int_equal(fclose(out), 0);
    return name;
}

static int count_objects(const struct topo_class *c, enum topo_kind kind)
{
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].kind == kind;
    return n;
}

static hwloc_topology_t loaded(const char *path)
{
    hwloc_topology_t h;
    assert_int_equal(hwloc_topology_init(&h), 0);
    assert_int_equal(hwloc_topology_set_xml(h, path), 0);
    assert_int_equal(hwloc_topology_set_io_types_filter(h, HWLOC_TYPE_FILTER_KEEP_ALL), 0);
    assert_int_equal(hwloc_topology_load(h), 0);
    hwloc_topology_check(h); /* aborts on a broken tree */
    return h;
}

/* libhwloc finds the NUMA nodes, devices and links; reading it back gives the same distances. */
static void assert_round_trip(const char *path)
{
    struct topology *t = load_one(path);
    const struct topo_class *c = &t->classes[0];
    char name[sizeof PATH];
    hwloc_topology_t h = loaded(written(name, t));
    int nodes = count_objects(c, TOPO_NUMA);
    assert_int_equal(hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_NUMANODE), nodes ? nodes : 1);
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        if (!o->pci || o->kind == TOPO_SWITCH)
            continue;
        hwloc_obj_t found = hwloc_get_pcidev_by_busidstring(h, o->pci);
        assert_non_null(found);
        assert_int_equal(found->attr->pcidev.vendor_id, o->vendor);
        hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(h, found);
        int root = i;
        while (c->objects[root].parent >= 0)
            root = c->objects[root].parent;
        if (c->objects[root].kind == TOPO_NUMA)
            assert_true(hwloc_bitmap_isset(above->nodeset, (unsigned)c->objects[root].numa));
    }
    unsigned n = 1;
    struct hwloc_distances_s *links;
    assert_int_equal(hwloc_distances_get(h, &n, &links, HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH, 0), 0);
    assert_int_equal(n, c->nlinks > 0);
    if (n) {
        const struct path *p = path_between(path_matrix(c, t->arena), 0, 1);
        assert_int_equal(links->nbobjs, c->ngpus);
        assert_int_equal(links->values[1], p->word != WORD_LINKS ? 0
                                           : p->GBps > 0         ? (int)(p->GBps * 1000 + 0.5)
                                                                 : 25000 * p->links);
        hwloc_distances_release(h, links);
    }
    hwloc_topology_destroy(h);

    struct topology *again = load_one(name);
    const struct topo_class *d = &again->classes[0];
    assert_string_equal(matrix_classes(d, t->arena), matrix_classes(c, t->arena));
    assert_int_equal(d->nports, c->nports);
    for (int i = 0; i < c->nports; i++) {
        assert_string_equal(d->ports[i].hca, c->ports[i].hca);
        assert_int_equal(d->ports[i].port, c->ports[i].port);
        assert_int_equal(d->ports[i].state, c->ports[i].state);
    }
    assert_int_equal(count_objects(d, TOPO_SWITCH), count_objects(c, TOPO_SWITCH));
    for (int i = 0; i < c->ngpus; i++)
        assert_int_equal(d->gpus[i].index, c->gpus[i].index);
    unlink(name);
    topo_free(again);
    topo_free(t);
}

static void there_and_back(void **state)
{
    (void)state;
    static const char *const files[] = {"hwloc2_dgx1v.xml", "nccl_nvswitch.xml", "nccl_broadcom.xml",
                                        "nccl_rccl_xgmi.xml", "nccl_cloud.xml"};
    static const char *const real[] = {"azure_ndv2", "azure_ndv4", "azure_ndv5", "aws_p4d.24xlarge", "amd_8p_940"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_round_trip(arena_printf(a, FIXTURE "%s", files[i]));
    }
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        const char *path = corpus_file(a, arena_printf(a, "nccl-topology/%s.xml", real[i]));
        if (path)
            assert_round_trip(path);
    }
    arena_free(a);
}

/* Nothing but the matrix in words needs the links' number: NV1 and NV2 come back as well. */
static void words(void **state)
{
    (void)state;
    char name[sizeof PATH];
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml"), *again = load_one(written(name, t));
    const struct topo_class *c = &t->classes[0], *d = &again->classes[0];
    assert_string_equal(matrix_words(d, t->arena), matrix_words(c, t->arena));
    assert_string_equal(d->cpu, c->cpu);
    assert_string_equal(d->arch, c->arch);
    assert_string_equal(d->gpus[7].uuid, "GPU-00000007");
    assert_string_equal(d->ports[0].guid, c->ports[0].guid);
    assert_string_equal(d->netdevs[0].name, c->netdevs[0].name);
    unlink(name);
    topo_free(again);
    topo_free(t);
}

/* What is no PCI device stays an operating system device of its NUMA node, or of the machine. */
static void outside_pci(void **state)
{
    (void)state;
    char name[sizeof PATH];
    struct topology *t = load_one(FIXTURE "nccl_mesh.xml");
    struct topo_class *c = &t->classes[0];
    build_netdev(t, c, (struct topo_netdev){.object = -1, .name = "bond0", .kind = TOPO_NET_BOND});
    hwloc_topology_t h = loaded(written(name, t));
    hwloc_obj_t o = NULL;
    int nics = 0, bonds = 0;
    while ((o = hwloc_get_next_osdev(h, o))) {
        nics += !strcmp(o->name, "ib&net") && o->parent->type == HWLOC_OBJ_PACKAGE &&
                hwloc_bitmap_isset(o->parent->nodeset, 8);
        bonds += !strcmp(o->name, "bond0") && o->parent->type == HWLOC_OBJ_MACHINE &&
                 o->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
    }
    assert_int_equal(nics, 1);
    assert_int_equal(bonds, 1);
    hwloc_topology_destroy(h);
    unlink(name);
    topo_free(t);
}

static void hostile_names(void **state)
{
    (void)state;
    char name[sizeof PATH];
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml"), *again;
    t->classes[0].ports[0].hca = "a\"b<c>&'\n\033[2J";
    again = load_one(written(name, t));
    hwloc_topology_t h = loaded(name);
    int found = 0;
    for (int i = 0; i < again->classes[0].nports; i++)
        found += !strcmp(again->classes[0].ports[i].hca, "a\"b<c>&'??[2J");
    assert_int_equal(found, 1);
    hwloc_topology_destroy(h);
    unlink(name);
    topo_free(again);
    topo_free(t);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *file, *error;
        int code;
        const char *pci; /* of the first GPU, instead of its own */
    } cases[] = {{"smi_topo_a100.txt", "no PCI address", ERR_LACKS},
                 {"nccl_groups.xml", "classes of nodes", ERR_USAGE},
                 {"hwloc2_dgx1v.xml", "'zz&quot;' is not a PCI address", ERR_FAILED, "zz\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        char path[128], *text;
        size_t bytes;
        snprintf(path, sizeof path, FIXTURE "%s", cases[i].file);
        struct topology *t = load_one(path);
        if (cases[i].pci)
            t->classes[0].objects[t->classes[0].gpus[0].object].pci = cases[i].pci;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(probe_format_find("hwloc-xml")->write(t, out, &e), cases[i].code);
        assert_non_null(strstr(e.text, cases[i].error));
        fclose(out);
        free(text);
        topo_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(words),
                                       cmocka_unit_test(outside_pci), cmocka_unit_test(hostile_names),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
