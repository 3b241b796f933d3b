/* probe/machines/hardware_complete.c: files without models and links, completed by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/topology/build.h"
#include "tests/unit/probe/matrix.h"

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
    build_order_gpus(t, c);
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

static void nothing_known(void **state)
{
    (void)state;
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
    assert_note(c, "taken for h100-sxm, as was asked for; their links are those of the usual baseboard");
    /* Once more changes nothing. */
    int nlinks = c->nlinks;
    assert_int_equal(machine_complete_gpus(t, "h100-sxm", &e), 0);
    assert_int_equal(t->classes[0].nlinks, nlinks);
    topo_free(t);
}

/* Links to the CPU are none of the GPU's to others. */
static void grace(void **state)
{
    (void)state;
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
static void other_words(void **state)
{
    (void)state;
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

static void what_is_known_stays(void **state)
{
    (void)state;
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

static void contradictions(void **state)
{
    (void)state;
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
    assert_refused(bare(2), "h100", "did you mean h100-sxm?");
    t = topo_new();
    t->source = "a test";
    build_class(t, NULL);
    assert_refused(t, "h100-sxm", "there is no GPU");
}

/* hwloc shows the matrix of bandwidths, which says how many links there are. */
static void hwloc_file(void **state)
{
    (void)state;
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    const char *before = matrix_words(&t->classes[0], t->arena);
    assert_int_equal(machine_complete_gpus(t, "v100-sxm2", &e), 0);
    assert_int_equal(t->classes[0].gpus[0].sm, 70);
    assert_string_equal(matrix_words(&t->classes[0], t->arena), before);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known),       cmocka_unit_test(grace),          cmocka_unit_test(other_words),
        cmocka_unit_test(what_is_known_stays), cmocka_unit_test(contradictions), cmocka_unit_test(hwloc_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
