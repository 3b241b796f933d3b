/* The nccl engine over the doubles of NCCL and the GPU driver: real processes, real pipes, a law that says what is
 * fast, and faults that the double commits on request. */
#include "tests/unit/bench/engines/nccl/shoot.h"

/* ---- what works ---- */

TEST_CASE(plan_says_what_is_there)
{
    assert_string_equal(plan.library, "NCCL 2.30.7");
    assert_string_equal(plan.launches[0].label, BENCH_DEFAULT);
    assert_string_equal(plan.calls[0].knobs.label, BENCH_DEFAULT);
}

TEST_CASE(every_collective_is_measured_and_right)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(s->nodes, 1);
    assert_int_equal(s->ranks, RANKS);
    static const uint64_t sizes[] = {5, 24, 1 << 12, 3 << 20};
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct answer a = shoot(s, coll, sizes[i], BENCH_DEFAULT, 10);
            assert_int_equal(a.outcome, BENCH_ANSWERED);
            if (a.status != BENCH_OK)
                fail_msg("%s, %d bytes: %s", coll_name(coll), (int)sizes[i], a.detail);
            assert_int_equal(a.samples, 2);
        }
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(times_are_those_of_the_law)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    uint64_t bytes = 3 << 20;
    double mb = (double)bytes / 1e3;
    assert_about(shoot(s, COLL_ALLREDUCE, bytes, "tree/simple", 10).us, 20 + mb / 50);
    assert_about(shoot(s, COLL_ALLREDUCE, bytes, "ring/simple", 10).us, 30 + mb / 100);
    assert_about(shoot(s, COLL_ALLREDUCE, bytes, "ring/simple/2ch", 10).us, 30 + mb / 40);
    assert_about(shoot(s, COLL_ALLREDUCE, 3 << 10, "tree/ll", 10).us, 8 + 3.072 / 10);
    /* NCCL's own choice is the cheapest prediction: ring for the large one, and not tree/ll, which it mispredicts. */
    assert_about(shoot(s, COLL_ALLREDUCE, bytes, BENCH_DEFAULT, 10).us, 30 + mb / 100);
    assert_about(shoot(s, COLL_ALLREDUCE, 3 << 10, BENCH_DEFAULT, 10).us, 20 + 3.072 / 50);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(predictions_are_read_back)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    static volatile sig_atomic_t stop;
    const struct bench_measure_ops *n = bench_engine_nccl.measures;
    const struct known_place at = {.coll = COLL_ALLREDUCE, .bytes = 3 << 10, .nodes = s->nodes, .ranks = s->ranks};
    assert_about(n->expect_us(s, &at, call_named(COLL_ALLREDUCE, "tree/ll"), &stop), 3 * (8 + 3.072 / 10));
    assert_about(n->expect_us(s, &at, call_named(COLL_ALLREDUCE, "tree/simple"), &stop), 20 + 3.072 / 50);
    assert_true(n->expect_us(s, &at, call_named(COLL_ALLREDUCE, "ring/ll128"), &stop) < 0);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(launch_settings_reach_the_workers)
{
    struct bench_session *s = must_open("buffer=8M");
    assert_about(shoot(s, COLL_BROADCAST, 1 << 12, BENCH_DEFAULT, 10).us, (15 + 4.096 / 80) / 2);
    bench_engine_nccl.measures->close(s, 0);
    s = must_open(BENCH_DEFAULT);
    assert_about(shoot(s, COLL_BROADCAST, 1 << 12, BENCH_DEFAULT, 10).us, 15 + 4.096 / 80);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(older_interfaces_are_steered_too)
{
    static const char *const versions[] = {"22203", "22403", "22809"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        setenv("NCCL_DOUBLE_VERSION", versions[i], 1);
        bench_engine_nccl.measures->finish(&plan); /* agents keep the environment that they were started in */
        assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
        struct bench_session *s = must_open(BENCH_DEFAULT);
        assert_about(shoot(s, COLL_ALLREDUCE, 3 << 10, "tree/ll", 10).us, 8 + 3.072 / 10);
        bench_engine_nccl.measures->close(s, 0);
    }
    unsetenv("NCCL_DOUBLE_VERSION");
}

/* In a graph the launch of each call is not paid: the host is no longer what limits small ones. */
TEST_CASE(calls_go_into_graphs)
{
    bench_engine_nccl.measures->finish(&plan);
    assert_int_equal(doubles_begin(arena_printf(arena, "%slaunch 40\n", law), "3"), 0);
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    struct bench_session *plain = must_open(BENCH_DEFAULT);
    assert_about(shoot(plain, COLL_ALLREDUCE, 3 << 10, "tree/ll", 10).us, 40);
    bench_engine_nccl.measures->close(plain, 0);
    bench_engine_nccl.measures->finish(&plan);
    own.graphs = 1;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    own.graphs = 0;
    assert_string_equal(plan.library, "NCCL 2.30.7");
    assert_int_equal(plan.buffers, BENCH_GRAPH);
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        assert_int_equal(shoot(s, coll, 3 << 10, BENCH_DEFAULT, 10).status, BENCH_OK);
    assert_about(shoot(s, COLL_ALLREDUCE, 3 << 10, "tree/ll", 10).us, 8 + 3.072 / 10);
    assert_about(shoot(s, COLL_ALLTOALL, 3 << 10, BENCH_DEFAULT, 10).us, 25 + 3.072 / 60);
    assert_about(shoot(s, COLL_ALLREDUCE, 3 << 20, "tree/simple", 10).us, 20 + (3 << 20) / 50e3);
    bench_engine_nccl.measures->close(s, 0);
    assert_int_equal(doubles_begin(law, "3"), 0);
}

TEST_CASE(rccl_is_the_same)
{
    struct arena *a = arena_new();
    bench_engine_nccl.measures->finish(&plan);
    own.library = arena_printf(a, "%s/librccl.so.1", getenv("LD_LIBRARY_PATH"));
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    assert_string_equal(plan.library, "NCCL 2.30.7 (RCCL)");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(shoot(s, COLL_ALLREDUCE, 1 << 12, "ring/simple", 10).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 0);
    arena_free(a);
}

/* ---- what goes wrong ---- */

/* After a death the next launch works. */
static void assert_alive_again(void)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(shoot(s, COLL_ALLREDUCE, 1 << 12, "ring/simple", 10).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(a_hang_costs_its_deadline)
{
    struct bench_session *s = open_with_fault("hang rank=1 algo=tree proto=ll");
    double began = progress_now_s();
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "tree/ll", 1);
    double took = progress_now_s() - began;
    assert_int_equal(a.outcome, BENCH_SILENT);
    assert_non_null(strstr(a.detail, "no answer in time from rank"));
    assert_true(took < 3);
    bench_engine_nccl.measures->close(s, 1);
    assert_alive_again();
}

TEST_CASE(a_crash_is_told_with_rank_and_signal)
{
    struct bench_session *s = open_with_fault("crash rank=2 algo=tree proto=ll");
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "tree/ll", 20);
    assert_int_equal(a.outcome, BENCH_DIED);
    assert_non_null(strstr(a.detail, "rank 2"));
    assert_non_null(strstr(a.detail, "Abort"));
    bench_engine_nccl.measures->close(s, 1);
    assert_alive_again();
}

