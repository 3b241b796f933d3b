/* NCCL's variables as the model takes them, and the class that is predicted. */
#include "model/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

/* Four ports of three HCAs. */
static struct topo_port ports[] = {{.hca = "mlx5_0", .port = 1, .layer = TOPO_LINK_INFINIBAND},
                                   {.hca = "mlx5_1", .port = 1, .layer = TOPO_LINK_INFINIBAND},
                                   {.hca = "mlx5_1", .port = 2, .layer = TOPO_LINK_INFINIBAND},
                                   {.hca = "mlx5_10", .port = 1, .layer = TOPO_LINK_INFINIBAND}};
static struct topo_class class_ = {.ports = ports, .nports = 4};
static const struct topology topology = {.classes = &class_, .nclasses = 1};

static int apply(const char *name, const char *value, struct nccl_setup *s, struct arena *a)
{
    struct bench_setting setting = {name, value};
    struct bench_knobs launch = {"x", &setting, 1};
    *s = (struct nccl_setup){.topology = &topology};
    return model_apply(&launch, s, a);
}

TEST_CASE(p2p_off_wins_in_either_order)
{
    struct arena *a = arena_new();
    struct bench_setting both[] = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "NVL"}, {"NCCL_P2P_DISABLE", "1"}};
    for (int first = 0; first < 2; first++) {
        struct bench_knobs launch = {"x", both + first, 2};
        struct nccl_setup s = {.topology = &topology};
        assert_int_equal(model_apply(&launch, &s, a), 0);
        assert_int_equal(s.p2p_within, PATH_LOC + 1);
    }
    arena_free(a);
}

TEST_CASE(variables)
{
    struct arena *a = arena_new();
    struct nccl_setup s;
    assert_int_equal(apply("NCCL_MIN_CTAS", "16", &s, a), 0);
    assert_int_equal(s.min_channels, 16);
    assert_int_equal(apply("NCCL_MAX_CTAS", "8", &s, a), 0);
    assert_int_equal(s.max_channels, 8);
    assert_int_equal(apply("NCCL_NVLS_ENABLE", "0", &s, a), 0);
    assert_int_equal(s.no_nvls, 1);
    assert_int_equal(apply("NCCL_NVLS_ENABLE", "2", &s, a), 0);
    assert_int_equal(s.no_nvls, 0);
    assert_int_equal(apply("NCCL_PXN_DISABLE", "1", &s, a), 0);
    assert_int_equal(s.no_pxn, 1);
    assert_int_equal(apply("NCCL_NET_DISABLE_INTRA", "1", &s, a), 0);
    assert_int_equal(s.no_net_intra, 1);
    assert_int_equal(apply("NCCL_NET_DISABLE_INTRA", "2", &s, a), -1);
    assert_int_equal(apply("NCCL_IB_DISABLE", "1", &s, a), 0);
    assert_int_equal(s.sockets, 1);
    assert_int_equal(apply("NCCL_CROSS_NIC", "0", &s, a), 0);
    assert_int_equal(s.cross_nic, 3);
    assert_int_equal(apply("NCCL_CROSS_NIC", "1", &s, a), 0);
    assert_int_equal(s.cross_nic, 1);
    assert_int_equal(apply("NCCL_MIN_NRINGS", "8", &s, a), 0);
    assert_int_equal(s.min_channels, 8);
    assert_int_equal(apply("NCCL_P2P_DISABLE", "1", &s, a), 0);
    assert_int_equal(s.p2p_within, PATH_LOC + 1);
    assert_int_equal(apply("NCCL_P2P_DISABLE", "0", &s, a), 0);
    assert_int_equal(s.p2p_within, 0);
    assert_int_equal(apply("NCCL_P2P_LEVEL", "SYS", &s, a), 0);
    assert_int_equal(s.p2p_within, PATH_SYS + 1);
    assert_int_equal(apply("NCCL_NET_GDR_LEVEL", "PIX", &s, a), 0);
    assert_int_equal(s.gdr_within, PATH_PIX + 1);
    assert_int_equal(apply("NCCL_ALGO", "Tree,Ring", &s, a), 0);
    assert_int_equal(s.algos[COLL_ALLREDUCE], 1u << ALGO_TREE | 1u << ALGO_RING);
    assert_int_equal(apply("NCCL_PROTO", "^LL128", &s, a), 0);
    assert_int_equal(s.protos[COLL_ALLREDUCE], 1u << PROTO_LL | 1u << PROTO_SIMPLE);
    arena_free(a);
}

/* Lists as NCCL reads them; one that leaves nothing leaves sockets. */
TEST_CASE(lists_of_hcas)
{
    static const struct {
        const char *list;
        int n, sockets;
        const char *first;
    } cases[] = {
        {"=mlx5_0:1,mlx5_1:1", 2, 0, "mlx5_0:1"}, {"mlx5_1", 3, 0, "mlx5_1:1"},    {"^mlx5_0", 3, 0, "mlx5_1:1"},
        {"^=mlx5_1", 2, 0, "mlx5_0:1"},           {"=mlx5_1:2", 1, 0, "mlx5_1:2"}, {"ib0", 0, 1, NULL},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nccl_setup s;
        assert_int_equal(apply("NCCL_IB_HCA", cases[i].list, &s, a), 0);
        assert_int_equal(s.nhcas, cases[i].n);
        assert_int_equal(s.sockets, cases[i].sockets);
        if (s.nhcas)
            assert_string_equal(s.hcas[0], cases[i].first);
    }
    arena_free(a);
}

