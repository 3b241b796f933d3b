/* Intervals against known values; pooling and comparing. */
#include "bench/results/points.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static struct bench_interval of_first(int n)
{
    double samples[1000], scratch[1000];
    /* 1..n, shuffled: 7 divides none of the counts used here plus one. */
    for (int i = 0; i < n; i++)
        samples[i] = 1 + (i * 7) % n;
    return bench_interval_of(samples, n, scratch);
}

/* Ranks of the order statistics as tabulated for a 95 % interval of the median. */
TEST_CASE(intervals_as_tabulated)
{
    static const struct {
        int n;
        double median, low, high;
    } known[] = {
        {1, 1, 1, 1},    {2, 1.5, 1, 2},     {5, 3, 1, 5},       {6, 3.5, 1, 6},      {8, 4.5, 1, 8},
        {9, 5, 2, 8},    {10, 5.5, 2, 9},    {12, 6.5, 3, 10},   {15, 8, 4, 12},      {20, 10.5, 6, 15},
        {25, 13, 8, 18}, {30, 15.5, 10, 21}, {50, 25.5, 18, 33}, {100, 50.5, 40, 61},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct bench_interval v = of_first(known[i].n);
        assert_int_equal(v.n, known[i].n);
        assert_near(v.median, known[i].median, 0);
        assert_near(v.low, known[i].low, 0);
        assert_near(v.high, known[i].high, 0);
    }
    assert_int_equal(of_first(0).n, 0);
}

/* The approximation for many samples joins the exact ranks. */
TEST_CASE(many_samples)
{
    struct bench_interval exact = of_first(500), approximate = of_first(501);
    assert_near(exact.low, approximate.low, 1);
    assert_near(exact.high, approximate.high, 2);
    assert_near(approximate.low + approximate.high, 502, 0);
}

TEST_CASE(samples_stay_as_they_were)
{
    double samples[] = {3, 1, 2}, scratch[3];
    assert_near(bench_interval_of(samples, 3, scratch).median, 2, 0);
    assert_near(samples[0], 3, 0);
}

TEST_CASE(gain_is_cautious)
{
    struct bench_interval from = {.median = 100, .low = 90, .high = 110, .n = 9};
    struct bench_interval to = {.median = 50, .low = 45, .high = 60, .n = 6}, none = {0};
    struct bench_interval g = bench_gain(from, to);
    assert_near(g.median, 2, 1e-12);
    assert_near(g.low, 1.5, 1e-12);
    assert_near(g.high, 110.0 / 45, 1e-12);
    assert_int_equal(g.n, 6);
    assert_int_equal(bench_gain(from, none).n, 0);
    assert_int_equal(bench_gain(none, to).n, 0);
}

TEST_CASE(pools_and_compares)
{
    struct err e;
    struct bench_results *r = bench_results_load("tests/fixtures/bench/small.jsonl", NULL, &e);
    assert_non_null(r);
    struct bench_points *p = bench_points_of(r, r->arena);
    assert_int_equal(p->count, 2);

    const struct bench_point *broadcast = &p->items[0], *allreduce = &p->items[1];
    assert_int_equal(allreduce->coll, COLL_ALLREDUCE);
    assert_int_equal(allreduce->bytes, 65536);
    assert_int_equal(allreduce->ncandidates, 4);
    assert_int_equal(allreduce->untouched, 0);
    assert_near(allreduce->candidates[0].time_us.median, 102, 0);
    assert_near(allreduce->candidates[0].gain.median, 1, 0);

    /* Dropped in one round: four samples in all, but not to be chosen. */
    for (int i = 0; i < allreduce->ncandidates; i++) {
        const struct bench_candidate *c = &allreduce->candidates[i];
        if (!strcmp(c->call.label, "ring")) {
            assert_int_equal(c->time_us.n, 4);
            assert_near(c->time_us.median, 51.5, 0);
            assert_int_equal(c->status, BENCH_DROPPED);
        }
        if (!strcmp(c->call.label, "linear")) {
            assert_int_equal(c->status, BENCH_WRONG);
            assert_int_equal(c->time_us.n, 0);
            assert_string_equal(c->detail, "rank 2: element 5 is 1, expected 2");
        }
    }
    assert_string_equal(allreduce->candidates[allreduce->best].launch.label, "ib3");
    assert_near(allreduce->candidates[allreduce->best].gain.median, 102.0 / 25, 1e-12);

    /* The default crashed once and worked once: it stays. */
    assert_int_equal(broadcast->coll, COLL_BROADCAST);
    assert_int_equal(broadcast->untouched, 0);
    assert_int_equal(broadcast->best, 0);
    assert_int_equal(broadcast->candidates[0].status, BENCH_OK);
    assert_near(broadcast->candidates[0].time_us.median, 3.5, 0);
    bench_results_free(r);
}

