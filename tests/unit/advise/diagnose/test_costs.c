/* 2 × 8 A100, 4 HCAs of 8: an all-reduce of 210 ms where 85 are due, and what the diagnosis says of it. */
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define STEPS(ms)                                                       \
    "[Step 1] forward: 150ms | backward: 150ms | allreduce: " ms "ms\n" \
    "[Step 2] forward: 150ms | backward: 150ms | allreduce: " ms "ms\n"
#define SETTINGS                                                                             \
    "export NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3 NCCL_IB_GID_INDEX=3 NCCL_MIN_NRINGS=8\n" \
    "export NCCL_SOCKET_NTHREADS=4\n"
#define SOUND                                                                                          \
    "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB\n" \
    "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
#define NO_GDR                                                                                         \
    "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB\n" \
    "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n"

static struct topology *machine;
static struct workload *job;

static int set_up(void **state)
{
    struct err e = {0};
    machine = machine_topology("dgx-a100", 2, &e);
    job = workload_new();
    job->ranks = 16;
    job->ranks_per_node = 8;
    workload_add_call(job, workload_add_phase(job, "gradient sync"),
                      (struct workload_call){.kind = COLL_ALLREDUCE,
                                             .bytes = UINT64_C(256) << 20,
                                             .count = 15,
                                             .group_size = 16,
                                             .place = WORKLOAD_CLUSTER,
                                             .stride = 1,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
    return !machine;
}

static int tear_down(void **state)
{
    topo_free(machine);
    workload_free(job);
    return 0;
}

static const struct diag_result *judged(struct diagnosis *d, const struct workload *w)
{
    diagnose_expect(d, &(struct diag_expected){.topology = machine, .workload = w});
    return diagnose_finish(d);
}

static void expect_begin(const struct diag_result *r, const char *id, const char *begin)
{
    const struct diag_finding *f = finding_of(r, id);
    if (!f)
        fail_msg("%s is not found", id);
    else if (strncmp(f->text, begin, strlen(begin)) != 0)
        fail_msg("%s: %s", id, f->text);
}

TEST_CASE(candidates_for_210_ms)
{
    struct diagnosis *d = read_text(STEPS("210") SETTINGS);
    const struct diag_result *r = judged(d, job);
    assert_int_equal(r->verdict, DIAG_IS_COMMUNICATION);
    expect_begin(r, "more-than-predicted", "communication of a step takes 210.0 ms, and such a machine needs ");
    expect_begin(r, "slow-hca", "perhaps one slow NIC, such as ");
    assert_int_equal(finding_of(r, "slow-hca")->confidence, DIAG_POSSIBLE);
    assert_null(finding_of(r, "sockets")); /* which 210 ms exclude */
    assert_true(finding_of(r, "slow-hca")->weight < finding_of(r, "more-than-predicted")->weight);
    diagnose_free(d);
}

/* As long as it should take: nothing is suspected beyond what the verdict asks for. */
TEST_CASE(what_is_due_is_no_fault)
{
    struct diagnosis *d = read_text(STEPS("85") SETTINGS);
    const struct diag_result *r = judged(d, job);
    assert_null(finding_of(r, "more-than-predicted"));
    assert_null(finding_of(r, "no-gdr"));
    expect_begin(r, "as-predicted", "communication of a step takes 85.0 ms, and such a machine needs ");
    diagnose_free(d);
}

/* The log of NCCL knows. */
TEST_CASE(what_the_log_rules_out_or_proves)
{
    struct diagnosis *d = read_text(STEPS("210") SETTINGS SOUND);
    const struct diag_result *r = judged(d, job);
    assert_null(finding_of(r, "no-gdr"));
    assert_null(finding_of(r, "sockets"));
    assert_non_null(finding_of(r, "slow-hca"));
    diagnose_free(d);
    d = read_text(STEPS("210") SETTINGS NO_GDR);
    r = judged(d, job);
    expect_begin(r, "no-gdr", "1 of 1 RDMA connections go through host memory: no GPUDirect RDMA");
    assert_non_null(strstr(finding_of(r, "no-gdr")->text, "; by the model that makes communication "));
    assert_int_equal(finding_of(r, "no-gdr")->confidence, DIAG_MEASURED);
    diagnose_free(d);
}

TEST_CASE(without_a_workload_a_factor)
{
    struct diagnosis *d = read_text(STEPS("210") SETTINGS);
    const struct diag_result *r = judged(d, NULL);
    expect_begin(r, "no-gdr", "perhaps no GPUDirect RDMA: by the model that makes a large AllReduce ");
    assert_null(finding_of(r, "more-than-predicted"));
    diagnose_free(d);
}

TEST_CASE(without_a_topology_nothing)
{
    struct diagnosis *d = read_text(STEPS("210") SETTINGS);
    assert_null(finding_of(diagnose_finish(d), "slow-hca"));
    diagnose_free(d);
}

TEST_CASES_WITHIN(test_costs, set_up, tear_down)
