/* Settings from made-up fabrics: for all nodes, for classes of them, beside what was measured on GPUs. */
#include "envgen/decide/steps.h"
#include "envgen/generate/validate.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

static const char *const address[] = {"10.0.0.1/24"};

#define NET(n, k)                                                                    \
    {                                                                                \
        .name = (n), .object = -1, .kind = TOPO_NET_##k, .state = TOPO_STATE_ACTIVE, \
        .addresses = (const char **)address, .naddresses = 1                         \
    }
#define PORT(h)                                                                                      \
    {                                                                                                \
        .object = -1, .hca = (h), .port = 1, .state = TOPO_STATE_ACTIVE, .layer = TOPO_LINK_ETHERNET \
    }

static struct topo_netdev nets[] = {NET("eth0", PHYSICAL), NET("eth1", PHYSICAL)};
static struct topo_netdev others[] = {NET("eno1", PHYSICAL), NET("eno2", PHYSICAL)};
static struct topo_port mlx5[] = {PORT("mlx5_0"), PORT("mlx5_1"), PORT("mlx5_2")};
static struct topo_port bnxt[] = {PORT("bnxt_re0"), PORT("bnxt_re1"), PORT("bnxt_re2")};
static struct topo_class classes[] = {
    {.name = "a", .netdevs = nets, .nnetdevs = 2, .ports = mlx5, .nports = 3},
    {.name = "b", .netdevs = others, .nnetdevs = 2, .ports = bnxt, .nports = 3},
};
static struct topo_host hosts[] = {{.name = "n0.site.example", .class_index = 0}, {.name = "n1", .class_index = 1}};

static struct topology one_class = {.classes = classes, .nclasses = 1};
static struct topology two_classes = {.classes = classes, .nclasses = 2, .hosts = hosts, .nhosts = 2};

static int everything_bad(struct verbs_try t)
{
    (void)t;
    return 1;
}

static struct env_decisions *decide(const struct topology *t, struct verbs_fabric *f, const char *measured_hcas)
{
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    d->nccl_low = 22807;
    d->nccl_high = 22807;
    if (measured_hcas) {
        d->settings = ARENA_NEW(d->arena, struct env_setting);
        d->settings[0] = (struct env_setting){"nccl", "NCCL_IB_HCA", measured_hcas, "measured on GPUs", "faster", 0};
        d->nsettings = 1;
    }
    env_fabric(d, t, f);
    env_classes(d, t);
    env_validate(d, t);
    verbs_fabric_free(f);
    return d;
}

static const struct env_setting *find(const struct env_decisions *d, const char *name, const char *node_class)
{
    for (int i = 0; i < d->nsettings; i++) {
        const struct env_setting *s = &d->settings[i];
        if (!strcmp(s->name, name) &&
            (node_class ? s->node_class && !strcmp(s->node_class, node_class) : !s->node_class))
            return s;
    }
    return NULL;
}

static const char *value(const struct env_decisions *d, const char *name, const char *node_class)
{
    const struct env_setting *s = find(d, name, node_class);
    return s ? s->value : NULL;
}

TEST_CASE(all_well)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 3});
    add_interface(f, "eth0", 1);
    add_interface(f, "eth1", 1);
    struct env_decisions *d = decide(&one_class, f, NULL);
    for (int i = 0; i < d->nsettings; i++)
        assert_null(d->settings[i].value);
    assert_string_equal(find(d, "NCCL_IB_HCA", NULL)->why, "no port is left out: 30 of 30 tries between ports worked");
    assert_non_null(strstr(find(d, "NCCL_CROSS_NIC", NULL)->why, "12 tries between them worked"));
    assert_non_null(strstr(find(d, "NCCL_IB_GID_INDEX", NULL)->why, "NCCL's own choice works on every port"));
    assert_string_equal(find(d, "NCCL_SOCKET_IFNAME", NULL)->why, "NCCL's own choice, eth0,eth1, reaches every node");
    assert_string_equal(find(d, "NCCL_SOCKET_IFNAME", NULL)->source, ENV_SOURCE_FABRIC);
    env_decisions_free(d);
}