TEST_CASE(wrong_data_is_noticed)
{
    struct bench_session *s = open_with_fault("wrong rank=1 algo=tree proto=ll");
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "tree/ll", 20);
    assert_int_equal(a.outcome, BENCH_ANSWERED);
    assert_int_equal(a.status, BENCH_WRONG);
    assert_non_null(strstr(a.detail, "rank 1: element"));
    assert_int_equal(a.samples, 1);
    assert_int_equal(shoot(s, COLL_ALLREDUCE, 1 << 12, "ring/simple", 20).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(the_slowest_rank_counts)
{
    struct bench_session *s = open_with_fault("slow rank=2 factor=4 algo=tree proto=ll");
    assert_about(shoot(s, COLL_ALLREDUCE, 3 << 10, "tree/ll", 20).us, 4 * (8 + 3.072 / 10));
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(an_error_brings_its_warning)
{
    struct bench_session *s = open_with_fault("error rank=1 algo=tree proto=ll");
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "tree/ll", 20);
    assert_int_equal(a.outcome, BENCH_DIED);
    assert_non_null(strstr(a.detail, "completion with error 12"));
    bench_engine_nccl.measures->close(s, 1);
    assert_alive_again();
}

TEST_CASE(an_asynchronous_error_ends_the_wait)
{
    struct bench_session *s = open_with_fault("async-error rank=0 algo=tree proto=ll");
    double began = progress_now_s();
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "tree/ll", 60);
    assert_int_equal(a.outcome, BENCH_DIED);
    assert_non_null(strstr(a.detail, "port error"));
    assert_true(progress_now_s() - began < 10);
    bench_engine_nccl.measures->close(s, 1);
}

TEST_CASE(an_error_at_init_names_the_reason)
{
    struct err e = {0};
    struct bench_session *s = open_with_fault("error-init rank=0 env=NCCL_BUFFSIZE=8388608");
    bench_engine_nccl.measures->close(s, 0);
    assert_null(open_launch("buffer=8M", &e));
    assert_non_null(strstr(e.text, "no device found for the HCAs"));
    assert_alive_again();
}

