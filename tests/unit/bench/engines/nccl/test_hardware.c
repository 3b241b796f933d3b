/* The nccl engine over doubles that behave as badly as hardware does: every test is a line of the law (nccl_law.h), and
 * fails when the engine takes no notice of it. Nearly all judge times: this does not run with sanitizers. */
#include <math.h>
#include <sys/stat.h>

#include "tests/unit/bench/engines/nccl/under_law.h"

/* ---- time ---- */

TEST_CASE(first_calls_after_a_switch_are_not_timed)
{
    under("first 5000 0\nswitch 900\ncell allreduce nvls simple latency=523 GBps=50\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 2; i++) {
        assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), tree_ll_us);
        assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/simple"), 20 + 3.072 / 50);
    }
    /* Long ones, of which a sample has few. */
    assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "nvls/simple"), 523 + 3.072 / 50);
    bench_engine_nccl.measures->close(s, 1);
}

/* One host goes on late: who only sends would run into him in the middle of a batch. */
TEST_CASE(ranks_meet_before_a_sample)
{
    under("launch 1\ngpu 1 1 3000\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 3; i++) {
        assert_about(time_of(s, COLL_BROADCAST, SMALL, BENCH_DEFAULT), broadcast_us);
        assert_about(time_of(s, COLL_REDUCE, SMALL, BENCH_DEFAULT), broadcast_us);
        assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), tree_ll_us);
    }
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(a_slow_host_is_what_limits_small_calls)
{
    under("launch 25\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), 25);
    assert_about(time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple"), tree_us);
    bench_engine_nccl.measures->close(s, 0);
}

TEST_CASE(a_throttled_gpu_slows_all)
{
    under("gpu 2 1.5 0\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_about(time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple"), 1.5 * tree_us);
    bench_engine_nccl.measures->close(s, 0);
}

struct series {
    double us[2][16];
    int n[2];
};

static void collect(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct series *x = user;
    (void)detail;
    assert_int_equal(status, BENCH_OK);
    x->us[shot][x->n[shot]++] = us;
}

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The quotient of two calls' medians, nine samples each in turn. */
static double ratio(struct bench_session *s, uint64_t bytes, const char *one, const char *two)
{
    static volatile sig_atomic_t stop;
    struct bench_shot shots[] = {{.knobs = call_named(COLL_ALLREDUCE, one), .patience_s = 10},
                                 {.knobs = call_named(COLL_ALLREDUCE, two), .patience_s = 10}};
    struct bench_batch b = {.coll = COLL_ALLREDUCE, .bytes = bytes, .samples = 9, .shots = shots, .nshots = 2};
    struct series x = {0};
    char detail[BENCH_DETAIL];
    assert_int_equal(bench_engine_nccl.measures->measure(s, &b, &stop, collect, &x, detail), BENCH_ANSWERED);
    for (int i = 0; i < 2; i++)
        qsort(x.us[i], (size_t)x.n[i], sizeof *x.us[i], by_value);
    return x.us[0][4] / x.us[1][4];
}

/* Whatever the machine does meanwhile, calls that are measured in turn are compared fairly. */
TEST_CASE(unrest_falls_on_all_alike)
{
    static const char *const unrest[] = {"drift 0.3\n", "burst 1500 100 6\n", "tail 150 9\n", "speeds 400 1.3\n",
                                         "session 0.5\nlaunches 0.5\n"};
    for (size_t i = 0; i < sizeof unrest / sizeof *unrest; i++) {
        under(unrest[i]);
        struct bench_session *s = must_open(BENCH_DEFAULT);
        double found = ratio(s, SMALL, "tree/simple", "tree/ll"), true_one = (20 + 3.072 / 50) / tree_ll_us;
        bench_engine_nccl.measures->close(s, 1);
        if (fabs(found / true_one - 1) > 0.25)
            fail_msg("%s: %g is not about %g", unrest[i], found, true_one);
    }
}

TEST_CASE(two_clocks_that_disagree_are_said)
{
    listen();
    under("timer 0.5\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 6; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple");
    bench_engine_nccl.measures->close(s, 1);
    assert_true(was_said("one of them is wrong"));
    listen();
    under("gpu 1 1 300\n");
    s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 6; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple");
    bench_engine_nccl.measures->close(s, 1);
    assert_false(was_said("one of them is wrong"));
}

/* ---- memory ---- */

TEST_CASE(data_has_left_the_cache)
{
    under("cache 16000000 0.25\ncell allreduce ring ll128 latency=20 GBps=1\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 2; i++) {
        /* a sample has fewer calls than there are buffers: its first are not the last one's */
        assert_about(time_of(s, COLL_ALLREDUCE, LARGE, "ring/ll128"), 20 + (3 << 20) / 1e3);
        assert_about(time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple"), tree_us);
    }
    for (int i = 0; i < 2; i++) /* and all of them have been filled */
        assert_about(time_of(s, COLL_ALLGATHER, LARGE, BENCH_DEFAULT), 20 + (3 << 20) / 80e3);
    assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), 0.25 * tree_ll_us); /* as in jobs */
    bench_engine_nccl.measures->close(s, 0);
}

