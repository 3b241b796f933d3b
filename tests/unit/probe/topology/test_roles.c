/* probe/topology/roles.c: the machines on which simple rules go wrong; compute ports by network. */
#include "probe/topology/build.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

enum { IB = TOPO_LINK_INFINIBAND, ETH = TOPO_LINK_ETHERNET };
enum { UP = TOPO_STATE_ACTIVE, DOWN = TOPO_STATE_DOWN };

/* A port, and where it sits: below the switch of GPU `gpu`, or with -1 on NUMA node 0 alone. */
struct row {
    const char *hca;
    int gpu, layer, rate_Gbps, state;
    enum port_role expected;
};

/* Eight GPUs on two NUMA nodes, each below a switch of its own, and the ports. */
static struct topology *machine(const struct row *rows, int n)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    int above[8];
    for (int i = 0; i < 8; i++) {
        int numa = build_numa(t, c, i / 4);
        above[i] = build_object(t, c, (struct topo_object){.kind = TOPO_SWITCH, .parent = numa, .numa = i / 4});
        struct topo_object o = {.kind = TOPO_GPU, .parent = above[i], .numa = i / 4};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1});
    }
    for (int i = 0; i < n; i++) {
        struct topo_object o = {.kind = TOPO_NIC, .parent = build_numa(t, c, 0), .numa = 0, .name = rows[i].hca};
        o.pci = arena_printf(t->arena, "0000:%02x:00.0", 0x20 + i);
        if (rows[i].gpu >= 0)
            o.parent = above[rows[i].gpu];
        build_port(t, c,
                   (struct topo_port){.object = build_object(t, c, o),
                                      .hca = rows[i].hca,
                                      .port = 1,
                                      .layer = (enum topo_link_layer)rows[i].layer,
                                      .rate_Gbps = rows[i].rate_Gbps,
                                      .state = (enum topo_state)rows[i].state});
    }
    return t;
}

/* The roles as expected, and the list; NULL: none. */
static void check(struct topology *t, const struct row *rows, int n, const char *list)
{
    const struct port_verdict *v = roles_of(&t->classes[0], t->arena);
    for (int i = 0; i < n; i++)
        if (v[i].role != rows[i].expected)
            fail_msg("%s: %s (%s) instead of %s", rows[i].hca, role_name(v[i].role), v[i].reason,
                     role_name(rows[i].expected));
    const char *found = roles_hca_list(&t->classes[0], v, t->arena);
    if (list)
        assert_string_equal(found, list);
    else
        assert_null(found);
}

static void expect(const struct row *rows, int n, const char *list)
{
    struct topology *t = machine(rows, n);
    check(t, rows, n, list);
    topo_free(t);
}

#define EIGHT(layer, rate, state, role)                                                   \
    {"mlx5_0", 0, layer, rate, state, role}, {"mlx5_1", 1, layer, rate, state, role},     \
        {"mlx5_2", 2, layer, rate, state, role}, {"mlx5_3", 3, layer, rate, state, role}, \
        {"mlx5_4", 4, layer, rate, state, role}, {"mlx5_5", 5, layer, rate, state, role}, \
        {"mlx5_6", 6, layer, rate, state, role},                                          \
    {                                                                                     \
        "mlx5_7", 7, layer, rate, state, role                                             \
    }
#define EIGHT_NAMES "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"

/* An HGX B300: the eight NICs at 800 Gb/s are down; the active InfiniBand ports manage the NVLink switches. */
TEST_CASE(nvlink_management)
{
    static const struct row rows[] = {EIGHT(IB, 800, DOWN, ROLE_DOWN),
                                      {"mlx5_8", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT},
                                      {"mlx5_9", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT},
                                      {"mlx5_10", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT},
                                      {"mlx5_11", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT}};
    struct topology *t = machine(rows, 12);
    for (int i = 8; i < 12; i++)
        t->classes[0].objects[t->classes[0].ports[i].object].nvlink_management = TOPO_YES;
    check(t, rows, 12, NULL);
    topo_free(t);
}

