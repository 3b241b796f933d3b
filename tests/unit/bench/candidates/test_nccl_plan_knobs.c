/* Which variables are tried where: every row of the table on a machine that it is for, and on none that it is not. */
#include "bench/candidates/candidates.h"
#include "core/coll.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static struct bench_setup setup;

static int lists(int nodes, const char *label)
{
    struct arena *a = arena_new();
    struct bench_plan p = {0};
    int found = 0;
    nccl_plan_launches(&setup, nodes, &p, a);
    for (int i = 0; i < p.nlaunches; i++)
        found += !strcmp(p.launches[i].label, label);
    arena_free(a);
    assert_true(found <= 1);
    return found;
}

/* Whether the row is tried on `nodes` of a bundled machine, under a release (0: unknown). */
static int tried(const char *machine, const char *label, int nodes, int release)
{
    struct err e = {0};
    struct topology *t = machine ? machine_topology(machine, nodes, &e) : NULL;
    assert_true(!machine || t);
    setup.topology = t;
    setup.nccl_version = release;
    int found = lists(nodes, label);
    topo_free(t);
    return found;
}

TEST_CASE(by_machine)
{
    static const struct {
        const char *label, *on, *not_on;
    } rows[] = {
        {"crossnic=0", "dgx-h100", NULL},          {"pxn=off", "dgx-h100", "mi300x"},
        {"nvls=off", "dgx-h100", "mi300x"},        {"ar=off", "dgx-h100", "oci-h100"},
        {"ar=on", "oci-h100", "dgx-h100"},         {"relaxed=off", "azure-ndv5", "dgx-h100"},
        {"relaxed=on", "azure-ndv5", "oci-h100"},  {"tc=41", "oci-h100", "gcp-a3-ultra"},
        {"tc=52", "gcp-a3-ultra", "oci-h100"},     {"gdr-c2c=off", "gb200-nvl72", "dgx-h100"},
        {"nvls-channels=8", "dgx-h100", "4x4090"}, {"cumem-host=off", "8xl40s", "dgx-h100"},
        {"ofi-eager=off", "aws-p5", "dgx-h100"},   {"ofi-stripe=1M", "aws-p5", "azure-ndv5"},
        {"pxn=on", "mi300x", "dgx-h100"},          {"channels>=112", "mi300x", "mi250x"},
        {"scratch=kept", "mi250x", "dgx-h100"},    {"msccl=off", "mi300x", "dgx-h100"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tried(rows[i].on, rows[i].label, 4, 0))
            fail_msg("%s is not tried on %s", rows[i].label, rows[i].on);
        if (rows[i].not_on && tried(rows[i].not_on, rows[i].label, 4, 0))
            fail_msg("%s is tried on %s", rows[i].label, rows[i].not_on);
    }
}

/* Inside a node and over sockets the network's are no use. */
TEST_CASE(by_place)
{
    assert_true(tried("dgx-h100", "nvls-channels=8", 1, 0) && tried("8xl40s", "cumem-host=off", 1, 0));
    assert_false(tried("dgx-h100", "ar=off", 1, 0) || tried("dgx-h100", "socket=4x1", 4, 0));
    assert_true(tried("gcp-a3-high", "socket=4x1", 4, 0));
    assert_true(tried(NULL, "ctas<=8", 1, 0) && tried(NULL, "nvls=off", 1, 0));
    assert_false(tried(NULL, "nvls-channels=8", 1, 0) || tried(NULL, "scratch=kept", 1, 0));
}

/* What a release does by itself, and what it does not read, is no launch. */
TEST_CASE(by_release)
{
    assert_true(tried("gb200-nvl72", "gdr-c2c=on", 4, 22605));
    assert_false(tried("gb200-nvl72", "gdr-c2c=off", 4, 22605));
    assert_true(tried("gb200-nvl72", "gdr-c2c=off", 4, 22707));
    assert_false(tried("gb200-nvl72", "gdr-c2c=on", 4, 22707));
    assert_false(tried("8xl40s", "cumem-host=off", 1, 22005));
    assert_true(tried("8xl40s", "cumem-host=off", 1, 22809));
    assert_false(tried("dgx-h100", "ar=off", 4, 21403));
}

TEST_CASE(by_collective_and_environment)
{
    assert_false(tried("dgx-h100", "peer-channels=4", 4, 0));
    setup.collectives = 1u << COLL_ALLREDUCE | 1u << COLL_ALLTOALL;
    assert_true(tried("dgx-h100", "peer-channels=4", 4, 0) && tried("dgx-h100", "p2p-chunk=512K", 4, 0));
    assert_false(tried("dgx-h100", "p2p-chunk=512K", 1, 0));
    setenv("NCCL_P2P_NET_CHUNKSIZE", "262144", 1);
    assert_false(tried("dgx-h100", "p2p-chunk=512K", 4, 0));
    unsetenv("NCCL_P2P_NET_CHUNKSIZE");
    setup.collectives = 0;
}

/* A rack's hosts tell their clique. */
TEST_CASE(racks)
{
    struct topo_host hosts[2] = {{.name = "a", .clique = "c.1"}, {.name = "b", .clique = "c.1"}};
    struct topo_port port = {.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .object = -1};
    struct topo_class c = {.name = "class0", .ports = &port, .nports = 1};
    struct topology t = {.classes = &c, .nclasses = 1, .hosts = hosts, .nhosts = 2};
    setup = (struct bench_setup){.topology = &t};
    assert_true(lists(2, "mnnvl=off"));
    assert_false(tried("dgx-h100", "mnnvl=off", 4, 0));
}

TEST_CASES(test_nccl_plan_knobs)
