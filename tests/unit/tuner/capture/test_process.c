/* The communicators of a process: whose calls are captured, and what adds up. */
#include "tests/unit/tuner/capture/captured.h"

/* ---- whose they are ---------------------------------------------------------------------------------------------- */

static void says_nothing_unasked(int api)
{
    use_capture();
    unsetenv("NCCLTUNE_CAPTURE");
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(81);
    l.mask = 0xff;
    CHECK(!profiled_open(&l, &c, remember) && !c.context && l.mask == 0);
    l.mask = 0xff; /* as if another communicator had set it */
    launch(&c, one_mib, 10);
    CHECK(!profiled_close(&c) && entries() == 0 && !logged.text[0]);
}

static void refuses_a_relative_path(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE", "here", 1);
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(82);
    CHECK(!profiled_open(&l, &c, remember) && !c.context && l.mask == 0);
    CHECK(logged.warnings == 1 && strstr(logged.text, "absolute"));
}

/* Without a launcher, and with one whose numbers cannot be this communicator's, host and process name the file. */
static void doubts_a_launcher(int with_launcher)
{
    char host[65] = "";
    use_capture();
    unsetenv("RANK");
    if (with_launcher) {
        setenv("SLURM_PROCID", "3", 1);
        setenv("SLURM_NTASKS", "4", 1);
    }
    struct profiler_loader l = profiler_load(5);
    struct profiled_comm c = world(83);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 1);
    CHECK(!profiled_close(&c) && !gethostname(host, sizeof host - 1));
    snprintf(file, sizeof file, "%s/42.rank.%.40s-%d.json", dir, host, getpid());
    struct workload *w = captured();
    CHECK(w->ranks == 8 && w->ranks_per_node == 4);
    workload_free(w);
}

/* Groups of many sizes and places, some closed before the file is written. */
static void adds_up_communicators(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm data = {.id = 1, .nodes = 2, .ranks = 2, .rank = 0},
                         single = {.id = 2, .nodes = 1, .ranks = 1};
    CHECK(!profiled_open(&l, &single, NULL) && !single.context && !profiled_open(&l, &data, NULL));
    for (uint64_t i = 0; i < 3000; i++) {
        struct profiled_comm tensor = {.id = 100 + i, .nodes = 1, .ranks = 4, .rank = 3};
        CHECK(!profiled_open(&l, &tensor, NULL) && tensor.context);
        launch(&tensor, one_mib, 2);
        CHECK(!profiled_close(&tensor));
    }
    launch(&data, one_mib, 1);
    CHECK(!profiled_close(&data));
    struct workload *w = captured();
    CHECK(w->phases[0].ncalls == 2);
    for (int i = 0; i < 2; i++) {
        const struct workload_call *call = &w->phases[0].calls[i];
        int tensor = call->group_size == 4;
        CHECK(call->count == (tensor ? 6000 : 1) && call->place == (tensor ? WORKLOAD_NODE : WORKLOAD_CLUSTER));
        CHECK(call->stride == (tensor ? 1 : 4) && workload_call_nodes(w, call) == (tensor ? 1 : 2));
    }
    workload_free(w);
}

/* Where nobody tells the ranks, the highest that was named is the least that there are: of each group by itself. */
static void guesses_each_group(int api)
{
    char host[65] = "";
    use_capture();
    unsetenv("RANK");
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm small = {.id = 1, .nodes = 1, .ranks = 4, .rank = 3},
                         large = {.id = 2, .nodes = 1, .ranks = 8, .rank = 7};
    CHECK(!profiled_open(&l, &small, NULL) && !profiled_open(&l, &large, NULL));
    launch(&small, one_mib, 2);
    launch(&large, one_mib, 3);
    CHECK(!profiled_close(&small) && !profiled_close(&large) && !gethostname(host, sizeof host - 1));
    snprintf(file, sizeof file, "%s/42.rank.%.40s-%d.json", dir, host, getpid());
    struct workload *w = captured();
    CHECK(w->phases[0].ncalls == 2);
    for (int i = 0; i < 2; i++)
        CHECK(w->phases[0].calls[i].count == (w->phases[0].calls[i].group_size == 4 ? 2 : 3));
    workload_free(w);
}

static void counts_ranks_of_one_process_once(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm ranks[4];
    for (int i = 0; i < 4; i++) {
        ranks[i] = (struct profiled_comm){.id = 9, .nodes = 1, .ranks = 4, .rank = i};
        CHECK(!profiled_open(&l, &ranks[i], NULL));
    }
    for (int i = 0; i < 4; i++)
        launch(&ranks[i], one_mib, 25);
    for (int i = 0; i < 4; i++)
        CHECK(!profiled_close(&ranks[i]));
    struct workload *w = captured();
    CHECK(calls_in(w) == 25 && says(w, "several ranks"));
    workload_free(w);
}

static void a_thousand_communicators(int api)
{
    static struct profiled_comm comms[1100];
    use_capture();
    struct profiler_loader l = profiler_load(api);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 1100; i++) {
            comms[i] = world(1000 + i);
            CHECK(!profiled_open(&l, &comms[i], NULL) && !comms[i].context == (i >= 1024 - (size_t)round));
        }
        for (size_t i = 0; i < 1100; i++)
            launch(&comms[i], one_mib, 3);
        for (size_t i = 0; i < 1100; i++)
            CHECK(!profiled_close(&comms[i]));
    }
    struct workload *w = captured();
    CHECK(calls_in(w) == 3 * (1024 + 1023) && says(w, "153 communicators"));
    workload_free(w);
}

/* ---- all versions ------------------------------------------------------------------------------------------------ */

TEST(says_nothing_unasked, 1, 6)
TEST(refuses_a_relative_path, 4, 6)
TEST(doubts_a_launcher, 0, 1)
TEST(adds_up_communicators, 4, 6)
TEST(guesses_each_group, 1, 3)
TEST(counts_ranks_of_one_process_once, 1, 6)
TEST(a_thousand_communicators, 6, 6)

int test_process(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(says_nothing_unasked),     CAPTURE_TEST(refuses_a_relative_path),
        CAPTURE_TEST(doubts_a_launcher),        CAPTURE_TEST(adds_up_communicators),
        CAPTURE_TEST(guesses_each_group),       CAPTURE_TEST(counts_ranks_of_one_process_once),
        CAPTURE_TEST(a_thousand_communicators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