static struct answer half_full(const char *memory)
{
    under(arena_printf(arena, "cache 16000000 0.25\n%s", memory));
    struct bench_session *s = must_open(BENCH_DEFAULT);
    struct answer a = shoot(s, COLL_ALLREDUCE, LARGE, "tree/simple", 10);
    bench_engine_nccl.measures->close(s, 1);
    return a;
}

TEST_CASE(a_gpu_that_is_half_full_is_used_as_it_is)
{
    struct answer a = half_full("memory 64000000 20000000\n");
    assert_int_equal(a.status, BENCH_OK);
    assert_string_equal(a.detail, "");
    a = half_full("memory 40000000 20000000\n");
    assert_int_equal(a.status, BENCH_OK);
    assert_non_null(strstr(a.detail, "GPU memory is full"));
    a = half_full("memory 25000000 20000000\n");
    assert_int_equal(a.status, BENCH_FAILED);
    assert_non_null(strstr(a.detail, "out of memory"));
}

TEST_CASE(amds_driver_is_told_by_its_own_names)
{
    own.library = arena_printf(arena, "%s/librccl.so.1", getenv("LD_LIBRARY_PATH"));
    /* One die's L2 is what the driver reports; what is behind it is larger, and memory is not enough for that. */
    under("memory 64000000 20000000\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    struct answer a = shoot(s, COLL_ALLREDUCE, LARGE, "tree/simple", 10);
    assert_int_equal(a.status, BENCH_OK);
    if (!strstr(a.detail, "cache of 256"))
        fail_msg("%s", a.detail);
    bench_engine_nccl.measures->close(s, 1);
}

/* ---- data ---- */

static struct answer with_fault(const char *fault, int coll, uint64_t bytes)
{
    setenv("NCCL_DOUBLE_FAULT", fault, 1);
    under("");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    shoot(s, coll, bytes, coll == COLL_ALLREDUCE ? "tree/simple" : BENCH_DEFAULT, 10);
    struct answer a = shoot(s, coll, bytes, coll == COLL_ALLREDUCE ? "tree/ll" : BENCH_DEFAULT, 10);
    bench_engine_nccl.measures->close(s, 1);
    unsetenv("NCCL_DOUBLE_FAULT");
    return a;
}

/* What another call has left there would do, if it stayed. */
TEST_CASE(a_call_that_does_nothing_is_noticed)
{
    assert_int_equal(with_fault("nothing algo=tree proto=ll", COLL_ALLREDUCE, SMALL).status, BENCH_WRONG);
    assert_int_equal(with_fault("nothing coll=allgather after=20", COLL_ALLGATHER, SMALL).status, BENCH_WRONG);
}

TEST_CASE(the_last_element_counts)
{
    struct answer a = with_fault("wrong-last rank=2 algo=tree proto=ll", COLL_ALLREDUCE, LARGE);
    assert_int_equal(a.status, BENCH_WRONG);
    assert_non_null(strstr(a.detail, "rank 2: element 786431 of 786432"));
    assert_int_equal(with_fault("wrong-last rank=1 coll=allgather", COLL_ALLGATHER, SMALL).status, BENCH_WRONG);
}

/* What a first sample alone says at a size where bfloat16 and the other place are checked as well. */
static struct answer with_more_types(const char *fault)
{
    static volatile sig_atomic_t stop;
    setenv("NCCL_DOUBLE_FAULT", fault, 1);
    under("");
    unsetenv("NCCL_DOUBLE_FAULT");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    struct bench_shot shot = {.knobs = call_named(COLL_ALLREDUCE, "tree/ll"), .patience_s = 10};
    struct bench_batch b = {COLL_ALLREDUCE, (uint64_t)96 << 10, 1, 1, &shot, 1};
    struct answer a = {0};
    char detail[BENCH_DETAIL] = "";
    assert_int_equal(bench_engine_nccl.measures->measure(s, &b, &stop, take, &a, detail), BENCH_ANSWERED);
    bench_engine_nccl.measures->close(s, 1);
    return a;
}

TEST_CASE(what_other_types_do_is_said)
{
    struct answer a = with_more_types("wrong rank=1 type=9");
    assert_int_equal(a.status, BENCH_WRONG);
    if (strncmp(a.detail, "bfloat16: rank 1: element ", 26) != 0)
        fail_msg("'%s'", a.detail);
    a = with_more_types("");
    assert_int_equal(a.status, BENCH_OK);
    assert_string_equal(a.detail, "");
}

/* What a batch asks for, beside the plan's own. */
TEST_CASE(types_and_places_have_times_of_their_own)
{
    static volatile sig_atomic_t stop;
    static const struct {
        int buffers;
        double factor;
    } rows[] = {{BENCH_USUAL, 0.5},   {BENCH_BFLOAT16, 2},       {BENCH_OUT_OF_PLACE, 1},
                {BENCH_GRAPH, 0.125}, {BENCH_REGISTERED, 0.125}, {BENCH_USUAL, 0.5}};
    under("cell allreduce nvls simple latency=400 GBps=50 bfloat16=4 in_place=0.5 registered=0.25\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_shot shot = {.knobs = call_named(COLL_ALLREDUCE, "nvls/simple"), .patience_s = 10};
        struct bench_batch b = {.coll = COLL_ALLREDUCE,
                                .bytes = SMALL,
                                .samples = 1,
                                .shots = &shot,
                                .nshots = 1,
                                .buffers = rows[i].buffers};
        struct answer a = {0};
        char detail[BENCH_DETAIL] = "";
        assert_int_equal(bench_engine_nccl.measures->measure(s, &b, &stop, take, &a, detail), BENCH_ANSWERED);
        assert_int_equal(a.status, BENCH_OK);
        assert_about(a.us, rows[i].factor * (400 + 3.072 / 50));
    }
    bench_engine_nccl.measures->close(s, 0);
}

/* ---- what NCCL makes of it ---- */

TEST_CASE(captured_and_registered_calls_have_times_of_their_own)
{
    const char *line = "cell allreduce nvls simple latency=40 GBps=50 registered=0.25\n";
    for (int kind = 0; kind < 3; kind++) {
        own.graphs = kind == 1;
        own.registered = kind == 2;
        under(line);
        struct bench_session *s = must_open(BENCH_DEFAULT);
        double alone = 40 + 3.072 / 50;
        assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "nvls/simple"), kind ? alone / 4 : alone);
        /* NCCL's own choice differs: it predicts as much. */
        assert_about(time_of(s, COLL_ALLREDUCE, SMALL, BENCH_DEFAULT), kind ? alone / 4 : 20 + 3.072 / 50);
        bench_engine_nccl.measures->close(s, 0);
        assert_int_equal(plan.buffers, kind == 1 ? BENCH_GRAPH : kind ? BENCH_REGISTERED : BENCH_USUAL);
    }
    own.graphs = own.registered = 0;
}