/* A word is 0, what follows a number is cut off, and a number that does not fit or an unknown level changes nothing. */
TEST_CASE(values_as_nccl_reads_them)
{
    struct arena *a = arena_new();
    struct nccl_setup s;
    assert_int_equal(apply("NCCL_P2P_DISABLE", "yes", &s, a), 0);
    assert_int_equal(s.p2p_off, 0);
    assert_int_equal(apply("NCCL_IB_DISABLE", "1 # off", &s, a), 0);
    assert_int_equal(s.sockets, 1);
    assert_int_equal(apply("NCCL_IB_DISABLE", "5", &s, a), 0);
    assert_int_equal(s.sockets, 1);
    assert_int_equal(apply("NCCL_IB_DISABLE", "true", &s, a), 0);
    assert_int_equal(s.sockets, 0);
    assert_int_equal(apply("NCCL_P2P_DISABLE", "2", &s, a), 0);
    assert_int_equal(s.p2p_off, 0);
    assert_int_equal(apply("NCCL_NVLS_ENABLE", "true", &s, a), 0);
    assert_int_equal(s.no_nvls, 1);
    assert_int_equal(apply("NCCL_NVLS_ENABLE", "99999999999999999999", &s, a), 0);
    assert_int_equal(s.no_nvls, 0);
    assert_int_equal(apply("NCCL_MIN_CTAS", "8M", &s, a), 0);
    assert_int_equal(s.min_channels, 8);
    assert_int_equal(apply("NCCL_P2P_LEVEL", "far", &s, a), 0);
    assert_int_equal(s.p2p_within, 0);
    arena_free(a);
}

TEST_CASE(what_the_model_is_silent_on)
{
    static const char *const silent[][2] = {
        {"NCCL_IB_QPS_PER_CONNECTION", "4"}, {"NCCL_BUFFSIZE", "8388608"}, {"NCCL_NET", "AWS Libfabric"},
        {"NCCL_MAX_CTAS", "1000"},           {"NCCL_CROSS_NIC", "-1"},
    };
    struct arena *a = arena_new();
    struct nccl_setup s;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        assert_int_equal(apply(silent[i][0], silent[i][1], &s, a), -1);
    ports[3].layer = TOPO_LINK_UNKNOWN; /* a plugin's, perhaps, which reads no such list */
    assert_int_equal(apply("NCCL_IB_HCA", "^mlx5", &s, a), -1);
    assert_int_equal(apply("NCCL_IB_HCA", "mlx5_1", &s, a), 0);
    ports[3].layer = TOPO_LINK_INFINIBAND;
    arena_free(a);
}

TEST_CASE(the_class)
{
    struct topo_gpu gpu = {0};
    struct topo_class classes[] = {{.name = "login"}, {.ngpus = 1, .gpus = &gpu}, {.ngpus = 1, .gpus = &gpu}};
    struct topo_host hosts[] = {{.class_index = 0}, {.class_index = 2}, {.class_index = 2}, {.class_index = 1}};
    struct topology t = {.classes = classes, .nclasses = 3, .hosts = hosts, .nhosts = 4};
    assert_int_equal(topo_gpu_class(&t), 2);
    assert_int_equal(topo_class_hosts(&t, 2), 2);
    struct topo_class first[] = {{.ngpus = 1, .gpus = &gpu}, {.ngpus = 1, .gpus = &gpu}};
    struct topo_host most[] = {{.class_index = 0}, {.class_index = 0}, {.class_index = 1}};
    struct topology first_most = {.classes = first, .nclasses = 2, .hosts = most, .nhosts = 3};
    assert_int_equal(topo_gpu_class(&first_most), 0);
    first_most.nhosts = 0; /* of as many each the first */
    assert_int_equal(topo_gpu_class(&first_most), 0);
    t.nhosts = 0;
    assert_int_equal(topo_gpu_class(&t), 1);
    assert_int_equal(topo_class_hosts(&t, 1), 1);
    t.nclasses = 1;
    assert_int_equal(topo_gpu_class(&t), -1);
}

TEST_CASE(the_library)
{
    static const struct {
        const char *machine;
        int version;
        const char *name;
    } cases[] = {{"dgx-h100", 22809, "NCCL 2.28.9"},
                 {"dgx-h100", 22899, "NCCL 2.28"},
                 {"azure-ndv5-mi300x", 22707, "NCCL 2.27.7 (RCCL)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = machine_topology(cases[i].machine, 2, NULL);
        assert_non_null(t);
        const struct model_setup s = {.nccl = {.topology = t, .nodes = 2, .version = cases[i].version}};
        const struct model *m = model_new(&s, t->arena, NULL);
        assert_non_null(m);
        assert_string_equal(m->library, cases[i].name);
        topo_free(t);
    }
}

TEST_CASES(test_settings)