/* The same machine where the product data could not be read: still not taken for compute ports. */
TEST_CASE(nvlink_management_unread)
{
    static const struct row rows[] = {EIGHT(IB, 800, DOWN, ROLE_DOWN),
                                      {"mlx5_8", -1, IB, 400, UP, ROLE_UNKNOWN},
                                      {"mlx5_9", -1, IB, 400, UP, ROLE_UNKNOWN}};
    expect(rows, 10, NULL);
}

/* "mlx5_1" without '=' and port would also be mlx5_10. */
TEST_CASE(prefix)
{
    static const struct row rows[] = {{"mlx5_1", 0, IB, 400, UP, ROLE_COMPUTE},
                                      {"mlx5_2", 1, IB, 400, UP, ROLE_COMPUTE},
                                      {"mlx5_10", -1, ETH, 25, UP, ROLE_MANAGEMENT}};
    expect(rows, 3, "=mlx5_1:1,mlx5_2:1");
}

/* Eight bonds beside the GPUs and one for storage, as RoCE clusters are wired: NCCL runs on them. */
TEST_CASE(bonds)
{
    static const struct row rows[] = {
        {"mlx5_bond_0", -1, ETH, 100, UP, ROLE_STORAGE}, {"mlx5_bond_1", 0, ETH, 400, UP, ROLE_COMPUTE},
        {"mlx5_bond_2", 1, ETH, 400, UP, ROLE_COMPUTE},  {"mlx5_bond_3", 2, ETH, 400, UP, ROLE_COMPUTE},
        {"mlx5_bond_4", 3, ETH, 400, UP, ROLE_COMPUTE},  {"mlx5_bond_5", 4, ETH, 400, UP, ROLE_COMPUTE},
        {"mlx5_bond_6", 5, ETH, 400, UP, ROLE_COMPUTE},  {"mlx5_bond_7", 6, ETH, 400, UP, ROLE_COMPUTE},
        {"mlx5_bond_8", 7, ETH, 400, UP, ROLE_COMPUTE}};
    struct topology *t = machine(rows, 9);
    struct topo_class *c = &t->classes[0];
    for (int i = 0; i < 9; i++) {
        const char *name = arena_printf(t->arena, "bond%d", i);
        build_netdev(t, c, (struct topo_netdev){.object = -1, .name = name, .kind = TOPO_NET_BOND});
        c->ports[i].netdev = name;
    }
    check(t, rows, 9,
          "=mlx5_bond_1:1,mlx5_bond_2:1,mlx5_bond_3:1,mlx5_bond_4:1,mlx5_bond_5:1,mlx5_bond_6:1,mlx5_bond_7:1,"
          "mlx5_bond_8:1");
    topo_free(t);
}

/* Two devices of a bond that the driver has not made one. */
TEST_CASE(bond_of_two_devices)
{
    static const struct row rows[] = {{"mlx5_0", 0, ETH, 400, UP, ROLE_COMPUTE},
                                      {"mlx5_1", 1, ETH, 400, UP, ROLE_COMPUTE},
                                      {"mlx5_2", 2, ETH, 400, UP, ROLE_BOND},
                                      {"mlx5_3", 2, ETH, 400, UP, ROLE_BOND}};
    struct topology *t = machine(rows, 4);
    struct topo_class *c = &t->classes[0];
    build_netdev(t, c, (struct topo_netdev){.object = -1, .name = "bond0", .kind = TOPO_NET_BOND});
    for (int i = 2; i < 4; i++) {
        c->ports[i].netdev = arena_printf(t->arena, "eth%d", i);
        build_netdev(t, c,
                     (struct topo_netdev){.object = c->ports[i].object, .name = c->ports[i].netdev, .master = "bond0"});
    }
    check(t, rows, 4, "=mlx5_0:1,mlx5_1:1");
    topo_free(t);
}