TEST_CASE(no_more_channels_than_nccl_has_connected)
{
    own.share_gpus = 1; /* ranks count as nodes */
    under("cell allreduce nvls simple latency=9 GBps=50\ncell allreduce collnet_direct simple latency=9 GBps=50\n"
          "connected nvls 4\nconnected collnet_direct 2\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < plan.ncalls; i++) {
        const char *label = plan.calls[i].knobs.label;
        if (plan.calls[i].coll == COLL_ALLREDUCE &&
            (!strncmp(label, "nvls/", 5) || !strncmp(label, "collnet_direct", 14)))
            time_of(s, COLL_ALLREDUCE, LARGE, label);
    }
    bench_engine_nccl.measures->close(s, 0);
    own.share_gpus = 0;
}

/* NCCL cuts chunks to its buffers: what it would cut to the same size is tried once. */
TEST_CASE(chunks_that_nccl_cuts_to_the_same_are_tried_once)
{
    static const struct {
        const char *call, *launch;
        int n;
    } cases[] = {{"ring/ll/4ch", BENCH_DEFAULT, 2}, /* 32 KiB is the longest */
                 {"ring/ll128/4ch", BENCH_DEFAULT, 5},
                 {"tree/simple/4ch", BENCH_DEFAULT, 5},
                 {"tree/simple/4ch", "buffer=512K", 3}};
    under("cell allreduce ring ll latency=9 GBps=60 chunk_best=4096 chunk_loss=0.2\n"
          "cell allreduce ring ll128 latency=14 GBps=60 chunk_best=4096 chunk_loss=0.2\n"
          "cell allreduce tree simple latency=14 GBps=60 chunk_best=4096 chunk_loss=0.2\n");
    static const struct bench_setting small = {"NCCL_BUFFSIZE", "524288"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct bench_knobs launch = {cases[k].launch, &small, strcmp(cases[k].launch, BENCH_DEFAULT) != 0};
        struct err e = {0};
        struct bench_session *s = bench_engine_nccl.measures->open(&plan, &launch, 10, NULL, &e);
        if (!s)
            fail_msg("%s", e.text);
        struct arena *a = arena_new();
        struct bench_knobs varied[BENCH_VARIATIONS];
        double last = 0;
        int n = bench_engine_nccl.measures->vary(s, LARGE, call_named(COLL_ALLREDUCE, cases[k].call), a, varied);
        assert_int_equal(n, cases[k].n);
        for (int i = 0; i < n; i++) {
            static volatile sig_atomic_t stop;
            struct bench_shot shot = {.knobs = &varied[i], .patience_s = 10};
            struct bench_batch b = {COLL_ALLREDUCE, LARGE, 2, 1, &shot, 1};
            struct answer got = {0};
            char detail[BENCH_DETAIL];
            assert_int_equal(bench_engine_nccl.measures->measure(s, &b, &stop, take, &got, detail), BENCH_ANSWERED);
            if (got.us < last * 1.05)
                fail_msg("%s takes %g us, the one before %g: the same", varied[i].label, got.us, last);
            last = got.us;
        }
        arena_free(a);
        bench_engine_nccl.measures->close(s, 0);
    }
}

