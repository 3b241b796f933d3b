/* bench/engines/nccl/site.c: when what jobs take today counts as something else than the default. */
#include "tests/unit/bench/engines/nccl/pool_double.h"

#include <math.h>

static volatile sig_atomic_t stop;

/* What a job takes at 64, 128, 256 ... bytes: at the first visit, the second and so on. */
static double site_us[8][4];
static int visits[8];

static void as_jobs(const struct nccl_measure *q)
{
    int i = __builtin_ctzll(q->point.bytes) - 6;
    visits[i] += q->iterations == 1;
    for (int r = 0; r < RANKS; r++)
        pool.times[r] = (struct nccl_times){.us = site_us[i][visits[i] - 1], .host_most_us = INFINITY};
}

/* The default of `n` sizes has taken 99, 100 and 101 us. */
static void measured(int n)
{
    s.defaults = arena_alloc(arena, 8 * sizeof *s.defaults);
    s.ndefaults = n;
    for (int i = 0; i < 8; i++) {
        s.defaults[i] = (struct default_point){{.coll = COLL_REDUCE, .bytes = (uint64_t)64 << i}, {99, 100, 101}, 3};
        visits[i] = 0;
        for (int k = 0; k < 4; k++)
            site_us[i][k] = 100;
    }
    pool.law = as_jobs;
    context.compared = context.ntoday = 0;
    s.nused = 0;
}

TEST_CASE(how_it_is_measured)
{
    measured(1);
    context.start_s = 3;
    context.buffers = BENCH_GRAPH;
    nccl_session_compare_with_site(&s);
    assert_noted("stop\nstart as jobs 50 s\nprepare reduce 64: 20 s\nmeasure x1 captured: 30 s\n"
                 "measure x20 captured: 20 s\nmeasure x20 captured: 20 s\nmeasure x20 captured: 20 s\n"
                 "measure x20 captured: 20 s\nmeasure x20 captured: 20 s\nmeasure x20 captured: 20 s\n"
                 "measure x20 captured: 20 s\n");
    assert_int_equal(context.ntoday, 1);
    assert_int_equal(context.compared, 1);
    assert_logged("");
    nccl_session_compare_with_site(&s); /* once */
    assert_noted("");
}

