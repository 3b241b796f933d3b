/* model/nccl/model_nets.c: the NICs that NCCL takes of ports and interfaces, by name, rate and number of
 * devices. */
#include "model/nccl/graph.h"
#include "probe/machines/hardware.h"
#include "tests/lib/unit.h"

enum { NUMA, SWITCH, OTHER_SWITCH, FIRST_NIC, MOST = 40, OBJECTS = FIRST_NIC + MOST };

/* Ports p0, p1 … and interfaces of as many NICs, each of its own card, below one switch. */
struct bed {
    struct arena *a;
    struct topo_object objects[OBJECTS];
    struct topo_port ports[MOST];
    struct topo_netdev netdevs[MOST];
    struct topo_class c;
    struct topology t;
    struct nccl_setup s;
    struct err e;
};

static void make(struct bed *b, int ports, int netdevs)
{
    *b = (struct bed){.a = arena_new(),
                      .objects = {[NUMA] = {.kind = TOPO_NUMA, .parent = -1},
                                  [SWITCH] = {.kind = TOPO_SWITCH, .parent = NUMA},
                                  [OTHER_SWITCH] = {.kind = TOPO_SWITCH, .parent = NUMA}}};
    for (int i = 0; i < MOST; i++) {
        b->objects[FIRST_NIC + i] = (struct topo_object){
            .kind = TOPO_NIC, .parent = SWITCH, .pci = arena_printf(b->a, "0000:%02x:00.0", 16 + i)};
        b->ports[i] = (struct topo_port){.object = FIRST_NIC + i,
                                         .hca = arena_printf(b->a, "p%d", i),
                                         .port = 1,
                                         .state = TOPO_STATE_ACTIVE,
                                         .rate_Gbps = 200};
        b->netdevs[i] = (struct topo_netdev){.object = FIRST_NIC + i,
                                             .name = arena_printf(b->a, "eth%d", i),
                                             .kind = TOPO_NET_PHYSICAL,
                                             .state = TOPO_STATE_ACTIVE,
                                             .speed_Gbps = 100};
    }
    b->c = (struct topo_class){.objects = b->objects,
                               .ports = b->ports,
                               .netdevs = b->netdevs,
                               .nobjects = OBJECTS,
                               .nports = ports,
                               .nnetdevs = netdevs};
    b->t = (struct topology){.classes = &b->c, .nclasses = 1};
    b->s.topology = &b->t;
}

/* "NAME GBps xDEVICES", with " direct" where the NIC reaches GPU memory, one behind the other; the error where there is
 * one; behind '|' what was assumed. */
static const char *nets(struct bed *b, int version)
{
    int n;
    const char *assumed = NULL, *text = "";
    b->e = (struct err){0};
    const struct nccl_net *list = nccl_model_nets(&b->s, version, b->a, &n, &assumed, &b->e);
    if (!list)
        return b->e.text;
    for (int i = 0; i < n; i++)
        text = arena_printf(b->a, "%s%s%s %g x%d%s", text, i ? ", " : "", list[i].name, list[i].GBps, list[i].devices,
                            list[i].gdr ? " direct" : "");
    return assumed ? arena_printf(b->a, "%s|%s", text, assumed) : text;
}

