/* Nodes that are not alike: no setting is a lie for one of them. */
#include "envgen/decide/steps.h"
#include "tests/lib/unit.h"

static const char *const address[] = {"10.0.0.1/24"};

#define NET(n, k)                                                                                           \
    {                                                                                                       \
        .name = (n), .kind = TOPO_NET_##k, .state = TOPO_STATE_ACTIVE, .addresses = (const char **)address, \
        .naddresses = 1                                                                                     \
    }

static struct topo_netdev one[] = {NET("eth0", PHYSICAL), NET("cni0", BRIDGE)};
static struct topo_netdev two[] = {NET("eno1", PHYSICAL), NET("cni0", BRIDGE)};
static struct topo_netdev plain[] = {NET("eth9", PHYSICAL)};
static struct topo_port old[] = {{.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE}};
static struct topo_port more[] = {{.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE},
                                  {.hca = "mlx5_1", .port = 1, .state = TOPO_STATE_ACTIVE}};
static struct topo_class classes[] = {
    {.name = "a", .netdevs = one, .nnetdevs = 2, .ports = old, .nports = 1},
    {.name = "b", .netdevs = two, .nnetdevs = 2, .ports = more, .nports = 2},
    {.name = "c", .netdevs = plain, .nnetdevs = 1},
};

static struct env_decisions *decide(const char *hcas, int nclasses)
{
    struct topology t = {.classes = classes, .nclasses = nclasses};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    if (hcas) {
        d->settings = ARENA_NEW(d->arena, struct env_setting);
        d->settings[0] = (struct env_setting){"nccl", "NCCL_IB_HCA", hcas, "measured on GPUs", "faster", 0};
        d->nsettings = 1;
    }
    env_classes(d, &t);
    return d;
}

/* The value that a node of a class gets, NULL none. */
static const char *value(const struct env_decisions *d, const char *name, const char *node_class)
{
    for (int i = 0; i < d->nsettings; i++) {
        const struct env_setting *s = &d->settings[i];
        if (s->value && !strcmp(s->name, name) && (!s->node_class || !strcmp(s->node_class, node_class)))
            return s->value;
    }
    return NULL;
}

TEST_CASE(interfaces_by_class)
{
    struct env_decisions *d = decide(NULL, 3);
    assert_string_equal(value(d, "NCCL_SOCKET_IFNAME", "a"), "=eth0");
    assert_string_equal(value(d, "NCCL_SOCKET_IFNAME", "b"), "=eno1");
    assert_null(value(d, "NCCL_SOCKET_IFNAME", "c")); /* NCCL's own choice is right there */
    assert_null(value(d, "NCCL_SOCKET_IFNAME", "d"));
    assert_non_null(strstr(d->settings[0].why, "nccl.d/"));
    env_decisions_free(d);
    d = decide(NULL, 1);
    assert_int_equal(d->nsettings, 1);
    assert_null(d->settings[0].node_class);
    env_decisions_free(d);
}

TEST_CASE(hcas_by_class)
{
    struct env_decisions *d = decide("=mlx5_0:1,mlx5_1:1", 2);
    assert_null(value(d, "NCCL_IB_HCA", "a"));
    assert_string_equal(value(d, "NCCL_IB_HCA", "b"), "=mlx5_0:1,mlx5_1:1");
    env_decisions_free(d);
    d = decide("=mlx5_0:1", 2);
    assert_string_equal(value(d, "NCCL_IB_HCA", "a"), "=mlx5_0:1");
    assert_null(d->settings[0].node_class);
    env_decisions_free(d);
    d = decide("^mlx5_1", 2); /* what a class does not have it need not leave out */
    assert_string_equal(value(d, "NCCL_IB_HCA", "a"), "^mlx5_1");
    env_decisions_free(d);
}

TEST_CASES(test_classes)