/* The first, the last, and one between them. */
TEST_CASE(where_it_is_measured)
{
    static const struct {
        int sizes, at[3];
    } rows[] = {{1, {0}}, {2, {0, 1}}, {3, {0, 1, 2}}, {6, {0, 3, 5}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int expected[8] = {0};
        measured(rows[i].sizes);
        for (int k = 0; k < 3; k++)
            expected[rows[i].at[k]] = 1;
        nccl_session_compare_with_site(&s);
        for (int k = 0; k < 8; k++)
            assert_int_equal(visits[k], expected[k]);
        assert_int_equal(context.ntoday, rows[i].sizes < 3 ? rows[i].sizes : 3);
    }
}

TEST_CASE(where_it_is_not)
{
    measured(0);
    nccl_session_compare_with_site(&s);
    measured(1);
    launch.label = "buffer=8M";
    nccl_session_compare_with_site(&s);
    launch.label = BENCH_DEFAULT;
    static volatile sig_atomic_t stopped = 1;
    s.stop = &stopped;
    nccl_session_compare_with_site(&s);
    assert_noted("");
    s.stop = &stop;
    pool.start_code = ERR_FAILED;
    nccl_session_compare_with_site(&s);
    assert_noted("stop\nstart as jobs 20 s\n");
    assert_logged("test: a launch without nccltune's plugin: it does not start\n");
    assert_int_equal(context.ntoday, 0);
}

#define SAID(us)                                                                                                     \
    "test: warning: reduce of 64 B: jobs now take " us " us, and 100 us where nccltune's plugin is loaded and says " \
    "nothing: a tuner of the site's or NCCL's own CTA policy is at work, and gains are not over what jobs get\n"

/* By a twentieth, intervals apart; at several visits, of which the nearest to ours counts. */
TEST_CASE(what_is_something_else)
{
    static const struct {
        double site[4], ours[3];
        int visits;
        const char *said;
        double today;
    } rows[] = {
        {{104.9, 1, 1, 1}, {99, 100, 101}, 1, "", 1.049},
        {{105, 105, 105, 105}, {99, 100, 101}, 4, SAID("105"), 1.05},
        {{95, 95, 95, 95}, {99, 100, 101}, 4, SAID("95"), 0.95},
        {{95.1, 1, 1, 1}, {99, 100, 101}, 1, "", 0.951},
        {{140, 100, 1, 1}, {99, 100, 101}, 2, "", 1},
        {{140, 130, 120, 130}, {99, 100, 101}, 4, SAID("120"), 1.2},
        {{60, 70, 80, 140}, {99, 100, 101}, 4, SAID("80"), 0.8},
        {{140, 140, 140, 104}, {99, 100, 101}, 4, "", 1.04},
        {{140, 1, 1, 1}, {60, 100, 140}, 1, "", 1.4},
        {{60, 1, 1, 1}, {60, 100, 140}, 1, "", 0.6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        measured(1);
        memcpy(site_us[0], rows[i].site, sizeof site_us[0]);
        memcpy(s.defaults[0].us, rows[i].ours, sizeof rows[i].ours);
        nccl_session_compare_with_site(&s);
        assert_int_equal(visits[0], rows[i].visits);
        assert_logged(rows[i].said);
        assert_int_equal(context.ntoday, 1);
        assert_true(fabs(context.today[0].median - rows[i].today) < 1e-9);
    }
}

TEST_CASE(what_cannot_be_compared)
{
    measured(2);
    s.defaults[0].n = 1; /* one sample says nothing */
    s.defaults[1].n = 2;
    nccl_session_compare_with_site(&s);
    assert_true(visits[0] == 0 && visits[1] == 1 && context.ntoday == 1);
    measured(1);
    pool.prepare_refusals = 1;
    nccl_session_compare_with_site(&s);
    assert_true(visits[0] == 0 && !context.ntoday);
    pool.prepare_refusals = 0;
    measured(1);
    pool.measure = BENCH_DIED;
    nccl_session_compare_with_site(&s);
    assert_int_equal(context.ntoday, 0);
    pool.measure = BENCH_ANSWERED;
    measured(1);
    site_us[0][0] = 0; /* no time */
    nccl_session_compare_with_site(&s);
    assert_int_equal(context.ntoday, 0);
    pool.prepare = BENCH_DIED;
    measured(1);
    nccl_session_compare_with_site(&s);
    assert_true(visits[0] == 0 && !context.ntoday);
}

/* ---- the finding ---- */

#define TODAY(how, factor, low, high, sizes)                                                                       \
    "jobs as they run here today, " how ", take " factor " times what the default takes that gains are over (" low \
    " to " high ", " sizes ")"

static void assert_found(int n, struct bench_interval one, struct bench_interval two, int severity, const char *text)
{
    struct findings found = {.arena = arena};
    context.ntoday = n;
    context.today[0] = one;
    context.today[1] = two;
    nccl_session_judge_site(&context, &found);
    assert_int_equal(found.n, n > 0);
    if (!n)
        return;
    assert_string_equal(found.list[0].id, BENCH_TODAY);
    assert_string_equal(found.list[0].text, text);
    assert_int_equal(found.list[0].severity, severity);
    assert_int_equal(found.list[0].advice != NULL, getenv("NCCL_ALGO") != NULL);
}

TEST_CASE(what_is_written_down)
{
    const struct bench_interval same = {1, 0.95, 1.05, 3}, slower = {1.21, 1.06, 1.3, 3}, faster = {0.81, 0.7, 0.94, 3},
                                edge = {1.1, 1.05, 1.3, 3}, other_edge = {0.9, 0.8, 0.95, 3};
    unsetenv("NCCL_ALGO");
    assert_found(0, same, same, 0, NULL);
    assert_found(1, same, faster, FINDING_OK, TODAY("without nccltune", "1.00", "0.95", "1.05", "1 size"));
    assert_found(1, edge, same, FINDING_OK, TODAY("without nccltune", "1.10", "1.05", "1.30", "1 size"));
    assert_found(1, other_edge, same, FINDING_OK, TODAY("without nccltune", "0.90", "0.80", "0.95", "1 size"));
    assert_found(1, faster, same, FINDING_WARNING, TODAY("without nccltune", "0.81", "0.70", "0.94", "1 size"));
    assert_found(2, same, slower, FINDING_WARNING, TODAY("without nccltune", "1.10", "0.95", "1.30", "2 sizes"));
    assert_found(2, slower, same, FINDING_WARNING, TODAY("without nccltune", "1.10", "0.95", "1.30", "2 sizes"));
    setenv("NCCL_ALGO", "Ring", 1);
    assert_found(2, same, same, FINDING_OK, TODAY("with NCCL_ALGO=Ring", "1.00", "0.95", "1.05", "2 sizes"));
    unsetenv("NCCL_ALGO");
}

TEST_CASES_EACH(main, begin, end)
