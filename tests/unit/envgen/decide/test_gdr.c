/* NCCL_NET_GDR_LEVEL from made-up measurements of GPU memory, on a node with a NIC at every distance. */
#include "bench/fabric/fabric.h"
#include "envgen/decide/steps.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

/* GPU0 and mlx5_0 behind one switch, mlx5_1 on the same host bridge, mlx5_2 on the other NUMA node. */
static struct topo_object objects[] = {
    {.kind = TOPO_NUMA, .parent = -1, .numa = 0},
    {.kind = TOPO_NUMA, .parent = -1, .numa = 1},
    {.kind = TOPO_HOST_BRIDGE, .parent = 0, .numa = 0},
    {.kind = TOPO_HOST_BRIDGE, .parent = 1, .numa = 1},
    {.kind = TOPO_SWITCH, .parent = 2, .numa = 0},
    {.kind = TOPO_GPU, .parent = 4, .numa = 0, .pci = "0000:10:00.0", .name = "GPU0"},
    {.kind = TOPO_NIC, .parent = 4, .numa = 0, .pci = "0000:11:00.0", .name = "mlx5_0"},
    {.kind = TOPO_NIC, .parent = 2, .numa = 0, .pci = "0000:20:00.0", .name = "mlx5_1"},
    {.kind = TOPO_NIC, .parent = 3, .numa = 1, .pci = "0000:80:00.0", .name = "mlx5_2"},
};
static struct topo_gpu gpus[] = {{.object = 5, .index = 0, .sm = 90}};
static struct topo_port ports[] = {{.object = 6, .hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE},
                                   {.object = 7, .hca = "mlx5_1", .port = 1, .state = TOPO_STATE_ACTIVE},
                                   {.object = 8, .hca = "mlx5_2", .port = 1, .state = TOPO_STATE_ACTIVE}};
static struct topo_class class0 = {
    .name = "class0", .objects = objects, .nobjects = 9, .gpus = gpus, .ngpus = 1, .ports = ports, .nports = 3};
static const struct topology topology = {.classes = &class0, .nclasses = 1};

/* What the three ports send of GPU memory, in GB/s; host memory has 24. Negative: it cannot be registered. */
static struct env_setting decide(const double GBps[3], struct verbs_fabric **f)
{
    static struct verbs_fabric_gpu measured[3];
    *f = make(&(struct world){.nodes = 2, .rails = 3});
    for (int rail = 0; rail < 3; rail++)
        measured[rail] = (struct verbs_fabric_gpu){.rail = rail,
                                                   .pci = "0000:10:00.0",
                                                   .via = GBps[rail] < 0 ? NULL : "dma-buf",
                                                   .why = GBps[rail] < 0 ? "Bad address" : NULL,
                                                   .send_GBps = GBps[rail] < 0 ? 0 : GBps[rail],
                                                   .receive_GBps = GBps[rail] < 0 ? 0 : 24};
    (*f)->gpus = measured;
    (*f)->ngpus = 3;
    struct verbs_decision v = verbs_decide(*f, 22807);
    static const int classes[2] = {0, 0};
    return env_gdr_level(&topology, classes, *f, &v);
}

TEST_CASE(levels)
{
    static const struct {
        double GBps[3];
        const char *value, *says;
    } cases[] = {
        {{24, 3, 2}, NULL, "NCCL's default fits: GPU memory at PHB gets 12 %"},
        {{24, 23, 2}, "PHB", "GPU memory at PHB gets 96 % of the bandwidth of host memory, or more (1 pairs)"},
        {{24, 23, 22}, "SYS", "by default NCCL reaches it directly up to PXB only"},
        {{24, 3, 22}, NULL, "NCCL's default fits"}, /* a far good one behind a near bad one */
        {{6, 24, 24}, "LOC", "GPU memory at PIX gets 25 %"},
        {{-1, -1, -1}, NULL, "no port can reach GPU memory, so data goes through host memory; the first: Bad address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verbs_fabric *f;
        struct env_setting s = decide(cases[i].GBps, &f);
        if (cases[i].value)
            assert_string_equal(s.value, cases[i].value);
        else
            assert_null(s.value);
        assert_non_null(strstr(s.why, cases[i].says));
        verbs_fabric_free(f);
    }
}

TEST_CASE(nothing_measured)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 3});
    struct verbs_decision v = verbs_decide(f, 22807);
    static const int classes[2] = {0, 0};
    assert_null(env_gdr_level(&topology, classes, f, &v).why);
    verbs_fabric_free(f);
}

TEST_CASES(test_gdr)