/* Labels are for people: the same label with other settings is another candidate. */
TEST_CASE(settings_tell_candidates_apart)
{
    static const struct bench_setting three = {"algorithm", "3"}, four = {"algorithm", "4"};
    static const double us = 5;
    struct bench_result items[2] = {{.engine = "mpi",
                                     .library = "x",
                                     .coll = COLL_ALLREDUCE,
                                     .bytes = 8,
                                     .nodes = 1,
                                     .ranks = 2,
                                     .launch = {.label = BENCH_DEFAULT},
                                     .call = {.label = "ring", .settings = &three, .nsettings = 1},
                                     .times_us = &us,
                                     .ntimes = 1}};
    items[1] = items[0];
    items[1].call.settings = &four;
    struct arena *a = arena_new();
    struct bench_results r = {.arena = a, .items = items, .count = 2};
    struct bench_points *p = bench_points_of(&r, a);
    assert_int_equal(p->count, 1);
    assert_int_equal(p->items[0].ncandidates, 2);
    assert_int_equal(p->items[0].untouched, -1);
    items[1].library = "y";
    assert_int_equal(bench_points_of(&r, a)->count, 2);
    r.count = 0;
    assert_int_equal(bench_points_of(&r, a)->count, 0);
    arena_free(a);
}

/* What two predictions share cancels in their quotient; a call against itself is 1, and one by another way shares half
 * of the rest. */
TEST_CASE(shared_doubt_cancels)
{
    struct bench_doubt d[] = {{{0.5, 0.1}, 0.2, 1, 8}, {{0.5, 0.2}, 0.2, 1, 8}, {{0.5, 0.1}, 0.2, 2, 8}};
    struct bench_interval t[3];
    for (int i = 0; i < 3; i++)
        t[i] = (struct bench_interval){100, 40, 250, 1, 1, &d[i]};
    assert_near(bench_gain(t[0], t[0]).high, 1, 1e-12);
    assert_near(log(bench_gain(t[0], t[1]).high), BENCH_NINE_OF_TEN * 0.1, 1e-12);
    assert_near(log(bench_gain(t[0], t[2]).high), BENCH_NINE_OF_TEN * 0.2, 1e-12);
    assert_near(bench_doubt_of_time(&d[0]), sqrt(0.3), 1e-12);
}

/* Predictions keep their band. */
TEST_CASE(predictions)
{
    static const double us[] = {100, 50};
    struct bench_result items[2];
    struct arena *a = arena_new();
    for (int i = 0; i < 2; i++)
        items[i] = (struct bench_result){.engine = "model",
                                         .library = "NCCL",
                                         .coll = COLL_ALLREDUCE,
                                         .bytes = 8,
                                         .nodes = 1,
                                         .ranks = 2,
                                         .launch = {.label = BENCH_DEFAULT},
                                         .call = {.label = i ? "x" : BENCH_DEFAULT},
                                         .times_us = &us[i],
                                         .ntimes = 1,
                                         .low_us = us[i] / 2,
                                         .high_us = us[i] * 2};
    struct bench_results r = {.items = items, .count = 2};
    const struct bench_point *p = &bench_points_of(&r, a)->items[0];
    assert_int_equal(p->candidates[0].time_us.predicted, 1);
    assert_near(p->candidates[0].time_us.high, 200, 0);
    struct bench_interval gain = p->candidates[1].gain;
    assert_int_equal(gain.predicted, 1);
    assert_near(gain.median, 2, 1e-9);
    assert_near(log(gain.high / gain.median), log(2) * sqrt(2), 1e-9); /* nothing is said of what they share */
    assert_near(gain.high / gain.median, gain.median / gain.low, 1e-9);
    arena_free(a);
}

/* Six starts: the surer one is to be, the wider. */
TEST_CASE(confidence_is_what_was_asked_for)
{
    static const double fast[] = {50, 51, 49, 50, 52, 48}, slow[] = {100, 100, 100, 100, 100, 100};
    struct bench_result items[12];
    struct arena *a = arena_new();
    for (int i = 0; i < 12; i++)
        items[i] = (struct bench_result){.engine = "nccl",
                                         .library = "nccl",
                                         .launch.label = BENCH_DEFAULT,
                                         .call.label = i % 2 ? "x" : BENCH_DEFAULT,
                                         .round = 1 + i / 2,
                                         .times_us = i % 2 ? &fast[i / 2] : &slow[i / 2],
                                         .ntimes = 1};
    struct bench_results r = {.items = items, .count = 12};
    struct bench_interval usual = bench_points_of(&r, a)->items[0].candidates[1].gain;
    r.confidence = 0.999;
    struct bench_points *p = bench_points_of(&r, a);
    struct bench_interval wide = p->items[0].candidates[1].gain;
    assert_near(p->confidence, 0.999, 0);
    assert_int_equal(usual.n, 6);
    assert_true(wide.low < usual.low && wide.high > usual.high && wide.median == usual.median);
    assert_near(wide.sure, usual.sure, 1e-9); /* that is as sure as it is, whatever is printed */
    arena_free(a);
}

TEST_CASE(the_default_call_of_a_launch)
{
    struct bench_candidate c[3] = {{.launch = {.label = BENCH_DEFAULT}, .call = {.label = BENCH_DEFAULT}},
                                   {.launch = {.label = "x"}, .call = {.label = "ring"}},
                                   {.launch = {.label = "x"}, .call = {.label = BENCH_DEFAULT}}};
    struct bench_point p = {.candidates = c, .ncandidates = 2};
    for (int i = 0; i < 3; i++)
        c[i].time_us.n = 1;
    assert_ptr_equal(bench_point_default(&p, BENCH_DEFAULT), &c[0]);
    assert_null(bench_point_default(&p, "x"));
    p.ncandidates = 3;
    assert_ptr_equal(bench_point_default(&p, "x"), &c[2]);
    c[2].status = BENCH_CRASHED;
    assert_null(bench_point_default(&p, "x"));
}

TEST_CASES(test_points)