/* Virtual functions sit as near to the GPU as their physical one. */
TEST_CASE(virtual_functions)
{
    static const struct row rows[] = {{"mlx5_0", 0, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_1", 0, IB, 200, UP, ROLE_VF},
                                      {"mlx5_2", 0, IB, 200, UP, ROLE_VF}};
    struct topology *t = machine(rows, 3);
    struct topo_class *c = &t->classes[0];
    c->objects[c->ports[1].object].pf = "0000:20:00.0";
    /* The second is recognised by its name in the PCI database and its neighbour on the bus. */
    c->objects[c->ports[0].object].model = "MT28908 Family [ConnectX-6]";
    c->objects[c->ports[2].object].model = "MT28908 Family [ConnectX-6 Virtual Function]";
    c->objects[c->ports[2].object].pci = "0000:20:00.1";
    check(t, rows, 3, "=mlx5_0:1");
    topo_free(t);
}

/* A pod: eight virtual functions, their physical ones seen as PCI functions only; then those as devices that belong to
 * the host and cannot be opened; then down. */
TEST_CASE(virtual_functions_in_a_pod)
{
    static const struct row alone[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE)};
    static const struct row shared[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE),
                                        {"mlx5_8", 0, IB, 400, UP, ROLE_UNKNOWN},
                                        {"mlx5_9", 1, IB, 400, DOWN, ROLE_DOWN}};
    for (int k = 0; k < 2; k++) {
        const struct row *rows = k ? shared : alone;
        struct topology *t = machine(rows, k ? 10 : 8);
        struct topo_class *c = &t->classes[0];
        for (int i = 0; i < 8; i++) {
            struct topo_object *vf = &c->objects[c->ports[i].object];
            vf->pf = arena_printf(t->arena, "0000:%02x:00.0", 0x28 + i);
            vf->model = "MT2910 Family [ConnectX-7 Virtual Function]";
            if (!k)
                build_object(t, c, (struct topo_object){.kind = TOPO_NIC, .parent = -1, .numa = -1, .pci = vf->pf});
        }
        if (k)
            c->ports[8].opens = TOPO_NO;
        check(t, rows, c->nports, EIGHT_NAMES);
        topo_free(t);
    }
}

/* In a guest the virtual function is all that there is. */
TEST_CASE(virtual_function_alone)
{
    static const struct row rows[] = {{"mlx5_ib0", 0, IB, 200, UP, ROLE_COMPUTE}};
    struct topology *t = machine(rows, 1);
    t->classes[0].objects[t->classes[0].ports[0].object].model = "MT28908 Family [ConnectX-6 Virtual Function]";
    check(t, rows, 1, "=mlx5_ib0:1");
    topo_free(t);
}

/* Ten HCAs, two of which are Ethernet for storage, numbered in between. */
TEST_CASE(storage_ethernet)
{
    static const struct row rows[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE),
                                      {"mlx5_8", -1, ETH, 200, UP, ROLE_STORAGE},
                                      {"mlx5_9", -1, ETH, 200, UP, ROLE_STORAGE}};
    expect(rows, 10, EIGHT_NAMES);
}

/* All Ethernet and all of one rate: distance alone tells which are for storage. */
TEST_CASE(storage_far)
{
    static const struct row rows[] = {EIGHT(ETH, 400, UP, ROLE_COMPUTE),
                                      {"mlx5_8", -1, ETH, 400, UP, ROLE_STORAGE},
                                      {"mlx5_9", -1, ETH, 400, UP, ROLE_STORAGE}};
    expect(rows, 10, EIGHT_NAMES);
}

