/* Whole runs: screening, rounds, interruption, resume. */
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

static const char *const rails[] = {"slow0", "fast", "slow1", "slow2"};

TEST_CASE(sizes_between_the_bounds)
{
    static const struct {
        uint64_t min, max;
        double factor;
        int count;
        uint64_t sizes[8];
    } cases[] = {
        {8, 8, 4, 1, {8}},
        {8, 128, 4, 3, {8, 32, 128}},
        {8, 100, 4, 3, {8, 32, 100}},
        {1, 3, 1.1, 3, {1, 2, 3}},
        {1024, 8192, 2, 4, {1024, 2048, 4096, 8192}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct bench_options o = {.min_bytes = cases[i].min, .max_bytes = cases[i].max, .step_factor = cases[i].factor};
        int n;
        uint64_t *sizes = bench_sizes(&o, a, &n);
        assert_int_equal(n, cases[i].count);
        for (int k = 0; k < n; k++)
            assert_int_equal(sizes[k], cases[i].sizes[k]);
        arena_free(a);
    }
}

/* A call that lost at both sizes around, to one call below and to another above, and is the best between them. */
TEST_CASE(finds_the_best_call_between_two_others)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    f.options.min_bytes = 16;
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_true(fake_count(&f, NULL, "middle", 16 << 10, BENCH_OK) > BENCH_FEWEST);
    fake_end(&f);
}

/* The known optimum at every size, in two or more sessions. */
TEST_CASE(finds_the_best_call)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    assert_int_equal(p->count, f.study.nsizes);
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *at = &p->items[i];
        const char *best = at->bytes < 5000 ? "early" : at->bytes > 100000 ? "late" : NULL;
        if (best)
            assert_string_equal(at->candidates[at->best].call.label, best);
        assert_true(at->untouched >= 0 && at->candidates[at->untouched].time_us.n >= 9);
    }
    assert_true(fake.opened >= 2);
    assert_int_equal(fake.opened, fake.closed);
    assert_int_equal(fake.killed, 0);
    assert_int_equal(fake_repeated(&f), 0);
    assert_int_equal(f.summary.troubled, 0);
    assert_int_equal(f.summary.left_out, 0);
    fake_end(&f);
}

/* Whether a round had a session of this launch with more than the default call, or with that alone. */
static int has_session(const struct fake_run *f, const char *launch, int round, int full)
{
    int any = 0, calls = 0;
    for (int i = 0; i < f->study.results->count; i++) {
        const struct bench_result *r = &f->study.results->items[i];
        any |= r->round == round && !strcmp(r->launch.label, launch);
        calls |= r->round == round && !strcmp(r->launch.label, launch) && strcmp(r->call.label, BENCH_DEFAULT) != 0;
    }
    return any && calls == full;
}

TEST_CASE(finds_the_best_launch)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.fast_launch = "fast";
    fake_begin(&f, 0, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    assert_int_equal(p->count, f.study.nsizes);
    for (int i = 0; i < p->count; i++) {
        const struct bench_candidate *best = &p->items[i].candidates[p->items[i].best];
        assert_string_equal(best->launch.label, "fast");
        assert_true(best->gain.low > 5);
        assert_int_equal(p->items[i].untouched, 0);
    }
    /* A slow one is left at its second size; the default is measured at every size, in every session. */
    assert_int_equal(fake_count(&f, "slow2", NULL, 0, -1), 2);
    assert_true(fake_count(&f, BENCH_DEFAULT, BENCH_DEFAULT, 0, BENCH_OK) >= 2 * f.study.nsizes);
    assert_true(fake_count(&f, "fast", "late", 1 << 20, BENCH_OK) >= 2);
    int pairs = 0;
    for (int round = BENCH_PAIRS_ROUND; round < BENCH_PROBE_ROUND; round++)
        pairs += (has_session(&f, BENCH_DEFAULT, round, 0) || has_session(&f, BENCH_DEFAULT, round, 1)) &&
                 (has_session(&f, "fast", round, 0) || has_session(&f, "fast", round, 1));
    assert_true(pairs >= BENCH_FEWEST);
    fake_end(&f);
}

