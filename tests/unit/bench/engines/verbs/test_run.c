/* bench/engines/verbs/run.c: which ports of a topology are measured. */
#include "bench/engines/verbs/run.h"
#include "tests/lib/unit.h"

#define PORT(h, s)                                                                    \
    {                                                                                 \
        .hca = (h), .port = 1, .state = TOPO_STATE_##s, .layer = TOPO_LINK_INFINIBAND \
    }

static struct topo_port thick[] = {PORT("mlx5_0", ACTIVE), PORT("mlx5_1", DOWN), PORT("mlx5_2", ACTIVE),
                                   PORT("mlx5_3", ACTIVE)};
static struct topo_port thin[] = {PORT("bnxt_re0", ACTIVE), PORT("bnxt_re1", ACTIVE)};
static struct topo_class classes[] = {
    {.name = "thick", .ports = thick, .nports = 4}, {.name = "thin", .ports = thin, .nports = 2}, {.name = "bare"}};

TEST_CASE(ports)
{
    struct arena *a = arena_new();
    struct topology t = {.classes = classes, .nclasses = 1};
    assert_string_equal(verbs_ports_of(&t, a), "mlx5_0:1,mlx5_2:1,mlx5_3:1");
    t.nclasses = 2; /* every port, whatever the other class has */
    assert_string_equal(verbs_ports_of(&t, a), "mlx5_0:1,mlx5_2:1,mlx5_3:1/bnxt_re0:1,bnxt_re1:1");
    t.nclasses = 3;
    assert_string_equal(verbs_ports_of(&t, a), "mlx5_0:1,mlx5_2:1,mlx5_3:1/bnxt_re0:1,bnxt_re1:1/-");
    t.classes = classes + 2;
    t.nclasses = 1;
    assert_string_equal(verbs_ports_of(&t, a), "-");
    assert_string_equal(verbs_ports_of(NULL, a), "-");
    arena_free(a);
}

TEST_CASE(worth)
{
    struct topology t = {.classes = classes, .nclasses = 1};
    struct bench_setup s = {.topology = &t, .mpirun = "true"};
    unsetenv("SLURM_JOB_NUM_NODES");
    unsetenv("SLURM_NNODES");
    assert_true(verbs_worth(&s));
    t.classes = classes + 2;
    assert_false(verbs_worth(&s));
    s.hosts = "n0,n1";
    assert_true(verbs_worth(&s));
    s.hosts = "n0,,n1";
    assert_false(verbs_worth(&s));
}

TEST_CASES(test_run)