/* A slow port beside no GPU, and a GPU's port that has lost half its lanes. */
TEST_CASE(rates)
{
    static const struct row rows[] = {{"mlx5_0", 0, ETH, 400, UP, ROLE_COMPUTE},
                                      {"mlx5_1", 1, ETH, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_2", -1, ETH, 25, UP, ROLE_MANAGEMENT},
                                      {"mlx5_3", -1, ETH, 100, UP, ROLE_STORAGE}};
    expect(rows, 4, "=mlx5_0:1,mlx5_1:1");
}

/* A port for management below the switch of a GPU that has its own; but two ports of one model, one of them slow, are
 * both the GPU's. */
TEST_CASE(slower_neighbour)
{
    struct row rows[] = {EIGHT(ETH, 400, UP, ROLE_COMPUTE),
                         {"mlx5_8", 3, ETH, 200, UP, ROLE_STORAGE},
                         {"mlx5_9", 4, ETH, 100, UP, ROLE_STORAGE}};
    expect(rows, 10, EIGHT_NAMES);
    struct topology *t = machine(rows, 9);
    t->classes[0].ports[3].board_id = t->classes[0].ports[8].board_id = "MT_0000000838";
    rows[8].expected = ROLE_COMPUTE;
    check(t, rows, 9, EIGHT_NAMES ",mlx5_8:1");
    topo_free(t);
}

/* HGX B300 as a user without privileges sees it, and a B200 whose fabric is EFA: the active InfiniBand ports manage the
 * NVLink switches, which nobody may read there. */
TEST_CASE(bridges_unread)
{
    static const struct row b300[] = {EIGHT(IB, 800, UP, ROLE_COMPUTE),
                                      {"mlx5_8", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT},
                                      {"mlx5_9", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT}};
    static const struct row down[] = {EIGHT(IB, 800, DOWN, ROLE_DOWN),
                                      {"mlx5_8", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT}};
    static const struct row efa[] = {{"rdmap79s0", -1, 0, 400, UP, ROLE_COMPUTE},
                                     {"rdmap80s0", -1, 0, 400, UP, ROLE_COMPUTE},
                                     {"rdmap81s0", -1, 0, 400, UP, ROLE_COMPUTE},
                                     {"ibp115s0f0", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT},
                                     {"ibp116s0f0", -1, IB, 400, UP, ROLE_NVLINK_MANAGEMENT}};
    static const struct {
        const struct row *rows;
        int n;
        const char *list;
    } machines[] = {{b300, 10, EIGHT_NAMES}, {down, 9, NULL}, {efa, 5, NULL}};
    for (size_t k = 0; k < 3; k++) {
        struct topology *t = machine(machines[k].rows, machines[k].n);
        struct topo_class *c = &t->classes[0];
        for (int i = 0; i < c->ngpus; i++)
            c->gpus[i].sm = 100;
        for (int i = 0; i < c->nports; i++)
            c->objects[c->ports[i].object].vendor = strncmp(c->ports[i].hca, "rdmap", 5) ? 0x15b3 : 0x1d0f;
        check(t, machines[k].rows, machines[k].n, machines[k].list);
        topo_free(t);
    }
}

/* hwloc tells no state of EFA's ports. */
TEST_CASE(plugin_without_state)
{
    static const struct row rows[] = {{"rdmap16s27", 0, 0, 100, 0, ROLE_COMPUTE},
                                      {"mlx5_0", 1, IB, 100, 0, ROLE_UNKNOWN}};
    expect(rows, 2, NULL);
}

/* The rule that decides comes first among those that speak against the port. */
TEST_CASE(evidence)
{
    static const struct row rows[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE), {"mlx5_8", -1, ETH, 25, UP, ROLE_MANAGEMENT}};
    struct topology *t = machine(rows, 9);
    struct role_evidence *e;
    int n = roles_evidence(&t->classes[0], 8, t->arena, &e), first = 0;
    while (first < n && e[first].role == ROLE_COMPUTE)
        first++;
    assert_true(first < n);
    assert_string_equal(e[first].rule, "link layer");
    assert_non_null(strstr(e[first].seen, "Ethernet at 25 Gb/s"));
    n = roles_evidence(&t->classes[0], 0, t->arena, &e);
    for (int i = 0; i < n; i++)
        assert_int_equal(e[i].role, ROLE_COMPUTE);
    topo_free(t);
}