TEST_CASE(one_port)
{
    struct env_decisions *d =
        decide(&one_class, make(&(struct world){.nodes = 2, .rails = 3, .bad = port_1_0_bad}), NULL);
    assert_string_equal(value(d, "NCCL_IB_HCA", NULL), "=mlx5_1:1,mlx5_2:1");
    assert_non_null(strstr(find(d, "NCCL_IB_HCA", NULL)->why, "without mlx5_0:1: n1 mlx5_0:1, or its cable: 10 of 10"));
    env_decisions_free(d);
    /* Of three nodes the one with the dark port is to go, and the others keep all of theirs. */
    d = decide(&one_class, make(&(struct world){.nodes = 3, .rails = 3, .bad = port_1_0_bad}), NULL);
    assert_null(value(d, "NCCL_IB_HCA", NULL));
    assert_non_null(strstr(find(d, "NCCL_IB_HCA", NULL)->why, "better off without n1: n1 mlx5_0:1, or its cable"));
    env_decisions_free(d);
}

TEST_CASE(of_classes)
{
    static const char *const names[] = {"bnxt_re0:1", "bnxt_re1:1", "bnxt_re2:1"};
    static struct topo_host namesakes[] = {{.name = "n0.east", .class_index = 0},
                                           {.name = "n0.west", .class_index = 1}};
    for (int alike = 0; alike < 2; alike++) { /* the whole name of a node counts, where the hosts have it */
        struct topology t = two_classes;
        struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 3, .bad = port_1_0_bad});
        for (int r = 0; r < 3; r++)
            f->ports[3 + r].name = names[r];
        if (alike) {
            t.hosts = namesakes;
            f->names[0] = "n0.east";
            f->names[1] = "n0.west";
        }
        struct env_decisions *d = decide(&t, f, NULL);
        assert_null(value(d, "NCCL_IB_HCA", NULL));
        assert_string_equal(value(d, "NCCL_IB_HCA", "a"), "=mlx5_1:1,mlx5_2:1");
        assert_string_equal(value(d, "NCCL_IB_HCA", "b"), "=bnxt_re1:1,bnxt_re2:1");
        env_decisions_free(d);
    }
}

TEST_CASE(beside_gpus)
{
    /* A list that does without the bad port anyway, and one that does not. */
    struct env_decisions *d =
        decide(&one_class, make(&(struct world){.nodes = 2, .rails = 3, .bad = port_1_0_bad}), "=mlx5_2:1");
    assert_string_equal(value(d, "NCCL_IB_HCA", NULL), "=mlx5_2:1");
    assert_string_equal(find(d, "NCCL_IB_HCA", NULL)->source, "measured on GPUs");
    env_decisions_free(d);
    d = decide(&one_class, make(&(struct world){.nodes = 2, .rails = 3, .bad = port_1_0_bad}), "=mlx5_0:1,mlx5_1:1");
    assert_string_equal(value(d, "NCCL_IB_HCA", NULL), "=mlx5_1:1,mlx5_2:1");
    assert_string_equal(find(d, "NCCL_IB_HCA", NULL)->source, ENV_SOURCE_FABRIC);
    env_decisions_free(d);
}

TEST_CASE(nothing_connects)
{
    struct env_decisions *d =
        decide(&one_class, make(&(struct world){.nodes = 2, .rails = 3, .bad = everything_bad}), NULL);
    assert_string_equal(value(d, "NCCL_IB_DISABLE", NULL), "1");
    env_decisions_free(d);
}

TEST_CASE(interfaces)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 1});
    add_interface(f, "eth0", 1);
    add_interface(f, "eth1", 0);
    struct env_decisions *d = decide(&one_class, f, NULL);
    assert_string_equal(value(d, "NCCL_SOCKET_IFNAME", NULL), "=eth0");
    assert_string_equal(find(d, "NCCL_SOCKET_IFNAME", NULL)->why,
                        "eth0 reaches every node; NCCL by itself would also use eth1 (0 of 1 answer from n0)");
    env_decisions_free(d);
    /* Only on one node: it leads nowhere. */
    f = make(&(struct world){.nodes = 2, .rails = 1});
    add_interface(f, "eth0", 1);
    add_interface(f, "eth1", 1);
    f->ninterfaces--;
    d = decide(&one_class, f, NULL);
    assert_string_equal(value(d, "NCCL_SOCKET_IFNAME", NULL), "=eth0");
    env_decisions_free(d);
    /* Nothing leads anywhere: nothing is set, and it is said. */
    f = make(&(struct world){.nodes = 2, .rails = 1});
    add_interface(f, "eth0", 0);
    d = decide(&one_class, f, NULL);
    assert_null(value(d, "NCCL_SOCKET_IFNAME", NULL));
    assert_non_null(strstr(find(d, "NCCL_SOCKET_IFNAME", NULL)->why, "no interface reaches every node"));
    env_decisions_free(d);
}

TEST_CASES(test_fabric)