TEST_CASE(a_hang_at_init_is_not_waited_for)
{
    struct err e = {0};
    bench_engine_nccl.measures->close(open_with_fault("hang-init rank=1 env=NCCL_BUFFSIZE=8388608"), 0);
    double began = progress_now_s();
    assert_null(open_launch("buffer=8M", &e));
    assert_true(progress_now_s() - began < 40); /* a start may take 60 */
    assert_non_null(strstr(e.text, "no answer in time"));
    assert_alive_again();
}

TEST_CASE(memory_that_is_not_there_is_no_death)
{
    setenv("DRIVER_DOUBLE_BYTES", "8000000", 1);
    struct bench_session *s = open_with_fault("");
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 24, BENCH_DEFAULT, 10);
    unsetenv("DRIVER_DOUBLE_BYTES");
    assert_int_equal(a.outcome, BENCH_ANSWERED);
    assert_int_equal(a.status, BENCH_FAILED);
    assert_non_null(strstr(a.detail, "out of memory"));
    assert_int_equal(shoot(s, COLL_ALLREDUCE, 1 << 12, BENCH_DEFAULT, 10).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(what_is_not_offered_is_refused)
{
    struct bench_session *s = must_open(BENCH_DEFAULT);
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, "ring/ll128", 10);
    assert_int_equal(a.status, BENCH_FAILED);
    assert_non_null(strstr(a.detail, "does not offer ring with ll128"));
    bench_engine_nccl.measures->close(s, 0);
}

/* Sooner or later one rank would choose what the others do not, and hang. */
TEST_CASE(ranks_that_are_offered_different_things_fail)
{
    struct bench_session *s = open_with_fault("withhold rank=2 algo=tree proto=ll");
    struct answer a = shoot(s, COLL_ALLREDUCE, 1 << 12, BENCH_DEFAULT, 10);
    assert_int_equal(a.outcome, BENCH_ANSWERED);
    assert_int_equal(a.status, BENCH_FAILED);
    assert_non_null(strstr(a.detail, "ranks 0 and 2 are offered different choices"));
    assert_int_equal(shoot(s, COLL_ALLGATHER, 3 << 10, BENCH_DEFAULT, 10).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(a_release_without_tuner_plugins_is_said)
{
    struct err e = {0};
    setenv("NCCL_DOUBLE_VERSION", "21806", 1);
    bench_engine_nccl.measures->finish(&plan);
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    assert_null(open_launch(BENCH_DEFAULT, &e));
    unsetenv("NCCL_DOUBLE_VERSION");
    assert_non_null(strstr(e.text, "NCCL 2.18.6"));
    assert_non_null(strstr(e.text, "did not load the tuner plugin"));
    assert_non_null(strstr(e.text, "from 2.19 on"));
}

/* Of two values of a variable the first one counts: a worker must not get both. */
TEST_CASE(a_shared_gpu_has_its_own_host_id)
{
    setenv("NCCL_HOSTID", "everywhere", 1);
    bench_engine_nccl.measures->finish(&plan);
    setup.ranks_per_node = 2;
    own.share_gpus = 1;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    struct bench_session *s = must_open(BENCH_DEFAULT);
    unsetenv("NCCL_HOSTID");
    assert_int_equal(s->nodes, 2);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(more_ranks_than_gpus_is_said)
{
    struct err e = {0};
    bench_engine_nccl.measures->finish(&plan);
    setup.ranks_per_node = 5;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "3 GPUs for 5 ranks"));
    own.share_gpus = 1;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), 0);
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(s->ranks, 5);
    assert_int_equal(s->nodes, 5); /* each counts as a node */
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(a_missing_library_is_said)
{
    struct err e = {0};
    bench_engine_nccl.measures->finish(&plan);
    own.library = "/nowhere/libnccl.so.2";
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/nowhere/libnccl.so.2"));
}

TEST_CASE(a_prefix_stands_in_front)
{
    bench_engine_nccl.measures->finish(&plan);
    own.launch_prefix = "env NCCL_BUFFSIZE=8388608";
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_about(shoot(s, COLL_BROADCAST, 1 << 12, BENCH_DEFAULT, 10).us, (15 + 4.096 / 80) / 2);
    bench_engine_nccl.measures->close(s, 0);
    bench_engine_nccl.measures->finish(&plan);
    struct err e = {0};
    own.launch_prefix = "echo hello from a container that swallows its command:";
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "something else than nccltune-worker"));
}

TEST_GROUP(test_engine, make_plan, drop_plan, set_environment, remove_law)