/* GPUs of one socket have their NICs beside them, those of the other only on their node: both kinds are compute. */
TEST_CASE(uneven)
{
    static const struct row rows[] = {{"mlx5_0", 4, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_1", 5, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_2", 6, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_3", 7, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_4", -1, IB, 200, UP, ROLE_COMPUTE}};
    expect(rows, 5, "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1");
}

/* A guest that shows no tree: nothing is said about distances, nothing is thought slow or far. */
TEST_CASE(hidden_tree)
{
    static const struct row rows[] = {{"mlx5_0", -1, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_1", -1, IB, 200, UP, ROLE_COMPUTE},
                                      {"mlx5_an0", -1, ETH, 100, UP, ROLE_STORAGE}};
    struct topology *t = machine(rows, 3);
    struct topo_class *c = &t->classes[0];
    for (int i = 0; i < c->nports; i++) {
        struct topo_object *o = &c->objects[c->ports[i].object];
        o->parent = o->numa = -1;
        o->link_GTps = 2.5;
        o->link_width = i ? 1 : 0;
    }
    check(t, rows, 3, "=mlx5_0:1,mlx5_1:1");
    const struct port_verdict *v = roles_of(c, t->arena);
    assert_non_null(strstr(v[0].reason, "distance to the GPUs is not known"));
    topo_free(t);
}

/* A lone port of another subnet among many; rails with a subnet each are left alone. */
TEST_CASE(subnets)
{
    struct row rows[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE), {"mlx5_8", 0, IB, 400, UP, ROLE_STORAGE}};
    struct topology *t = machine(rows, 9);
    for (int i = 0; i < 9; i++)
        t->classes[0].ports[i].subnet_prefix = i < 8 ? "0xfe80000000000000" : "0xfe80000000000001";
    check(t, rows, 9, EIGHT_NAMES);
    rows[8].expected = ROLE_COMPUTE;
    for (int i = 0; i < 9; i++)
        t->classes[0].ports[i].subnet_prefix = arena_printf(t->arena, "0xfe8000000000000%d", i);
    check(t, rows, 9, EIGHT_NAMES ",mlx5_8:1");
    topo_free(t);
}

/* Storage cards beside GPUs, told by the addresses of their IPoIB interfaces; rails with a network each are left alone.
 */
TEST_CASE(ip_networks)
{
    struct row rows[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE),
                         {"mlx5_8", 0, IB, 400, UP, ROLE_STORAGE},
                         {"mlx5_9", 4, IB, 400, UP, ROLE_STORAGE}};
    for (int rails = 0; rails < 2; rails++) {
        struct topology *t = machine(rows, 10);
        struct topo_class *c = &t->classes[0];
        for (int i = 0; i < 10; i++) {
            struct topo_netdev d = {.object = -1, .name = arena_printf(t->arena, "ib%d", i)};
            build_text(t, &d.addresses, &d.naddresses,
                       arena_printf(t->arena, "10.%d.0.%d/16",
                                    i > 7   ? 99
                                    : rails ? i
                                            : 0,
                                    i + 1));
            build_netdev(t, c, d);
            c->ports[i].netdev = d.name;
        }
        rows[8].expected = rows[9].expected = rails ? ROLE_COMPUTE : ROLE_STORAGE;
        check(t, rows, 10, rails ? EIGHT_NAMES ",mlx5_8:1,mlx5_9:1" : EIGHT_NAMES);
        topo_free(t);
    }
}

/* Devices without verbs that NCCL knows are compute ports, but no names for NCCL_IB_HCA; odd names are none either. */
TEST_CASE(not_for_the_list)
{
    static const struct row rows[] = {{"rdmap16s27", 0, 0, 100, UP, ROLE_COMPUTE},
                                      {"mlx5_0,mlx5_9", 1, IB, 100, UP, ROLE_UNKNOWN},
                                      {"", 1, IB, 100, UP, ROLE_UNKNOWN}};
    struct topology *t = machine(rows, 3);
    t->classes[0].objects[t->classes[0].ports[0].object].vendor = 0x1d0f;
    check(t, rows, 3, NULL);
    topo_free(t);
}