TEST_CASE(tries_a_pair_where_it_may_pay)
{
    static const char *const two[] = {"fast", "other"};
    for (int pays = 0; pays < 2; pays++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.fast_launch = "fast";
        fake.slow_launches = 0.2;
        fake.pair_factor = pays ? 0.6 : 4;
        fake_begin(&f, 0, two, 2);
        assert_int_equal(bench_conduct(&f.study, &f.err), 0);
        struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
        const struct bench_point *last = &p->items[p->count - 1];
        assert_string_equal(last->candidates[last->best].launch.label, pays ? "fast,other" : "fast");
        assert_true(fake_count(&f, "fast,other", NULL, 0, -1) > 0);
        fake_end(&f);
    }
}

/* What is tried beside any launch is tried beside the best one, though alone it gains nothing. */
TEST_CASE(tries_more_beside_the_best)
{
    static const char *const two[] = {"fast", "other"};
    struct bench_knobs beside[] = {{.label = "a"}, {.label = "b"}};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.fast_launch = "fast";
    fake.pair_factor = 0.6;
    fake_begin(&f, 0, two, 2);
    f.study.plan.beside = beside;
    f.study.plan.nbeside = 2;
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_true(fake_count(&f, "fast,a", NULL, 0, -1) > 0);
    assert_true(fake_count(&f, "fast,b", NULL, 0, -1) > 0);
    assert_int_equal(fake_count(&f, "other,a", NULL, 0, -1), 0);
    fake_end(&f);
}

/* Others are faster, but not by so much that the default is out of the question: its calls are measured too. */
TEST_CASE(a_default_that_is_close_is_examined_too)
{
    static const char *const two[] = {"one", "other"};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.slow_launches = 0.9;
    fake_begin(&f, 0, two, 2);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_true(fake_count(&f, BENCH_DEFAULT, "late", 1 << 20, BENCH_OK) > 0);
    assert_true(fake_count(&f, "one", "late", 1 << 20, BENCH_OK) + fake_count(&f, "other", "late", 1 << 20, BENCH_OK) >
                0);
    fake_end(&f);
}

TEST_CASE(a_launch_that_does_not_start)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.fast_launch = "fast";
    fake.dead_launch = "slow1";
    fake_begin(&f, 0, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake_count(&f, "slow1", NULL, 0, -1), 2); /* tried again once, later */
    assert_int_equal(fake_count(&f, "slow1", BENCH_DEFAULT, 0, BENCH_CRASHED), 2);
    assert_int_equal(f.summary.troubled, 2);
    assert_true(fake_count(&f, "fast", NULL, 0, BENCH_OK) > 0);
    fake_end(&f);

    /* Without the default there is nothing to compare with. */
    fake.dead_launch = BENCH_DEFAULT;
    fake_begin(&f, 0, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), ERR_FAILED);
    assert_non_null(strstr(f.err.text, "no such interface"));
    assert_int_equal(f.study.results->count, 0);
    fake_end(&f);
}

/* A launch that somebody else kept from starting once, and a call that died once, are not excluded for it. */
TEST_CASE(once_is_no_verdict)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.fast_launch = "fast";
    fake.dead_launch = "fast";
    fake.dead_times = 1;
    fake_begin(&f, 0, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake_count(&f, "fast", BENCH_DEFAULT, 0, BENCH_CRASHED), 1);
    assert_true(fake_count(&f, "fast", "late", 1 << 20, BENCH_OK) > 0);
    fake_end(&f);
    memset(&fake, 0, sizeof fake);
    fake.trouble[0] = (struct fake_trouble){.call = "late", .bytes = 1 << 20, .outcome = BENCH_SILENT, .times = 1};
    fake_begin(&f, 0, NULL, 0);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake_count(&f, NULL, "late", 1 << 20, BENCH_HUNG), 1);
    assert_true(fake_count(&f, NULL, "late", 1 << 20, BENCH_OK) > 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    const struct bench_point *last = &p->items[p->count - 1];
    assert_string_equal(last->candidates[last->best].call.label, "late");
    fake_end(&f);
}

/* A default that never comes through at a size is an error, however well all else goes. --resume tries it again if that
 * size is still asked for: what fails may have been killed, as by a launcher that ends a job's workers before us. */
