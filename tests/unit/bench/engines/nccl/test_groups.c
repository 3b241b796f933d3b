/* Groups of ranks inside live workers: who is in which, laws of their own, contention, what goes wrong. Four GPUs. */
#include "tests/unit/bench/engines/nccl/shoot.h"

#define MB ((uint64_t)1 << 20)

static const char grouped[] = "channels 8\n"
                              "cache 1000000 1\n"
                              "cell allreduce ring simple latency=30 GBps=100\n"
                              "cell allreduce tree simple latency=20 GBps=50\n"
                              "cell allreduce tree ll latency=90 GBps=10\n" /* nobody's own choice */
                              "cell allreduce ring simple latency=10 GBps=40 nodes=1 ranks=2\n"
                              "cell allreduce tree simple latency=9 GBps=80 nodes=1 ranks=2\n"
                              "cell allreduce ring simple latency=50 GBps=20 nodes=2 ranks=2\n"
                              "cell allgather ring simple latency=20 GBps=80\n"
                              "cell reducescatter ring simple latency=20 GBps=80\n"
                              "cell broadcast ring simple latency=15 GBps=80\n"
                              "cell reduce ring simple latency=15 GBps=80\n"
                              "cell alltoall ring simple latency=25 GBps=60\n"
                              "cell sendrecv ring simple latency=9 GBps=40\n"
                              "beside tree 0.5\n";

static int begin(void **state)
{
    return doubles_begin(grouped, "4");
}

static struct answer group_shoot(struct bench_session *s, struct bench_shape of, int coll, const char *label)
{
    shape = of;
    struct answer a = shoot(s, coll, MB, label, 10);
    shape = (struct bench_shape){0};
    return a;
}

static double group_us(struct bench_session *s, struct bench_shape of, int coll, const char *label)
{
    struct answer a = group_shoot(s, of, coll, label);
    if (a.outcome != BENCH_ANSWERED || a.status != BENCH_OK)
        fail_msg("%s", a.detail);
    return a.us;
}

static const double mb = (1 << 20) / 1e3;
static const struct bench_shape whole = {1, 4, 0}, pairs = {1, 2, 1}, pair = {1, 2, 0}, three = {1, 3, 0};

/* Back and forth in one session: the plugin steers whichever communicator calls. Data is checked each time. */
TEST_CASE(each_shape_has_its_law)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(s->ranks, 4);
    for (int i = 0; i < 2; i++) {
        assert_about(group_us(s, whole, COLL_ALLREDUCE, "ring/simple"), 30 + mb / 100);
        assert_about(group_us(s, pairs, COLL_ALLREDUCE, "ring/simple"), 10 + mb / 40);
        assert_about(group_us(s, pair, COLL_ALLREDUCE, "ring/simple"), 10 + mb / 40);
        assert_about(group_us(s, three, COLL_ALLREDUCE, "ring/simple"), 30 + mb / 100);
    }
    bench_engine_nccl.measures->close(s, 0);
}

/* Tree is the faster one for a pair alone; two pairs at once are in one another's way, which no cost table tells. */
TEST_CASE(groups_at_once_contend)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_about(group_us(s, pair, COLL_ALLREDUCE, "tree/simple"), 9 + mb / 80);
    assert_about(group_us(s, pairs, COLL_ALLREDUCE, "tree/simple"), 1.5 * (9 + mb / 80));
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(every_collective_in_groups)
{
    static const int colls[] = {COLL_BROADCAST, COLL_REDUCE,   COLL_ALLGATHER, COLL_REDUCESCATTER,
                                COLL_ALLTOALL,  COLL_SENDRECV, COLL_ALLTOALLV};
    static const double us[] = {15 + (1 << 20) / 80e3,      15 + (1 << 20) / 80e3, 20 + (1 << 20) / 80e3,
                                20 + (1 << 20) / 80e3,      25 + (1 << 20) / 60e3, 9 + (1 << 20) / 40e3,
                                25 + 1.5 * (1 << 20) / 60e3};
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 7; i++)
        assert_about(group_us(s, pairs, colls[i], BENCH_DEFAULT), us[i]);
    bench_engine_nccl.measures->close(s, 0);
}

/* Ranks that count as nodes: pairs of nodes, one rank each. What NCCL tables is that of the group. */
TEST_CASE(groups_across_nodes)
{
    static volatile sig_atomic_t stop;
    own.share_gpus = 1;
    setup.ranks_per_node = 4;
    struct bench_session *s = open_with_fault("");
    const struct bench_shape rails = {2, 2, 1};
    const struct known_place at = {.coll = COLL_ALLREDUCE, .bytes = MB, .nodes = 2, .ranks = 2, .others = 1};
    assert_int_equal(s->nodes, 4);
    assert_about(group_us(s, rails, COLL_ALLREDUCE, "ring/simple"), 50 + mb / 20);
    assert_about(bench_engine_nccl.measures->expect_us(s, &at, call_named(COLL_ALLREDUCE, "ring/simple"), &stop),
                 50 + mb / 20);
    bench_engine_nccl.measures->close(s, 0);
}

/* Wrong data in one group of several, a rank that dies in one, a split that NCCL refuses. */
TEST_CASE(what_goes_wrong_in_one_group)
{
    struct bench_session *s = open_with_fault("wrong rank=3 algo=tree");
    struct answer a = group_shoot(s, pairs, COLL_ALLREDUCE, "tree/simple");
    assert_int_equal(a.status, BENCH_WRONG);
    assert_non_null(strstr(a.detail, "rank 1 of group 1 (rank 3 of all)"));
    assert_about(group_us(s, pairs, COLL_ALLREDUCE, "ring/simple"), 10 + mb / 40);
    bench_engine_nccl.measures->close(s, 0);
    s = open_with_fault("crash rank=2 proto=ll");
    a = group_shoot(s, pairs, COLL_ALLREDUCE, "tree/ll");
    assert_int_equal(a.outcome, BENCH_DIED);
    assert_non_null(strstr(a.detail, "rank 2"));
    bench_engine_nccl.measures->close(s, 1);
    s = open_with_fault("error-init after=1");
    a = group_shoot(s, pairs, COLL_ALLREDUCE, "tree/ll");
    assert_int_equal(a.outcome, BENCH_ANSWERED);
    assert_int_equal(a.status, BENCH_FAILED);
    assert_non_null(strstr(a.detail, "cannot split groups off"));
    assert_about(group_us(s, whole, COLL_ALLREDUCE, "ring/simple"), 30 + mb / 100);
    bench_engine_nccl.measures->close(s, 0);
}

/* One group is not offered what the other is: nobody waits for ever. */
TEST_CASE(one_group_is_refused)
{
    struct bench_session *s = open_with_fault("withhold rank=2 proto=ll;withhold rank=3 proto=ll");
    struct answer a = group_shoot(s, pairs, COLL_ALLREDUCE, "tree/ll");
    assert_int_equal(a.outcome, BENCH_ANSWERED);
    assert_int_equal(a.status, BENCH_FAILED);
    assert_about(group_us(s, pair, COLL_ALLREDUCE, "tree/ll"), 90 + mb / 10);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(communicators_that_do_not_block)
{
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_about(group_us(s, pairs, COLL_ALLREDUCE, "ring/simple"), 10 + mb / 40);
    bench_engine_nccl.measures->close(s, 0);
    unsetenv("NCCL_COMM_BLOCKING");
}

TEST_GROUP(test_groups, make_plan, drop_plan, begin, remove_law)