TEST_CASE(what_is_in_progress_is_no_failure)
{
    setenv("NCCL_COMM_BLOCKING", "0", 1);
    under("");
    unsetenv("NCCL_COMM_BLOCKING");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        time_of(s, coll, SMALL, BENCH_DEFAULT);
    assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), tree_ll_us);
    bench_engine_nccl.measures->close(s, 0);
}

/* ---- starting ---- */

TEST_CASE(a_gpu_that_is_held_after_a_kill_is_waited_for)
{
    under("exclusive 2\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll");
    bench_engine_nccl.measures->close(s, 1);
    double began = progress_now_s();
    s = must_open(BENCH_DEFAULT);
    assert_true(progress_now_s() - began > 0.9);
    assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/ll"), tree_ll_us);
    bench_engine_nccl.measures->close(s, 0);
    for (int i = 0; i < 3; i++)
        unlink(arena_printf(arena, "%s.gpu%d", doubles_law, i));
}

TEST_CASE(a_first_use_that_connects_for_long_is_no_hang)
{
    own.first_s = 0;
    under("first 0 0.4\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    assert_int_equal(shoot(s, COLL_ALLREDUCE, SMALL, "tree/ll", 0.3).status, BENCH_OK);
    bench_engine_nccl.measures->close(s, 1);
    own.first_s = 0.1; /* it is an option */
    under("first 0 0.4\n");
    s = must_open(BENCH_DEFAULT);
    assert_int_equal(shoot(s, COLL_ALLREDUCE, SMALL, "tree/ll", 0.3).outcome, BENCH_SILENT);
    bench_engine_nccl.measures->close(s, 1);
}

TEST_CASE(patience_for_a_start_grows_with_ranks)
{
    struct err e = {0};
    under("init 0.3\n");
    struct bench_session *s = open_within(0.5, &e); /* and a quarter of a second for each of three */
    if (!s)
        fail_msg("%s", e.text);
    bench_engine_nccl.measures->close(s, 1);
    own.start_s = 0.5;
    under("init 0.3\n");
    assert_null(open_within(60, &e));
    assert_non_null(strstr(e.text, "no answer in time"));
    own.start_s = 0;
}

/* A script in front of the workers lets them come late: rank 2 later than its patience alone, not than the others
 * twice. */
TEST_CASE(the_others_give_the_measure_for_who_is_late)
{
    char path[] = "/tmp/nccltune-late-XXXXXX";
    int fd = mkstemp(path);
    static const char script[] = "#!/bin/sh\nif [ \"$3\" = 2 ]; then sleep 1.7; else sleep 1; fi\nexec \"$@\"\n";
    assert_int_equal(write(fd, script, sizeof script - 1), sizeof script - 1);
    fchmod(fd, 0700);
    close(fd);
    own.launch_prefix = path;
    own.start_s = 1.4;
    under("");
    struct err e = {0};
    struct bench_session *s = open_within(60, &e);
    unlink(path);
    if (!s)
        fail_msg("%s", e.text);
    bench_engine_nccl.measures->close(s, 1);
}

TEST_GROUP(test_hardware, make_plan, drop_plan, set_environment, remove_law)
