/* model/constants.c: generations of GPUs, kinds of networks, what kernels and sockets carry. */
#include "model/constants.h"
#include "probe/machines/hardware.h"
#include "tests/lib/unit.h"

TEST_CASE(generations)
{
    static const struct {
        int sm[2];
        const char *arch, *name;
        int is_assumed;
    } cases[] = {
        {{60, 60}, NULL, "Pascal", 0},      {{69, 69}, NULL, "Pascal", 0},
        {{70, 70}, NULL, "Volta", 0},       {{79, 79}, NULL, "Volta", 0},
        {{80, 80}, NULL, "Ampere", 0},      {{86, 86}, NULL, "Ada", 0},
        {{89, 89}, NULL, "Ada", 0},         {{90, 90}, NULL, "Hopper", 0},
        {{100, 100}, NULL, "Blackwell", 0}, {{120, 120}, NULL, "Blackwell RTX", 0},
        {{80, 90}, NULL, "Ampere", 0},      {{90, 80}, NULL, "Ampere", 0},
        {{0, 90}, NULL, "Hopper", 0},       {{90, 0}, NULL, "Hopper", 0},
        {{0, 0}, NULL, "Ampere", 1},        {{59, 59}, NULL, "Ampere", 1},
        {{0, 0}, "gfx90a", "CDNA 2", 0},    {{0, 0}, "gfx942", "CDNA 3", 0},
        {{0, 0}, "gfx950", "CDNA 4", 0},    {{0, 0}, "gfx1100", "CDNA 3", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo_object objects[] = {{.kind = TOPO_GPU, .parent = -1}, {.kind = TOPO_GPU, .parent = -1}};
        struct topo_gpu gpus[] = {{.object = 0, .sm = cases[i].sm[0], .arch = cases[i].arch},
                                  {.object = 1, .sm = cases[i].sm[1], .arch = cases[i].arch}};
        const struct topo_class c = {.objects = objects, .gpus = gpus, .nobjects = 2, .ngpus = 2};
        const char *assumed;
        assert_string_equal(model_gpu_of(&c, &assumed)->name, cases[i].name);
        assert_int_equal(assumed != NULL, cases[i].is_assumed);
        if (assumed)
            assert_string_equal(assumed, "");
    }
}

/* By its model where nothing else is known. */
TEST_CASE(by_the_model)
{
    static const char *const models[][2] = {{"h100-sxm", "Hopper"}, {"mi300x", "CDNA 3"}, {"mi250x", "CDNA 2"}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .model = hw_gpu_find(models[i][0])->model};
        struct topo_gpu g = {0};
        const struct topo_class c = {.objects = &o, .gpus = &g, .nobjects = 1, .ngpus = 1};
        const char *assumed;
        assert_string_equal(model_gpu_of(&c, &assumed)->name, models[i][1]);
        assert_null(assumed);
    }
}

static struct topo_object nic_of(const char *name, int parent)
{
    const struct hw_nic *hw = hw_nic_find(name);
    assert_non_null(hw);
    return (struct topo_object){.kind = TOPO_NIC, .parent = parent, .vendor = hw->vendor, .device = hw->device};
}

static enum model_net_kind kind(const char *nic, int layer, const char *hypervisor, const char **assumed)
{
    struct topo_object o = nic ? nic_of(nic, -1) : (struct topo_object){.kind = TOPO_NIC, .parent = -1};
    struct topo_port p = {.layer = layer};
    const struct topo_class c = {.objects = &o, .nobjects = 1, .ports = &p, .nports = 1, .hypervisor = hypervisor};
    const struct nccl_net net = {.object = nic ? 0 : -1, .gdr = 1};
    return model_net_kind_of(&c, &net, assumed);
}

static const char *of_transport(enum hw_transport t)
{
    const struct hw_nic *hw = hw_nics;
    while (hw->transport != t)
        hw++;
    return hw->name;
}

TEST_CASE(kinds_of_networks)
{
    const char *assumed;
    assert_int_equal(kind("connectx-7", TOPO_LINK_INFINIBAND, NULL, &assumed), MODEL_NET_INFINIBAND);
    assert_null(assumed);
    assert_int_equal(kind(NULL, TOPO_LINK_UNKNOWN, NULL, &assumed), MODEL_NET_INFINIBAND);
    assert_string_equal(assumed, "InfiniBand");
    assert_int_equal(kind("connectx-7", TOPO_LINK_ETHERNET, NULL, &assumed), MODEL_NET_ROCE);
    assert_null(assumed);
    assert_int_equal(kind("connectx-7", TOPO_LINK_ETHERNET, "none", &assumed), MODEL_NET_ROCE);
    assert_int_equal(kind("connectx-7", TOPO_LINK_ETHERNET, "KVM", &assumed), MODEL_NET_ROCE_VIRTUAL);
    assert_int_equal(kind("efa1", TOPO_LINK_UNKNOWN, NULL, &assumed), MODEL_NET_EFA);
    assert_int_equal(kind("efa2", TOPO_LINK_UNKNOWN, NULL, &assumed), MODEL_NET_EFA_2);
    assert_int_equal(kind(of_transport(HW_CXI), TOPO_LINK_ETHERNET, NULL, &assumed), MODEL_NET_SLINGSHOT);
}

