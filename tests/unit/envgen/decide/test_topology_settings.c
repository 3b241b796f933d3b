/* NCCL_SOCKET_IFNAME: written where NCCL's own choice is wrong, left alone everywhere else. */
#include "envgen/decide/steps.h"
#include "tests/lib/unit.h"

static const char *const address[] = {"10.0.0.1/24"};

#define NET(n, k)                                                                                           \
    {                                                                                                       \
        .name = (n), .kind = TOPO_NET_##k, .state = TOPO_STATE_ACTIVE, .addresses = (const char **)address, \
        .naddresses = 1                                                                                     \
    }
#define DOWN(n)                                                                                                \
    {                                                                                                          \
        .name = (n), .kind = TOPO_NET_PHYSICAL, .state = TOPO_STATE_DOWN, .addresses = (const char **)address, \
        .naddresses = 1                                                                                        \
    }
#define PORT(n, k, m)                                                                \
    {                                                                                \
        .name = (n), .kind = TOPO_NET_##k, .state = TOPO_STATE_ACTIVE, .master = (m) \
    }
#define LO NET("lo", LOOPBACK)

struct machine {
    struct topo_netdev devs[6];
    const char *expected; /* NULL: nothing is written */
    const char *why;      /* a part of the reason */
};

static const struct machine machines[] = {
    /* NCCL's choice is right */
    {{LO, NET("eth0", PHYSICAL)}, NULL, "eth0"},
    {{LO, NET("eth0", VIRTUAL)}, NULL, "eth0"},
    {{LO, NET("eth0", PHYSICAL), NET("docker0", BRIDGE), NET("virbr0", BRIDGE)}, NULL, "eth0"},
    {{LO, NET("eth0", PHYSICAL), NET("eth1", PHYSICAL)}, NULL, "measurements"},
    {{LO, NET("ib0", PHYSICAL), NET("cni0", BRIDGE)}, NULL, "ib0"}, /* ib* comes first, cni0 is not looked at */
    {{LO, NET("bond0", BOND), PORT("eth0", PHYSICAL, "bond0")}, NULL, "bond0"},
    {{LO, NET("br0", BRIDGE), PORT("eth0", PHYSICAL, "br0")}, NULL, "br0"},
    {{LO, NET("eth0", PHYSICAL), PORT("veth12", VIRTUAL, "docker0")}, NULL, "eth0"}, /* no address: not taken */
    /* NCCL would take something that leads nowhere */
    {{LO, NET("eth0", PHYSICAL), NET("cni0", BRIDGE)}, "=eth0", "cni0 (Kubernetes)"},
    {{LO, NET("eth0", PHYSICAL), NET("br-1f2e", BRIDGE)}, "=eth0", "br-1f2e"},
    {{LO, NET("eth0", PHYSICAL), NET("flannel.1", VIRTUAL)}, "=eth0", "flannel.1"},
    {{LO, NET("eth0", PHYSICAL), NET("lab", BRIDGE)}, "=eth0", "a bridge without a NIC"},
    {{LO, NET("eth0", PHYSICAL), NET("eth1", PHYSICAL), NET("tun0", VIRTUAL)}, "=eth0,eth1", "tun0"},
    {{LO, NET("br0", BRIDGE), PORT("eth0", PHYSICAL, "br0"), NET("podman0", BRIDGE)}, "=br0", "podman0"},
    /* nothing that could be named */
    {{LO}, NULL, "no interface leads off"},
    {{LO, NET("cni0", BRIDGE)}, NULL, "no interface leads off"},
    {{DOWN("eth0")}, NULL, "no running"},
    {{{0}}, NULL, "no running"},
    /* names that NCCL would split, or a shell would run */
    {{LO, NET("eth0,eth1", PHYSICAL), NET("cni0", BRIDGE)}, NULL, "cannot be written"},
    {{LO, NET("$(reboot)", PHYSICAL), NET("cni0", BRIDGE)}, NULL, "cannot be written"},
    {{LO, NET("e'th\n0", PHYSICAL), NET("cni0", BRIDGE)}, NULL, "cannot be written"},
    {{LO, NET("^eth0", PHYSICAL), NET("cni0", BRIDGE)}, NULL, "cannot be written"},
};

static struct topo_class class_of(const struct machine *m)
{
    struct topo_class c = {.name = "class0", .netdevs = (struct topo_netdev *)m->devs};
    while (c.nnetdevs < 6 && m->devs[c.nnetdevs].name)
        c.nnetdevs++;
    return c;
}

TEST_CASE(every_machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct arena *a = arena_new();
        struct topo_class c = class_of(&machines[i]);
        struct env_setting s = env_socket_ifname(&c, a);
        assert_string_equal(s.name, "NCCL_SOCKET_IFNAME");
        assert_string_equal(s.source, "topology");
        if (machines[i].expected) {
            assert_non_null(s.value);
            assert_string_equal(s.value, machines[i].expected);
        } else {
            assert_null(s.value);
        }
        assert_non_null(strstr(s.why, machines[i].why));
        arena_free(a);
    }
}

TEST_CASES(test_topology_settings)
