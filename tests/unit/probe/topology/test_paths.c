/* probe/topology/paths.c: NCCL's classes and nvidia-smi's words, on machines drawn in the test; GPUs that are joined by
 * links, by switches, by a clique, or by nothing. */
#include "core/json.h"
#include "probe/topology/build.h"
#include "probe/topology/topology.h"
#include "probe/topology/topology_internal.h"
#include "tests/lib/unit.h"
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
TEST_CASE(idle)
{
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

TEST_CASE(host_bridges_and_switches)
{
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
    build_order_devices(t, c);
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

TEST_CASE(links)
{
    struct topology *t = machine();
    struct topo_class *c = &t->classes[0];
    int numa = build_numa(t, c, 0);
    for (int i = 0; i < 6; i++)
        add(t, TOPO_GPU, numa, arena_printf(t->arena, "0000:%02x:00.0", i));
    int first = add(t, TOPO_NVSWITCH, -1, NULL), second = add(t, TOPO_NVSWITCH, -1, NULL);
    build_order_devices(t, c);
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

TEST_CASE(ends)
{
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

TEST_CASE(names)
{
    assert_string_equal(path_class_name(PATH_NVB), "NVB");
    assert_string_equal(path_class_name(PATH_P2C), "P2C");
    assert_string_equal(path_class_name((enum path_class)99), "?");
}

/* GPUs 0 and 1 on one socket, 2 on the other, each with a NIC below its switch but for 1; 3 has no NVLink. */
TEST_CASE(pxn)
{
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
    build_order_devices(t, c); /* by address: 02, 03, 04, 82 */
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

/* ---- domains ---- */

static struct topology *machine_with_gpus(int ngpus)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    for (int i = 0; i < ngpus; i++) {
        struct topo_object o = {
            .kind = TOPO_GPU, .parent = build_numa(t, c, 0), .pci = arena_printf(t->arena, "0000:%02x:00.0", i + 1)};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1});
    }
    build_order_devices(t, c);
    return t;
}

static void join(struct topology *t, enum topo_link_kind link_kind, int gpu, int peer_gpu, int peer_object)
{
    build_link(t, &t->classes[0], (struct topo_link){link_kind, gpu, peer_gpu, peer_object, 1, 25});
}

static int domains_of(const struct topology *t, struct nvlink_domain **d)
{
    return nvlink_domains(&t->classes[0], path_matrix(&t->classes[0], t->arena), t->arena, d);
}

TEST_CASE(domains_by_links)
{
    struct topology *t = machine_with_gpus(8);
    struct nvlink_domain *d;
    assert_int_equal(domains_of(t, &d), 0);
    /* 5 over 0 to 3, told from different ends; 1 and 4 over a switch, which 2 has no link to; 6 and 7 by XGMI. */
    int nvswitch = build_object(t, &t->classes[0], (struct topo_object){.kind = TOPO_NVSWITCH, .parent = -1});
    join(t, TOPO_NVLINK, 5, 0, -1);
    join(t, TOPO_NVLINK, 0, 3, -1);
    join(t, TOPO_NVLINK, 1, -1, nvswitch);
    join(t, TOPO_NVLINK, 4, -1, nvswitch);
    join(t, TOPO_XGMI, 7, 6, -1);
    assert_int_equal(domains_of(t, &d), 3);
    static const int first[] = {0, 3, 5}, second[] = {1, 4}, third[] = {6, 7};
    assert_int_equal(d[0].ngpus, 3);
    assert_memory_equal(d[0].gpus, first, sizeof first);
    assert_int_equal(d[1].ngpus, 2);
    assert_memory_equal(d[1].gpus, second, sizeof second);
    assert_int_equal(d[1].link_kind, TOPO_NVLINK);
    assert_null(d[1].clique);
    assert_int_equal(d[2].ngpus, 2);
    assert_memory_equal(d[2].gpus, third, sizeof third);
    assert_int_equal(d[2].link_kind, TOPO_XGMI);
    topo_free(t);
}

TEST_CASE(domains_by_clique)
{
    struct topology *t = machine_with_gpus(4);
    struct topo_class *c = &t->classes[0];
    struct nvlink_domain *d;
    c->gpus[0].clique = "ab.1";
    c->gpus[1].clique = "ab.2";
    c->gpus[2].clique = "ab.1";
    assert_int_equal(domains_of(t, &d), 2);
    assert_int_equal(d[0].ngpus, 2);
    assert_int_equal(d[0].gpus[1], 2);
    assert_string_equal(d[0].clique, "ab.1");
    /* One GPU here, its peers in other nodes. */
    assert_int_equal(d[1].ngpus, 1);
    assert_string_equal(d[1].clique, "ab.2");

    cJSON *doc = topo_to_json(t);
    const cJSON *list =
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "classes"), 0), "nvlink_domains");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(json_str(cJSON_GetArrayItem(list, 0), "clique", ""), "ab.1");
    assert_int_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 1), "gpus"), 0)->valueint, 1);
    cJSON_Delete(doc);
    topo_free(t);
}

/* 18 trays of a rack, two of the next, and a host of none. */
TEST_CASE(racks)
{
    struct topology *t = machine_with_gpus(4);
    struct nvlink_rack *r;
    for (int i = 0; i < 21; i++) {
        build_host(t, arena_printf(t->arena, "tray%02d", i), 0);
        t->hosts[t->nhosts - 1].clique = i < 18 ? "r1.0" : i < 20 ? "r2.0" : NULL;
    }
    assert_int_equal(nvlink_racks(t, t->arena, &r), 2);
    assert_int_equal(r[0].nhosts, 18);
    assert_int_equal(r[0].ngpus, 72);
    assert_string_equal(r[0].hosts[0], "tray00");
    assert_string_equal(r[0].hosts[r[0].nhosts - 1], "tray17");
    assert_int_equal(r[1].nhosts, 2);
    topo_free(t);
}

TEST_CASES(test_paths)