TEST_CASE(a_default_that_fails_is_an_error)
{
    static const enum bench_outcome ways[] = {BENCH_DIED, BENCH_SILENT, BENCH_ANSWERED};
    for (int i = 0; i < 3; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.trouble[0] = (struct fake_trouble){
            .call = BENCH_DEFAULT, .bytes = 128, .outcome = ways[i], .status = BENCH_WRONG, .times = 100000};
        fake_begin(&f, 0, NULL, 0);
        assert_int_equal(bench_conduct(&f.study, &f.err), ERR_FAILED);
        assert_non_null(strstr(f.err.text, "the baseline of Fake 1.0 fails at allreduce of 128 B"));
        fake_end(&f);
        fake_begin(&f, 1, NULL, 0);
        assert_int_equal(bench_conduct(&f.study, &f.err), ERR_FAILED);
        fake_end(&f);
        fake_begin(&f, 1, NULL, 0);
        f.options.min_bytes = 1024;
        f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
        assert_int_equal(bench_conduct(&f.study, &f.err), 0);
        fake_end(&f);
        fake.trouble[0].times = 0;
        fake_begin(&f, 1, NULL, 0);
        if (bench_conduct(&f.study, &f.err))
            fail_msg("%s", f.err.text);
        fake_end(&f);
    }
}

/* Interrupted anywhere, resumed as often as it takes: every point once a round, children gone. */
TEST_CASE(interrupted_and_resumed)
{
    static const int after[] = {1, 7, 60, 300, 1000};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.fast_launch = "fast";
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        fake.stop = 0;
        fake.samples = 0;
        fake.stop_after = after[i];
        fake_begin(&f, i > 0, rails, 4);
        assert_int_equal(bench_conduct(&f.study, &f.err), 0);
        assert_int_equal(fake.opened, fake.closed);
        if (fake.stop)
            assert_int_equal(f.summary.interrupted, 1);
        assert_int_equal(fake_repeated(&f), 0);
        fake_end(&f);
    }
    fake.stop = 0;
    fake.stop_after = 0;
    fake_begin(&f, 1, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(f.summary.interrupted, 0);
    assert_int_equal(fake_repeated(&f), 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    assert_int_equal(p->count, f.study.nsizes);
    fake_end(&f);

    /* Nothing is left to do. */
    fake.samples = 0;
    fake_begin(&f, 1, rails, 4);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake.samples, 0);
    assert_int_equal(f.summary.measured, 0);
    fake_end(&f);
}

/* Launches take their time to start: those that come after the time for screening are not tried. */
TEST_CASE(no_time_for_every_launch)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.open_s = 0.1;
    fake_begin(&f, 0, rails, 4);
    f.study.time.deadline_s = f.study.time.started_s + 0.5;
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake_count(&f, "slow2", NULL, 0, -1), 0);
    assert_true(fake.opened < 7); /* no session once the time is over */
    fake_end(&f);
}

/* Calls that take longer than there is time: that ends a start later, and nobody is told to hang. */
TEST_CASE(calls_that_outlast_the_budget)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.waits = 1;
    fake.trouble[0] =
        (struct fake_trouble){.call = BENCH_DEFAULT, .bytes = 1 << 20, .outcome = BENCH_SILENT, .times = 100};
    fake_begin(&f, 0, rails, 4);
    for (int hangs = 0; hangs < 2; hangs++) { /* and where it has hung once before the time was over */
        f.options.watchdog_s = hangs ? 0.3 : 3;
        f.study.time.started_s = progress_now_s();
        f.study.time.deadline_s = f.study.time.started_s + 0.5;
        assert_int_equal(bench_conduct(&f.study, &f.err), 0);
        assert_true(progress_now_s() - f.study.time.started_s < 2.5);
        assert_int_equal(f.summary.troubled, hangs);
        assert_true(f.summary.left_out > 0);
    }
    fake_end(&f);
}

TEST_CASE(no_time_at_all)
{
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake_begin(&f, 0, NULL, 0);
    f.study.time.deadline_s = f.study.time.started_s;
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake.samples, 0);
    assert_int_equal(f.summary.left_out, f.study.nsizes);
    assert_int_equal(fake.opened, fake.closed);
    fake_end(&f);
}

TEST_CASES_WITHIN(test_conduct, fake_setup, fake_teardown)
