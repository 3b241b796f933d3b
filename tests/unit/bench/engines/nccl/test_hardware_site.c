/* The nccl engine over doubles: what jobs take on this site today, beside the default that gains are over. */
#include <sys/stat.h>

#include "tests/unit/bench/engines/nccl/under_law.h"

/* Launches, and the default without our plugin after each, come one after the other. */
TEST_CASE(two_launches_never_share_a_gpu)
{
    listen();
    under("together 3\n");
    for (int i = 0; i < 4; i++) {
        struct bench_session *s = must_open(BENCH_DEFAULT);
        for (int k = 0; k < 3; k++)
            assert_about(time_of(s, COLL_ALLREDUCE, SMALL, "tree/simple"), 20 + 3.072 / 50);
        time_of(s, COLL_ALLREDUCE, SMALL, BENCH_DEFAULT);
        time_of(s, COLL_ALLREDUCE, SMALL, BENCH_DEFAULT);
        bench_engine_nccl.measures->close(s, i > 1);
    }
    assert_false(was_said("jobs now take"));
}

/* A vendor's tuner that our plugin does not ask: it chooses Tree with LL for small calls, where NCCL takes another, and
 * what NCCL chooses too for large ones. */
TEST_CASE(a_vendors_choice_that_is_not_the_default_is_said)
{
    static const struct {
        uint64_t bytes;
        const char *next;
        int said;
    } cases[] = {{SMALL, "none", 1}, {LARGE, "none", 0}, {SMALL, NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NCCL_TUNER_PLUGIN", doubles_file("vendor_tuner.so", arena), 1);
        if (cases[i].next)
            setenv("NCCLTUNE_NEXT_TUNER", cases[i].next, 1);
        listen();
        under("noise 0.01\n");
        struct bench_session *s = must_open(BENCH_DEFAULT);
        for (int k = 0; k < 5; k++)
            time_of(s, COLL_ALLREDUCE, cases[i].bytes, BENCH_DEFAULT);
        bench_engine_nccl.measures->close(s, 0);
        unsetenv("NCCL_TUNER_PLUGIN");
        unsetenv("NCCLTUNE_NEXT_TUNER");
        assert_int_equal(was_said("jobs now take"), cases[i].said);
    }
}

TEST_CASE(a_default_that_jobs_do_not_have_is_said)
{
    listen();
    under("untuned 0.6\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 3; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, BENCH_DEFAULT);
    bench_engine_nccl.measures->close(s, 0);
    assert_true(was_said("jobs now take"));
    listen();
    under("noise 0.01\n");
    s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 3; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, BENCH_DEFAULT);
    bench_engine_nccl.measures->close(s, 0);
    assert_false(was_said("jobs now take"));
}

/* Both starts are slow at first; the default of ours has been measured on when that was over. */
TEST_CASE(a_slow_beginning_is_no_other_default)
{
    listen();
    under("noise 0.01\nramp 300 2\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 60; i++)
        time_of(s, COLL_ALLREDUCE, (uint64_t)1 << 20, BENCH_DEFAULT);
    bench_engine_nccl.measures->close(s, 0);
    assert_false(was_said("jobs now take"));
}

/* It fails on one rank alone, which then chooses without it while the others choose by it. No plugin can know that; who
 * measures appears in the sentence of the rank that knows half of it, and no time comes of it. */
TEST_CASE(a_next_tuner_that_fails_on_one_rank_is_noticed)
{
    char path[] = "/tmp/nccltune-next-XXXXXX";
    static const char script[] = "#!/bin/sh\n[ \"$3\" != 2 ] || export VENDOR_TUNER_FAULT=init\nexec \"$@\"\n";
    struct err e = {0};
    int fd = mkstemp(path);
    assert_int_equal(write(fd, script, sizeof script - 1), sizeof script - 1);
    fchmod(fd, 0700);
    close(fd);
    setenv("NCCL_TUNER_PLUGIN", doubles_file("vendor_tuner.so", arena), 1);
    own.launch_prefix = path;
    own.start_s = 3;
    under("");
    struct bench_session *s = open_within(60, &e);
    unlink(path);
    unsetenv("NCCL_TUNER_PLUGIN");
    assert_null(s);
    assert_non_null(strstr(e.text, "is left out: its init failed"));
    assert_non_null(strstr(e.text, "NCCLTUNE_NEXT_TUNER=none"));
}

/* The finding that the journal gets; NULL none. */
static const char *today(struct findings *found)
{
    found->arena = arena;
    bench_engine_nccl.measures->noise(&plan, found);
    for (int i = 0; i < found->n; i++)
        if (found->list[i].id && !strcmp(found->list[i].id, BENCH_TODAY))
            return found->list[i].text;
    return NULL;
}

/* A leftover in the environment of jobs: candidates do without it, and what it costs is written down. */
TEST_CASE(what_jobs_have_pinned_is_measured_beside)
{
    struct findings with = {0}, without = {0};
    setenv("NCCL_ALGO", "tree", 1);
    listen();
    under("noise 0.01\n");
    struct bench_session *s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 5; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, BENCH_DEFAULT);
    assert_about(time_of(s, COLL_ALLREDUCE, LARGE, "tree/simple"), tree_us);
    bench_engine_nccl.measures->close(s, 0);
    const char *text = today(&with);
    unsetenv("NCCL_ALGO");
    assert_non_null(text);
    if (!strstr(text, "with NCCL_ALGO=tree, take 1.3"))
        fail_msg("%s", text);
    assert_true(with.list[with.n - 1].severity == FINDING_WARNING);
    assert_true(was_said("for the baseline only: NCCL_ALGO=tree"));
    under("noise 0.01\n");
    s = must_open(BENCH_DEFAULT);
    for (int i = 0; i < 5; i++)
        time_of(s, COLL_ALLREDUCE, LARGE, BENCH_DEFAULT);
    bench_engine_nccl.measures->close(s, 0);
    text = today(&without);
    assert_non_null(text);
    assert_non_null(strstr(text, "without nccltune, take "));
}

TEST_GROUP(test_hardware_site, make_plan, drop_plan, set_environment, remove_law)
