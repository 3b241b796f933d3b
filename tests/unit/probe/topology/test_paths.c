/* probe/topology/paths.c: NCCL's classes and nvidia-smi's words, on machines drawn in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/topology/build.h"
#include "tests/unit/probe/matrix.h"

static int add(struct topology *t, enum topo_kind kind, int parent, const char *pci)
{
    struct topo_class *c = &t->classes[0];
    struct topo_object o = {
        .kind = kind, .parent = parent, .numa = parent < 0 ? -1 : c->objects[parent].numa, .pci = pci};
    int object = build_object(t, c, o);
    if (kind == TOPO_GPU)
        build_gpu(t, c, (struct topo_gpu){.object = object, .index = -1, .gdr = -1});
    return object;
}

static struct topology *machine(void)
{
    struct topology *t = topo_new();
    build_class(t, NULL);
    return t;
}

/* An idle GPU's link is at 2.5 GT/s: what both ends can do counts, else nothing. */
static void idle(void **state)
{
    (void)state;
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    int above = add(t, TOPO_SWITCH, build_numa(t, c, 0), "0000:02:00.0");
    int gpu = add(t, TOPO_GPU, above, "0000:03:00.0");
    struct topo_object *o = &c->objects[gpu];
    o->link_GTps = 2.5;
    o->link_width = 16;
    o->link_GBps = 4;
    add(t, TOPO_NIC, above, "0000:05:00.0");
    assert_float_equal(path_between(path_matrix(c, t->arena), 0, 1)->GBps, 0, 0);
    c->objects[gpu].link_max_GTps = 32;
    assert_float_equal(path_between(path_matrix(c, t->arena), 0, 1)->GBps, 63.015, 0.001);
    topo_free(t);
}

static void host_bridges_and_switches(void **state)
{
    (void)state;
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    int numa0 = build_numa(t, c, 0), numa1 = build_numa(t, c, 1);
    int bridge_a = add(t, TOPO_HOST_BRIDGE, numa0, NULL), bridge_b = add(t, TOPO_HOST_BRIDGE, numa0, NULL);
    int bridge_c = add(t, TOPO_HOST_BRIDGE, numa1, NULL);
    int outer = add(t, TOPO_SWITCH, bridge_a, "0000:01:00.0"), inner = add(t, TOPO_SWITCH, outer, "0000:02:00.0");
    add(t, TOPO_GPU, inner, "0000:03:00.0");
    add(t, TOPO_GPU, outer, "0000:04:00.0");
    add(t, TOPO_GPU, bridge_a, "0000:05:00.0");
    add(t, TOPO_GPU, bridge_b, "0000:41:00.0");
    add(t, TOPO_GPU, bridge_c, "0000:81:00.0");
    add(t, TOPO_GPU, -1, "0000:ff:00.0");
    add(t, TOPO_NIC, inner, "0000:03:01.0");
    add(t, TOPO_NIC, bridge_c, "0000:82:00.0");
    add(t, TOPO_NIC, bridge_c, "0000:82:00.1");
    build_order_gpus(t, c);
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X PXB PHB NODE SYS ? PIX SYS SYS\n"
                                                   "GPU1 PXB X PHB NODE SYS ? PXB SYS SYS\n"
                                                   "GPU2 PHB PHB X NODE SYS ? PHB SYS SYS\n"
                                                   "GPU3 NODE NODE NODE X SYS ? NODE SYS SYS\n"
                                                   "GPU4 SYS SYS SYS SYS X ? SYS PHB PHB\n"
                                                   "GPU5 ? ? ? ? ? X ? ? ?\n"
                                                   "0000:03:01.0 PIX PXB PHB NODE SYS ? X SYS SYS\n"
                                                   "0000:82:00.0 SYS SYS SYS SYS PHB ? SYS X PIX\n"
                                                   "0000:82:00.1 SYS SYS SYS SYS PHB ? SYS PIX X\n");
    assert_string_equal(matrix_classes(c, t->arena), "GPU0 LOC PXB PHB PHB SYS ? PIX SYS SYS\n"
                                                     "GPU1 PXB LOC PHB PHB SYS ? PXB SYS SYS\n"
                                                     "GPU2 PHB PHB LOC PHB SYS ? PHB SYS SYS\n"
                                                     "GPU3 PHB PHB PHB LOC SYS ? PHB SYS SYS\n"
                                                     "GPU4 SYS SYS SYS SYS LOC ? SYS PHB PHB\n"
                                                     "GPU5 ? ? ? ? ? LOC ? ? ?\n"
                                                     "0000:03:01.0 PIX PXB PHB PHB SYS ? LOC SYS SYS\n"
                                                     "0000:82:00.0 SYS SYS SYS SYS PHB ? SYS LOC LOC\n"
                                                     "0000:82:00.1 SYS SYS SYS SYS PHB ? SYS LOC LOC\n");
    topo_free(t);
}

static void connect_gpu(struct topology *t, enum topo_link_kind link_kind, int gpu, int peer_gpu, int peer_object,
                        int count)
{
    build_link(t, &t->classes[0], (struct topo_link){link_kind, gpu, peer_gpu, peer_object, count, 25.0 * count});
}

