/* From lines of a journal to candidates: their order, what is pooled, and what deaths do to them. */
#include "bench/results/points.h"
#include "core/call/shape.h"
#include "core/coll.h"
#include "core/stats.h"
#include "tests/lib/unit.h"

static struct arena *arena;

static int begin(void **state)
{
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

static const struct bench_setting one[] = {{"A", "1"}, {"B", "1"}}, two[] = {{"A", "1"}, {"B", "2"}},
                                  other[] = {{"A", "1"}, {"C", "0"}};

static struct bench_result result(const char *launch, const char *call, enum bench_status status, const double *us,
                                  int n)
{
    return (struct bench_result){.engine = "nccl",
                                 .library = "NCCL 2.28.9",
                                 .coll = COLL_ALLREDUCE,
                                 .bytes = 64,
                                 .nodes = 2,
                                 .ranks = 4,
                                 .launch = {.label = launch},
                                 .call = {.label = call},
                                 .round = 1,
                                 .status = status,
                                 .times_us = us,
                                 .ntimes = n};
}

static const struct bench_point *point_of(struct bench_result *items, int n)
{
    struct bench_results r = {.items = items, .count = n};
    const struct bench_points *p = bench_points_of(&r, arena);
    assert_int_equal(p->count, 1);
    return &p->items[0];
}

static const double us[] = {5, 1, 4, 2, 3, 6, 9, 7, 8, 10};

/* The baseline, other calls of that launch, other launches by name; by settings where labels agree. */
TEST_CASE(candidates_in_order)
{
    static const char *const order[] = {"default default 0", "default a 0",   "default a 2 1",       "default a 2 2",
                                        "default a 2 C",     "default b 0",   "default default 2 1", "again default 0",
                                        "zero a 0",          "zero default 0"};
    struct bench_result items[10];
    for (int i = 0; i < 10; i++)
        items[i] = result("default", "a", BENCH_OK, us, 5);
    items[0].launch.label = "zero", items[0].call.label = BENCH_DEFAULT;
    items[1].call.settings = other, items[1].call.nsettings = 2;
    items[2].call.label = "b";
    items[3].launch.label = "zero";
    items[4].call.settings = two, items[4].call.nsettings = 2;
    items[5].call.label = BENCH_DEFAULT;
    items[7].call.settings = one, items[7].call.nsettings = 2;
    items[8].call.label = BENCH_DEFAULT, items[8].launch.settings = one, items[8].launch.nsettings = 2;
    items[9].launch.label = "again", items[9].call.label = BENCH_DEFAULT;
    const struct bench_point *p = point_of(items, 10);
    assert_int_equal(p->ncandidates, 10);
    for (int i = 0; i < 10; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        const struct bench_knobs *k = c->launch.nsettings ? &c->launch : &c->call;
        const char *last = k->nsettings ? k->settings[1].name[0] == 'C' ? " C" : k->settings[1].value : "";
        const char *text = arena_printf(arena, "%s %s %d%s%s", c->launch.label, c->call.label, k->nsettings,
                                        k->nsettings && *last != ' ' ? " " : "", last);
        assert_string_equal(text, order[i]);
    }
    assert_int_equal(p->untouched, 0);
    assert_int_equal(p->best, 0); /* of all that take as long */
}

/* Every member tells points apart, the first ones before the last ones. */
TEST_CASE(points_in_order)
{
    struct bench_result low[8], high[8];
    struct bench_point p[6];
    for (int i = 0; i < 8; i++) { /* the other members say the contrary behind, and the same before */
        low[i] = high[i] = result("x", "x", BENCH_OK, us, 1);
        low[i].engine = i < 1 ? "a" : "b", high[i].engine = "b";
        low[i].nodes = i < 1 ? 3 : i == 1 ? 1 : 2, high[i].nodes = 2;
        low[i].ranks = i < 2 ? 9 : i == 2 ? 7 : 8, high[i].ranks = 8;
        low[i].buffers = i < 3 ? 2 : i == 3 ? 0 : 1, high[i].buffers = 1;
        low[i].others = i < 4 ? 6 : i == 4 ? 4 : 5, high[i].others = 5;
        low[i].coll = i < 5 ? 4 : i == 5 ? 2 : 3, high[i].coll = 3;
        low[i].bytes = i < 6 ? 65 : i == 6 ? 63 : 64, high[i].bytes = 64;
        low[i].library = i < 7 ? "z" : "a", high[i].library = "b";
        assert_true(bench_results_compare(&low[i], &high[i]) < 0);
        assert_true(bench_results_compare(&high[i], &low[i]) > 0);
        assert_int_equal(bench_results_compare(&low[i], &low[i]), 0);
    }
    for (int i = 0; i < 6; i++)
        p[i] = (struct bench_point){.engine = i == 1 ? "mpi" : "nccl",
                                    .nodes = 2 + (i == 2),
                                    .ranks = 4 + (i == 3),
                                    .others = i == 4,
                                    .buffers = i == 5,
                                    .coll = i};
    assert_true(bench_points_alike(&p[0], &p[0]));
    for (int i = 1; i < 6; i++)
        assert_false(bench_points_alike(&p[0], &p[i]));
}

#define OK      BENCH_OK
#define CRASHED BENCH_CRASHED

/* One death after which all went well does not count, nor do deaths of the default that has samples. */
TEST_CASE(what_deaths_do)
{
    static const struct {
        const char *call;
        enum bench_status seen[4];
        int n;
        enum bench_status status;
        int samples;
        char detail;
    } cases[] = {
        {"a", {OK}, 1, OK, 2, '0'},
        {"a", {CRASHED}, 1, CRASHED, 0, '0'},
        {"a", {CRASHED, OK}, 2, OK, 2, '0'},
        {"a", {BENCH_HUNG, OK}, 2, OK, 2, '0'},
        {"a", {CRASHED, BENCH_DROPPED}, 2, BENCH_DROPPED, 2, '0'},
        {"a", {OK, CRASHED}, 2, CRASHED, 2, '1'},
        {"a", {CRASHED, OK, BENCH_HUNG, OK}, 4, BENCH_HUNG, 4, '2'},
        {"a", {CRASHED, CRASHED, OK}, 3, CRASHED, 2, '1'},
        {"a", {OK, CRASHED, OK}, 3, OK, 4, '1'},
        {"a", {BENCH_WRONG, CRASHED, OK}, 3, BENCH_WRONG, 2, '1'},
        {"a", {BENCH_FAILED, OK}, 2, BENCH_FAILED, 2, '0'},
        {"a", {BENCH_WRONG, OK, OK}, 3, BENCH_WRONG, 4, '0'},
        {"a", {OK, BENCH_DROPPED, OK}, 3, BENCH_DROPPED, 6, '1'},
        {BENCH_DEFAULT, {CRASHED, OK, BENCH_HUNG}, 3, OK, 2, '2'},
        {BENCH_DEFAULT, {CRASHED, CRASHED}, 2, CRASHED, 0, '1'},
        {BENCH_DEFAULT, {BENCH_WRONG, OK}, 2, BENCH_WRONG, 2, '0'},
    };
    static const char *const details[] = {"0", "1", "2", "3"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_result items[4];
        for (int k = 0; k < cases[i].n; k++) {
            int measured = cases[i].seen[k] <= BENCH_DROPPED;
            items[k] = result(BENCH_DEFAULT, cases[i].call, cases[i].seen[k], us, 2 * measured);
            items[k].detail = details[k];
        }
        const struct bench_candidate *c = &point_of(items, cases[i].n)->candidates[0];
        if (c->status != cases[i].status || c->time_us.n != cases[i].samples || *c->detail != cases[i].detail)
            fail_msg("case %zu: %s, %d samples, detail %s", i, bench_status_name(c->status), c->time_us.n, c->detail);
    }
}

/* A start is one number: the median of its pairs. What was measured while calls were chosen proves nothing, nor does a
 * start that went wrong; a run of another program is a start beside the default's of the same number, however many rows
 * it has. */
TEST_CASE(starts_prove)
{
    static const double fast[] = {10, 11, 12, 13, 14, 15}, twice[] = {20, 22, 24, 26, 28, 30},
                        four[] = {40, 44, 48, 13, 56, 60}, half[] = {5, 5.5, 6, 6.5, 7, 7.5};
    struct bench_result items[8];
    for (int i = 0; i < 8; i++) {
        items[i] = result("default", "a", BENCH_OK, fast, 6);
        items[i].round = i + 1;
        items[i].beside_us = i % 2 ? twice : four;
        items[i].nbeside = 6;
    }
    struct bench_interval g = point_of(items, 6)->candidates[0].proof;
    assert_int_equal(g.n, 6);
    assert_near(g.median, sqrt(8), 1e-9);
    assert_int_equal(g.lost, 0);
    items[0].status = BENCH_WRONG;
    items[1].nbeside = 3; /* chosen and tried in the same start */
    items[2].nbeside = 0, items[2].over_default = 0.01;
    items[3].beside_us = half;
    g = point_of(items, 6)->candidates[0].proof;
    assert_int_equal(g.n, 3);
    assert_near(g.median, cbrt(0.5 * 4 * 2), 1e-9); /* a half, four times, twice */
    assert_int_equal(g.lost, 1);
    assert_near(point_of(items, 6)->candidates[0].promise, 100, 1e-9);
    for (int i = 0; i < 8; i++) {
        items[i] = result("default", i < 4 ? "default" : "a", BENCH_OK, i < 4 ? twice : i < 6 ? fast : half, 6);
        items[i].round = i % 4;
    }
    items[7].round = 9; /* beside which nobody was */
    g = point_of(items, 8)->candidates[1].proof;
    assert_int_equal(g.n, 3);
    assert_near(g.median, cbrt(2 * 2 * 4), 1e-9);
    assert_int_equal(point_of(items, 8)->candidates[0].proof.n, 0);
    items[5].round = items[4].round; /* in place: of the same run */
    assert_int_equal(point_of(items, 8)->candidates[1].proof.n, 2);
}

/* What a clock of 1 ms cuts off is right in the mean: three calls take 2.25 ms, by the default 3.75 ms. */
TEST_CASE(a_coarse_clock_is_right_in_the_mean)
{
    static const double own[] = {2, 2, 3, 2, 2, 3, 2, 2}, beside[] = {4, 4, 4, 3, 4, 4, 3, 4};
    struct bench_result item = result("default", "a", BENCH_OK, own, 8);
    item.beside_us = beside;
    item.nbeside = 8;
    assert_near(point_of(&item, 1)->candidates[0].proof.median, 3.75 / 2.25, 1e-9);
}

/* A gain that was measured in pairs counts under the default launch, where the default was beside it. */
TEST_CASE(gains_by_launch)
{
    static const double slow[] = {20, 20, 20, 20, 20, 20, 20, 20}, fast[] = {10, 10, 10, 10, 10, 10, 10, 10},
                        beside[] = {40, 40, 40, 40, 40, 40, 40, 40};
    struct bench_result items[] = {result("default", "default", BENCH_OK, slow, 8),
                                   result("default", "a", BENCH_OK, fast, 8), result("rail", "a", BENCH_OK, fast, 8),
                                   result("rail", "b", BENCH_OK, fast, 8), result("zoo", "b", BENCH_DROPPED, us, 1)};
    items[1].beside_us = items[2].beside_us = beside;
    items[1].nbeside = items[2].nbeside = 8;
    const struct bench_point *p = point_of(items, 5);
    assert_near(p->candidates[1].gain.median, 4, 0);
    assert_near(p->candidates[2].gain.median, 2, 0);
    assert_near(p->candidates[2].proof.median, 4, 0);
    assert_near(p->candidates[3].gain.median, 2, 0);
    assert_int_equal(p->best, 1); /* the first of equals, and nobody who was left behind */
    p = point_of(items + 1, 3);
    assert_int_equal(p->untouched, -1);
    assert_int_equal(p->candidates[0].gain.n, 0);
}

/* A prediction is no sample. */
TEST_CASE(the_last_prediction)
{
    struct bench_result items[6];
    for (int i = 0; i < 6; i++) {
        items[i] = result("default", "a", BENCH_OK, us + i, 3);
        items[i].low_us = items[i].high_us = 1;
    }
    const struct bench_candidate *c = &point_of(items, 6)->candidates[0];
    assert_near(c->time_us.median, us[5], 0);
    assert_near(c->time_us.high, 1, 0);
}

/* Whose plugins were at work under the baseline: at last, and before. */
TEST_CASE(active_plugins)
{
    static const struct {
        const char *first, *second, *active, *mixed;
    } cases[] = {{"", "", "", NULL}, {"a", "b", "b", "a"}, {NULL, "b", "b", NULL}, {"a", NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_result items[] = {result("default", "default", BENCH_OK, us, 1),
                                       result("default", "default", BENCH_OK, us, 1),
                                       result("default", "x", BENCH_OK, us, 1)};
        items[0].active = cases[i].first;
        items[1].active = cases[i].second;
        items[2].active = "of another candidate";
        const struct bench_point *p = point_of(items, 3);
        assert_true(!p->active == !cases[i].active && !p->mixed == !cases[i].mixed);
        if (p->active)
            assert_string_equal(p->active, cases[i].active);
        if (p->mixed)
            assert_string_equal(p->mixed, cases[i].mixed);
    }
}

/* Of two predictions by themselves each adds what it is unsure of; a measurement has no doubt that could be shared. */
TEST_CASE(gains_of_predictions)
{
    static const struct bench_doubt doubt = {{0.5}, 0.1, 1, 2};
    struct bench_interval from = {100, 80, 160, 1, 1, NULL}, to = {50, 40, 55, 1, 1, &doubt};
    for (int swap = 0; swap < 2; swap++) {
        struct bench_interval g = bench_gain(from, to);
        assert_int_equal(g.predicted, 1);
        assert_int_equal(g.n, 1);
        assert_near(g.median, 2, 1e-12);
        assert_near(g.low, 2 / exp(hypot(log(100 / 80.0), log(55 / 50.0))), 1e-12);
        assert_near(g.high, 2 * exp(hypot(log(1.6), log(50 / 40.0))), 1e-12);
        from.doubt = &doubt;
        to.doubt = NULL;
    }
    for (int i = 0; i < 2; i++) {
        from.predicted = i;
        to.predicted = !i;
        struct bench_interval g = bench_gain(from, to);
        assert_int_equal(g.predicted, 0);
        assert_near(g.low, 80 / 55.0, 1e-12);
        assert_near(g.high, 4, 1e-12);
    }
    to.low = 0;
    assert_int_equal(bench_gain(from, to).n, 0);
    to.low = 1, from.n = 3, to.n = 9;
    assert_int_equal(bench_gain(from, to).n, 3);
}

TEST_CASES_EACH(test_points_pool, begin, end)