/* A NIC that no constant was fitted to follows its relatives, whatever its kind of network; every name is of a NIC. */
TEST_CASE(networks_without_results)
{
    static const struct {
        const char *nic;
        enum model_net_kind kind;
        enum model_evidence evidence;
    } cases[] = {
        {"connectx-7", MODEL_NET_INFINIBAND, MODEL_FITTED}, {"connectx-8", MODEL_NET_INFINIBAND, MODEL_FOLLOWS},
        {"connectx-8", MODEL_NET_ROCE, MODEL_FOLLOWS},      {"efa2", MODEL_NET_EFA_2, MODEL_FITTED},
        {"efa3", MODEL_NET_EFA_2, MODEL_FOLLOWS},           {"efa4", MODEL_NET_EFA_2, MODEL_FOLLOWS},
        {"cassini", MODEL_NET_SLINGSHOT, MODEL_FOLLOWS},    {"mlx5-vf", MODEL_NET_ROCE_VIRTUAL, MODEL_FITTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo_object o = nic_of(cases[i].nic, -1);
        const struct topo_class c = {.objects = &o, .nobjects = 1};
        const struct nccl_net net = {.object = 0}, unknown = {.object = -1};
        assert_int_equal(model_net_evidence(cases[i].kind, &c, &net), cases[i].evidence);
        assert_int_equal(model_net_evidence(cases[i].kind, &c, &unknown), model_nets[cases[i].kind].evidence);
    }
    for (int kind = 0; kind < MODEL_NET_KINDS; kind++)
        for (int i = 0; i < 4 && model_nets[kind].nics[i]; i++)
            assert_non_null(hw_nic_find(model_nets[kind].nics[i]));
}

/* Google's NICs count by those that hang on switches: as many as GPUs have the later transport. */
TEST_CASE(tcp_of_clouds)
{
    const char *tcpx = of_transport(HW_TCPX), *assumed;
    struct topo_object objects[] = {{.kind = TOPO_NUMA, .parent = -1},
                                    {.kind = TOPO_SWITCH, .parent = 0},
                                    nic_of(tcpx, 1),
                                    nic_of(tcpx, 1),
                                    nic_of(tcpx, 0),
                                    nic_of(tcpx, -1),
                                    nic_of("connectx-7", 1)};
    struct topo_gpu gpus[3] = {{0}};
    struct topo_class c = {.objects = objects, .nobjects = 7, .gpus = gpus, .ngpus = 2};
    struct nccl_net net = {.object = 2, .port = -1, .gdr = 1};
    assert_int_equal(model_net_kind_of(&c, &net, &assumed), MODEL_NET_TCPXO);
    c.ngpus = 3;
    assert_int_equal(model_net_kind_of(&c, &net, &assumed), MODEL_NET_TCPX);
    net.gdr = 0;
    assert_int_equal(model_net_kind_of(&c, &net, &assumed), MODEL_NET_SOCKETS);
    net.gdr = 1;
    net.object = 6;
    assert_int_equal(model_net_kind_of(&c, &net, &assumed), MODEL_NET_SOCKETS);
    net.object = -1;
    assert_int_equal(model_net_kind_of(&c, &net, &assumed), MODEL_NET_SOCKETS);
    assert_null(assumed);
    assert_near(model_tcp_GBps(&c, &net), 1.7, 0);
    net.object = 2;
    assert_near(model_tcp_GBps(&c, &net), 6.8, 0);
    net.object = 6;
    assert_near(model_tcp_GBps(&c, &net), 1.7, 0);
    objects[6] = nic_of("efa2", 1);
    assert_near(model_tcp_GBps(&c, &net), 6.8, 0);
    objects[6] = nic_of(of_transport(HW_CXI), 1);
    assert_near(model_tcp_GBps(&c, &net), 3.4, 0);
}

TEST_CASE(between_sockets)
{
    static const struct {
        const char *cpu;
        double GBps;
    } cases[] = {
        {NULL, 6},
        {"GenuineIntel", 6},
        {"GenuineIntel 6/84", 6},
        {"GenuineIntel 6/85", 10},
        {"GenuineIntel 6/142", 10},
        {"GenuineIntel 6/143", 22},
        {"GenuineIntel 6/195", 22},
        {"GenuineIntel 6/206", 22},
        {"GenuineIntel 6/207", 40},
        {"GenuineIntel 6/85 at 2.4 GHz", 10},
        {"GenuineIntel 6/100000000000000000000", 40},
        {"AuthenticAMD 25/1", 16},
        {"CentaurHauls 7/207", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct topo_class c = {.cpu = cases[i].cpu};
        if (model_socket_GBps(&c) != cases[i].GBps)
            fail_msg("%s: %g", cases[i].cpu, model_socket_GBps(&c));
    }
}

TEST_CASES(test_constants)
