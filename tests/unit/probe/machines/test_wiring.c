/* probe/machines/wiring.c: every kind of board, as the matrix shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/machines/wiring.h"
#include "probe/topology/build.h"
#include "tests/unit/probe/matrix.h"

/* The first row of the matrix of `n` such GPUs, which have a CPU each. */
static const char *row(struct topology *t, const char *gpu, int n)
{
    struct topo_class *c = build_class(t, NULL);
    for (int i = 0; i < n; i++) {
        struct topo_object o = {.kind = TOPO_GPU, .parent = build_numa(t, c, i), .numa = i};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i});
    }
    build_order_gpus(t, c);
    wiring_usual(t, c, hw_gpu_find(gpu));
    const char *words = matrix_words(c, t->arena);
    return arena_strndup(t->arena, words, strcspn(words, "\n"));
}

static void boards(void **state)
{
    (void)state;
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
static void ends(void **state)
{
    (void)state;
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
static void boards_that_are_no_mesh(void **state)
{
    (void)state;
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

static void switches_and_cpus(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boards), cmocka_unit_test(ends),
                                       cmocka_unit_test(boards_that_are_no_mesh), cmocka_unit_test(switches_and_cpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