static void links(void **state)
{
    (void)state;
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    int numa = build_numa(t, c, 0);
    for (int i = 0; i < 6; i++)
        add(t, TOPO_GPU, numa, arena_printf(t->arena, "0000:%02x:00.0", i));
    int first = add(t, TOPO_NVSWITCH, -1, NULL), second = add(t, TOPO_NVSWITCH, -1, NULL);
    build_order_gpus(t, c);
    /* 0 and 1 directly, told by one end only; 1 and 2 as well, so that 0 reaches 2 through 1; 3 and 4 through switches
     * that they do not share, one with fewer links; 5 leads to nowhere known. */
    connect_gpu(t, TOPO_NVLINK, 1, 0, -1, 2);
    connect_gpu(t, TOPO_XGMI, 1, 2, -1, 1);
    connect_gpu(t, TOPO_NVLINK, 3, -1, first, 4);
    connect_gpu(t, TOPO_NVLINK, 3, -1, second, 4);
    connect_gpu(t, TOPO_NVLINK, 4, -1, second, 6);
    connect_gpu(t, TOPO_NVLINK, 5, -1, -1, 3);
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV2 PHB PHB PHB PHB\n"
                                                   "GPU1 NV2 X XGMI1 PHB PHB PHB\n"
                                                   "GPU2 PHB XGMI1 X PHB PHB PHB\n"
                                                   "GPU3 PHB PHB PHB X NV6 PHB\n"
                                                   "GPU4 PHB PHB PHB NV6 X PHB\n"
                                                   "GPU5 PHB PHB PHB PHB PHB X\n");
    assert_string_equal(matrix_classes(c, t->arena), "GPU0 LOC NVL NVB PHB PHB PHB\n"
                                                     "GPU1 NVL LOC NVL PHB PHB PHB\n"
                                                     "GPU2 NVB NVL LOC PHB PHB PHB\n"
                                                     "GPU3 PHB PHB PHB LOC NVL PHB\n"
                                                     "GPU4 PHB PHB PHB NVL LOC PHB\n"
                                                     "GPU5 PHB PHB PHB PHB PHB LOC\n");
    const struct path_matrix *m = path_matrix(c, t->arena);
    assert_float_equal(path_between(m, 3, 4)->GBps, 150, 0);
    assert_float_equal(path_between(m, 0, 1)->GBps, 50, 0);
    topo_free(t);
}

static void ends(void **state)
{
    (void)state;
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    assert_int_equal(path_matrix(c, t->arena)->n, 0);
    int numa = build_numa(t, c, 0), nic = add(t, TOPO_NIC, numa, "0000:01:00.0");
    add(t, TOPO_NIC, numa, "0000:02:00.0");
    /* Two ports of one device are one column; a device without a place is one too; other NICs are none then. */
    build_port(t, c, (struct topo_port){.object = nic, .hca = "mlx5_0", .port = 1});
    build_port(t, c, (struct topo_port){.object = nic, .hca = "mlx5_0", .port = 2});
    build_port(t, c, (struct topo_port){.object = -1, .hca = "rxe0", .port = 1});
    assert_string_equal(matrix_words(c, t->arena), "mlx5_0 X ?\nrxe0 ? X\n");
    topo_free(t);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(path_class_name(PATH_NVB), "NVB");
    assert_string_equal(path_class_name(PATH_P2C), "P2C");
    assert_string_equal(path_class_name((enum path_class)99), "?");
}

/* GPUs 0 and 1 on one socket, 2 on the other, each with a NIC below its switch but for 1; 3 has no NVLink. */
static void pxn(void **state)
{
    (void)state;
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    int near = add(t, TOPO_SWITCH, build_numa(t, c, 0), "0000:01:00.0");
    int far = add(t, TOPO_SWITCH, build_numa(t, c, 1), "0000:81:00.0");
    add(t, TOPO_GPU, near, "0000:02:00.0");
    add(t, TOPO_GPU, build_numa(t, c, 0), "0000:03:00.0");
    add(t, TOPO_GPU, far, "0000:82:00.0");
    add(t, TOPO_GPU, build_numa(t, c, 0), "0000:04:00.0");
    add(t, TOPO_NIC, near, "0000:02:01.0");
    add(t, TOPO_NIC, far, "0000:82:01.0");
    build_order_gpus(t, c); /* by address: 02, 03, 04, 82 */
    connect_gpu(t, TOPO_NVLINK, 0, 1, -1, 2);
    connect_gpu(t, TOPO_NVLINK, 0, 3, -1, 2);
    const struct path_matrix *m = path_matrix(c, t->arena);
    static const struct {
        int from, to;
        enum path_class class_;
    } cases[] = {{0, 4, PATH_PIX}, /* near already */
                 {0, 5, PATH_PXN}, /* over 3 */
                 {1, 4, PATH_PXN}, /* over 0, and not past the CPU */
                 {1, 5, PATH_SYS}, /* 3 is two NVLinks away */
                 {3, 4, PATH_PXN}, {2, 4, PATH_PHB}, {2, 5, PATH_SYS}, {5, 0, PATH_SYS}, /* the way back */
                 {0, 3, PATH_NVL}, {4, 5, PATH_SYS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(path_class_nccl(m, cases[i].from, cases[i].to), cases[i].class_);
    /* nvidia-smi knows no such word, and a NIC that is far stays far. */
    assert_int_equal(path_between(m, 0, 5)->class_, PATH_SYS);
    assert_int_equal(path_between(m, 0, 5)->word, WORD_SYS);
    assert_string_equal(path_class_name(PATH_PXN), "PXN");

    for (int i = 0; i < c->nlinks; i++)
        c->links[i].link_kind = TOPO_XGMI;
    assert_int_equal(path_class_nccl(path_matrix(c, t->arena), 0, 5), PATH_SYS);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle),  cmocka_unit_test(host_bridges_and_switches),
                                       cmocka_unit_test(links), cmocka_unit_test(ends),
                                       cmocka_unit_test(names), cmocka_unit_test(pxn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