/* Two classes: what both can use; then none. */
TEST_CASE(common)
{
    static const struct row first[] = {EIGHT(IB, 400, UP, ROLE_COMPUTE)};
    struct topology *t = machine(first, 8);
    const char *why = NULL;
    assert_string_equal(roles_hca_common(t, t->arena, &why), EIGHT_NAMES);
    struct topo_class second = t->classes[0];
    second.ports = arena_alloc(t->arena, 8 * sizeof *second.ports);
    memcpy(second.ports, t->classes[0].ports, 8 * sizeof *second.ports);
    second.ports[7].state = TOPO_STATE_DOWN;
    struct topo_class *c = build_class(t, NULL);
    second.name = c->name;
    *c = second;
    assert_string_equal(roles_hca_common(t, t->arena, &why),
                        "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1");
    for (int i = 0; i < 8; i++)
        second.ports[i].hca = arena_printf(t->arena, "rocep%ds0", i);
    assert_null(roles_hca_common(t, t->arena, &why));
    assert_non_null(strstr(why, "class1"));
    topo_free(t);
}

/* ---- rails ---- */

static int add_rail_port(struct topology *t, const char *hca, const char *netdev, const char *prefix)
{
    struct topo_port p = {.object = -1, .hca = hca, .port = 1, .netdev = netdev, .subnet_prefix = prefix};
    p.layer = prefix ? TOPO_LINK_INFINIBAND : TOPO_LINK_ETHERNET;
    p.state = TOPO_STATE_ACTIVE;
    return build_port(t, &t->classes[0], p);
}

static void add_rail_netdev(struct topology *t, const char *name, const char *address)
{
    struct topo_netdev d = {.object = -1, .name = name};
    build_text(t, &d.addresses, &d.naddresses, "fe80::1/64");
    build_text(t, &d.addresses, &d.naddresses, address);
    build_netdev(t, &t->classes[0], d);
}

TEST_CASE(rails_by_network)
{
    struct topology *t = topo_new();
    struct rail *rails;
    build_class(t, NULL);
    add_rail_netdev(t, "eth0", "10.1.2.3/20");
    add_rail_netdev(t, "eth1", "10.1.15.9/20");
    add_rail_netdev(t, "eth2", "10.1.16.9/20");
    add_rail_netdev(t, "eth3", "nonsense");
    add_rail_port(t, "mlx5_0", "eth0", NULL);
    add_rail_port(t, "mlx5_1", "eth1", NULL);
    add_rail_port(t, "mlx5_2", "eth2", NULL);
    add_rail_port(t, "mlx5_3", "eth3", NULL);
    add_rail_port(t, "mlx5_4", NULL, NULL);
    int n = topo_rails(&t->classes[0], roles_of(&t->classes[0], t->arena), t->arena, &rails);
    assert_int_equal(n, 2);
    assert_string_equal(rails[0].network, "10.1.0.0/20");
    assert_int_equal(rails[0].nports, 2);
    assert_string_equal(rails[1].network, "10.1.16.0/20");
    assert_int_equal(rails[1].ports[0], 2);
    topo_free(t);
}

TEST_CASE(rails_by_subnet)
{
    struct topology *t = topo_new();
    struct rail *rails;
    build_class(t, NULL);
    add_rail_port(t, "mlx5_0", NULL, "0xfe80000000000000");
    add_rail_port(t, "mlx5_1", NULL, "0xfe80000000000001");
    int third = add_rail_port(t, "mlx5_2", NULL, "0xfe80000000000002");
    t->classes[0].ports[third].state = TOPO_STATE_DOWN;
    int n = topo_rails(&t->classes[0], roles_of(&t->classes[0], t->arena), t->arena, &rails);
    assert_int_equal(n, 2);
    assert_string_equal(rails[1].network, "0xfe80000000000001");
    topo_free(t);
}

TEST_CASES(test_roles)