TEST_CASE(ports)
{
    struct bed b;
    make(&b, 3, 0);
    b.ports[1].rate_Gbps = 0;
    b.ports[2].state = TOPO_STATE_DOWN;
    assert_string_equal(nets(&b, 22800), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.c.gdr_route = "nvidia-peermem";
    assert_string_equal(nets(&b, 22800), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.c.gdr_route = "none";
    assert_string_equal(nets(&b, 22800), "p0:1 25 x1, p1:1 1.25 x1");
    arena_free(b.a);
}

TEST_CASE(named)
{
    static const struct {
        const char *hcas[2], *nets;
        int n;
    } cases[] = {
        {{"p0"}, "p0:1 25 x1 direct", 1},
        {{"p1:1"}, "p1:1 25 x1 direct", 1},
        {{"p1", "p0:1"}, "p0:1 25 x1 direct, p1:1 25 x1 direct", 2},
        {{"p0:2"}, "p0:2: the nodes of that class have no such HCA", 1},
        {{"p00"}, "p00: the nodes of that class have no such HCA", 1},
        {{"p0", "q"}, "q: the nodes of that class have no such HCA", 2},
        {{NULL}, "eth0 1.25 x1|one Ethernet interface of 10 Gb/s: the topology shows no network", 0},
    };
    struct bed b;
    make(&b, 2, 0);
    for (size_t i = 0; i + 1 < sizeof cases / sizeof *cases; i++) {
        b.s.hcas = cases[i].hcas;
        b.s.nhcas = cases[i].n;
        assert_string_equal(nets(&b, 22800), cases[i].nets);
    }
    b.s.hcas = NULL;
    b.s.nhcas = 0;
    b.c.nports = 0;
    assert_string_equal(nets(&b, 22800), cases[6].nets);
    b.c.name = "gpu-node";
    b.s.hcas = cases[0].hcas;
    b.s.nhcas = 1;
    assert_string_equal(nets(&b, 22800), "p0: the nodes of gpu-node have no such HCA");
    arena_free(b.a);
}

/* Functions of one card are one NIC: none before 2.20, two until 2.24, four since. */
TEST_CASE(cards)
{
#define ALONE(p) p ":1 25 x1 direct"
    static const struct {
        int version;
        const char *nets;
    } cases[] = {
        {21999, ALONE("p0") ", " ALONE("p1") ", " ALONE("p2") ", " ALONE("p3") ", " ALONE("p4")},
        {22000, "p0:1+p1:1 50 x2 direct, p2:1+p3:1 50 x2 direct, " ALONE("p4")},
        {22399, "p0:1+p1:1 50 x2 direct, p2:1+p3:1 50 x2 direct, " ALONE("p4")},
        {22400, "p0:1+p1:1+p2:1+p3:1 100 x4 direct, " ALONE("p4")},
    };
    struct bed b;
    make(&b, 5, 0);
    for (int i = 0; i < 5; i++)
        b.objects[FIRST_NIC + i].pci = arena_printf(b.a, "0000:17:00.%d", i);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(nets(&b, cases[i].version), cases[i].nets);
    b.c.nports = 2;
    b.ports[1].rate_Gbps = 0;
    assert_string_equal(nets(&b, 22400), "p0:1+p1:1 26.25 x2 direct");
    b.ports[1].layer = TOPO_LINK_ETHERNET; /* not together with InfiniBand */
    assert_string_equal(nets(&b, 22400), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.ports[1].layer = b.ports[0].layer;
    b.objects[FIRST_NIC + 1].pci = NULL; /* of which nobody knows the card */
    assert_string_equal(nets(&b, 22400), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.objects[FIRST_NIC + 1].pci = "0000:17:01.0";
    assert_string_equal(nets(&b, 22400), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.ports[1].object = FIRST_NIC; /* two ports of one function */
    assert_string_equal(nets(&b, 22400), "p0:1+p1:1 26.25 x2 direct");
    b.ports[1].object = -1;
    assert_string_equal(nets(&b, 22400), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    b.ports[0].object = -1;
    assert_string_equal(nets(&b, 22400), "p0:1 25 x1 direct, p1:1 1.25 x1 direct");
    arena_free(b.a);
}

static void be(struct topo_object *o, const char *nic)
{
    const struct hw_nic *hw = hw_nic_find(nic);
    assert_non_null(hw);
    o->vendor = hw->vendor;
    o->device = hw->device;
}

/* Amazon's adapters below one switch are one NIC from their second generation on, however many. */
TEST_CASE(groups)
{
    struct bed b;
    make(&b, 3, 0);
    for (int i = 0; i < 3; i++)
        be(&b.objects[FIRST_NIC + i], "efa2");
    assert_string_equal(nets(&b, 21800), "p0:1+p1:1+p2:1 75 x3 direct");
    b.objects[FIRST_NIC + 1].parent = OTHER_SWITCH;
    assert_string_equal(nets(&b, 21800), "p0:1+p2:1 50 x2 direct, p1:1 25 x1 direct");
    be(&b.objects[FIRST_NIC + 2], "efa3");
    assert_string_equal(nets(&b, 21800), "p0:1 25 x1 direct, p1:1 25 x1 direct, p2:1 25 x1 direct");
    be(&b.objects[FIRST_NIC + 2], "efa2");
    b.objects[FIRST_NIC].parent = b.objects[FIRST_NIC + 2].parent = -1;
    assert_string_equal(nets(&b, 21800), "p0:1 25 x1 direct, p1:1 25 x1 direct, p2:1 25 x1 direct");
    for (int i = 0; i < 3; i++) {
        be(&b.objects[FIRST_NIC + i], "efa1");
        b.objects[FIRST_NIC + i].parent = SWITCH;
    }
    assert_string_equal(nets(&b, 21800), "p0:1 25 x1 direct, p1:1 25 x1 direct, p2:1 25 x1 direct");
    for (int i = 0; i < 3; i++)
        be(&b.objects[FIRST_NIC + i], "connectx-7");
    assert_string_equal(nets(&b, 21800), "p0:1 25 x1 direct, p1:1 25 x1 direct, p2:1 25 x1 direct");
    arena_free(b.a);
}

TEST_CASE(interfaces)
{
    struct bed b;
    make(&b, 2, 8);
    b.s.sockets = 1;
    b.netdevs[0].state = TOPO_STATE_DOWN;
    b.netdevs[1].kind = TOPO_NET_LOOPBACK;
    b.netdevs[2].master = "bond0";
    b.netdevs[3].name = "docker0";
    b.netdevs[4].name = "lo1";
    b.netdevs[5].name = "virbr0";
    b.netdevs[7].speed_Gbps = 0;
    assert_string_equal(nets(&b, 22800), "eth6 12.5 x1, eth7 1.25 x1");
    b.netdevs[0].name = "ib0"; /* which is down */
    assert_string_equal(nets(&b, 22800), "eth6 12.5 x1, eth7 1.25 x1");
    b.netdevs[7].name = "ib7";
    assert_string_equal(nets(&b, 22800), "ib7 1.25 x1");
    b.c.nnetdevs = 0;
    b.ports[1].netdev = "ib1";
#define ASSUMED "|an IP interface on each RDMA port: the topology shows none"
    assert_string_equal(nets(&b, 22800), "p0 25 x1, ib1 25 x1" ASSUMED);
    b.ports[0].state = TOPO_STATE_DOWN;
    assert_string_equal(nets(&b, 22800), "ib1 25 x1" ASSUMED);
    b.s.sockets = 0;
    b.ports[1].state = TOPO_STATE_DOWN;
    assert_string_equal(nets(&b, 22800),
                        "eth0 1.25 x1|one Ethernet interface of 10 Gb/s: the topology shows no network");
    arena_free(b.a);
}

/* Google's NICs beside GPUs, which reach their memory; where there are none all interfaces. */
TEST_CASE(gpudirect_over_tcp)
{
    struct bed b;
    make(&b, 0, 5);
    for (int i = 0; i < 4; i++)
        be(&b.objects[FIRST_NIC + i], "gvnic");
    b.objects[FIRST_NIC + 1].parent = NUMA;
    b.objects[FIRST_NIC + 2].parent = -1;
    b.netdevs[3].state = TOPO_STATE_DOWN;
    assert_string_equal(nets(&b, 22800), "eth0 12.5 x1 direct");
    b.netdevs[0].object = -1;
    assert_string_equal(nets(&b, 22800), "eth0 12.5 x1, eth1 12.5 x1, eth2 12.5 x1, eth4 12.5 x1");
    b.netdevs[0].object = FIRST_NIC;
    b.s.sockets = 1;
    assert_string_equal(nets(&b, 22800), "eth0 12.5 x1, eth1 12.5 x1, eth2 12.5 x1, eth4 12.5 x1");
    arena_free(b.a);
}

/* Both transports look no further than so many. */
TEST_CASE(limits)
{
    struct bed b;
    int n;
    const char *assumed;
    make(&b, MOST, 0);
    assert_non_null(nccl_model_nets(&b.s, 22800, b.a, &n, &assumed, &b.e));
    assert_int_equal(n, 32);
    b.s.sockets = 1;
    assert_non_null(nccl_model_nets(&b.s, 22800, b.a, &n, &assumed, &b.e));
    assert_int_equal(n, 16);
    b.c.nnetdevs = MOST;
    assert_non_null(nccl_model_nets(&b.s, 22800, b.a, &n, &assumed, &b.e));
    assert_int_equal(n, 16);
    for (int i = 0; i < MOST; i++)
        be(&b.objects[FIRST_NIC + i], "gvnic");
    b.s.sockets = b.c.nports = 0;
    assert_non_null(nccl_model_nets(&b.s, 22800, b.a, &n, &assumed, &b.e));
    assert_int_equal(n, 16);
    arena_free(b.a);
}

TEST_CASES(test_model_nets)
