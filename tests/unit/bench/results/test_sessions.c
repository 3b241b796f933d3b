/* What sessions of two candidates say of them. */
#include "bench/results/points.h"
#include "core/stats.h"
#include "tests/lib/unit.h"

/* What one session says of a call. */
struct visit {
    int round;
    double us;
};

static struct bench_candidate candidate(const struct visit *visits, int n)
{
    static struct bench_result made[1024];
    static const struct bench_result *list[1024];
    static int used;
    int first = used;
    for (int i = 0; i < n; i++, used++) {
        made[used] = (struct bench_result){.round = visits[i].round, .times_us = &visits[i].us, .ntimes = 1};
        list[used] = &made[used];
    }
    return (struct bench_candidate){.results = list + first, .nresults = n};
}
#define CANDIDATE(list) candidate(list, sizeof(list) / sizeof *(list))

/* Screening, wrong data, a death and a prediction are no sessions. */
TEST_CASE(sessions_that_count)
{
    const double us = 50;
    const struct bench_result good = {.round = 1, .times_us = &us, .ntimes = 1},
                              dropped = {.round = 2, .times_us = &us, .ntimes = 1, .status = BENCH_DROPPED},
                              others[] = {{.times_us = &us, .ntimes = 1},
                                          {.round = 3, .times_us = &us, .ntimes = 1, .status = BENCH_WRONG},
                                          {.round = 4, .status = BENCH_CRASHED},
                                          {.round = 5, .times_us = &us, .ntimes = 1, .low_us = 40, .high_us = 60}};
    const struct bench_result *list[] = {&others[0], &good, &dropped, &others[1], &others[2], &others[3]};
    struct visit slow[] = {{0, 100}, {1, 100}, {2, 100}, {3, 100}, {4, 100}, {5, 100}};
    struct bench_candidate a = CANDIDATE(slow), b = {.results = list, .nresults = 6};
    const struct bench_candidate *from[] = {&a}, *to[] = {&b};
    assert_int_equal(bench_sessions_gain(from, to, NULL, 1, 0.95, 1).n, 2);
}

TEST_CASE(one_point)
{
    /* Round 2 went over the point five times, and was disturbed in most; 4 has only one side. */
    struct visit slow[] = {{1, 100}, {2, 200}, {2, 400}, {2, 200}, {2, 400}, {2, 400}, {3, 100}, {4, 1}},
                 fast[] = {{3, 25}, {2, 100}, {1, 50}, {5, 1}};
    struct bench_candidate a = CANDIDATE(slow), b = CANDIDATE(fast);
    const struct bench_candidate *from[] = {&a}, *to[] = {&b}, *nobody[] = {NULL};
    struct bench_interval g = bench_sessions_gain(from, to, NULL, 1, 0.95, 1);
    assert_int_equal(g.n, 3);
    assert_near(g.median, cbrt(2 * 2 * 4), 1e-9);
    double logs[] = {log(2), log(2), log(4)}, mean = (logs[0] + logs[1] + logs[2]) / 3, squares = 0;
    for (int i = 0; i < 3; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    double half = stats_student_t(2, 0.95) * sqrt(squares / 2 / 3);
    assert_near(g.low, exp(mean - half), 1e-9);
    assert_near(g.high, exp(mean + half), 1e-9);
    b.nresults = 2; /* too few for an interval */
    g = bench_sessions_gain(from, to, NULL, 1, 0.95, 1);
    assert_int_equal(g.n, 2);
    assert_near(g.low, 2, 1e-9);
    assert_near(g.high, 4, 1e-9);
    assert_int_equal(bench_sessions_gain(from, nobody, NULL, 1, 0.95, 1).n, 0);
    assert_int_equal(bench_sessions_gain(nobody, to, NULL, 1, 0.95, 1).n, 0);
}

TEST_CASE(several_points)
{
    struct visit slow[] = {{1, 100}, {2, 100}, {3, 100}}, fast[] = {{1, 50}, {2, 50}, {3, 50}},
                 same[] = {{1, 100}, {3, 100}}, wild[] = {{1, 1}, {2, 1}, {3, 1}};
    struct bench_candidate a = CANDIDATE(slow), b = CANDIDATE(fast), c = CANDIDATE(same), w = CANDIDATE(wild);
    const struct bench_candidate *from[] = {&a, &a, &a, &a}, *two[] = {&b, &c}, *four[] = {&b, &b, &b, &w},
                                 *back[] = {&w, &b, &b, &b}, *three[] = {&b, &c, &c};
    /* Once for 50 and three times for 100, and where one is missing what is there. */
    const double weights[] = {1, 3}, one[] = {1, 0};
    struct bench_interval g = bench_sessions_gain(from, two, weights, 2, 0.95, 1);
    assert_int_equal(g.n, 3);
    assert_near(g.median, exp((2 * log(2) / 4 + log(2)) / 3), 1e-9);
    assert_near(bench_sessions_gain(from, two, one, 2, 0.95, 1).median, 2, 1e-9);
    /* Of three points less than half says nothing. */
    assert_int_equal(bench_sessions_gain(from, three, NULL, 3, 0.95, 1).n, 2);
    /* Of four each counts for a factor of four at most, either way; of fewer each as it is. */
    assert_near(bench_sessions_gain(from, four, NULL, 4, 0.95, 1).median, pow(2 * 2 * 2 * 4, 0.25), 1e-9);
    const struct bench_candidate *from_wild[] = {&w, &a, &a, &a};
    const struct bench_candidate *to_slow[] = {&a, &b, &b, &b};
    assert_near(bench_sessions_gain(from_wild, to_slow, NULL, 4, 0.95, 1).median, pow(2 * 2 * 2 / 4.0, 0.25), 1e-9);
    assert_near(bench_sessions_gain(from, back, NULL, 3, 0.95, 1).median, cbrt(100 * 2 * 2), 1e-9);
}

/* What a gain has to be worth a setting: five starts, an interval over them that clears the margin, sure to be no loss,
 * and no start that lost. */
TEST_CASE(what_clears)
{
    static const struct {
        double percent[8]; /* of each start */
        int n, rivals, lost, clears;
    } cases[] = {
        {{30, 31, 29, 30, 32}, 5, 1, 0, 1},
        {{30, 31, 29, 30}, 4, 1, 0, 0},          /* too few starts */
        {{2.5, 2.6, 2.4, 2.5, 2.5}, 5, 1, 0, 0}, /* sure, and not worth it */
        {{30, 31, 29, 30, 32}, 5, 1, 1, 0},      /* a start has lost */
        {{10, 30, 18, 22, 12}, 5, 1, 0, 0}, /* 95 % of intervals would do; of 200 rows one is to be false, not five */
        {{10, 30, 18, 22, 12, 17, 20, 15}, 8, 1, 0, 1},
        {{24, 31, 27, 35, 32}, 5, 1, 0, 1},
        {{24, 31, 27, 35, 32}, 5, 200, 0, 0}, /* the best of many */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double logs[8];
        for (int k = 0; k < cases[i].n; k++)
            logs[k] = log(1 + cases[i].percent[k] / 100);
        struct bench_interval g = bench_gain_over_starts(logs, cases[i].n, 0, 0.95, cases[i].rivals);
        g.lost = cases[i].lost;
        if (bench_gain_clears(g, 0.03) != cases[i].clears)
            fail_msg("case %zu: %.3f (%.3f to %.3f), sure of %.3f", i, g.median, g.low, g.high, g.sure);
    }
    assert_true(bench_gain_clears(
        (struct bench_interval){.median = 1.2, .low = 1.1, .high = 1.3, .n = 1, .predicted = 1}, 0.03));
    assert_false(bench_gain_clears((struct bench_interval){.median = 2, .low = 1.9, .high = 2.1, .n = 50}, 0.03));
}

/* Gains of 20 calls in `n` starts, each as in as many starts as `lasts` says. */
static double alike_where(int lasts, int n)
{
    static double logs[20][20];
    struct bench_starts calls[20];
    unsigned drawn = 7;
    for (int c = 0; c < 20; c++) {
        for (int i = 0; i < n; i++) {
            drawn = drawn * 1103515245 + 12345;
            logs[c][i] = (i + c) % lasts && i ? logs[c][i - 1] : (drawn >> 16 & 0xfff) / 4096.0;
        }
        calls[c] = (struct bench_starts){logs[c], n};
    }
    return bench_starts_alike(calls, 20);
}

/* What lasts longer than a start is not one observation for each of them. */
TEST_CASE(starts_that_share_a_spell)
{
    const double logs[] = {0.10, 0.11, 0.10, 0.12, 0.11};
    struct bench_interval apart = bench_gain_over_starts(logs, 5, 0, 0.95, 1),
                          alike = bench_gain_over_starts(logs, 5, 0.6, 0.95, 1);
    assert_near(apart.worth, 5, 1e-9);
    assert_true(alike.worth < 2.5);
    assert_true(log(alike.high / alike.low) > 3 * log(apart.high / apart.low));
    assert_true(bench_gain_clears(apart, 0.03) && !bench_gain_clears(alike, 0.03));
    for (int n = 5; n <= 20; n += 15) {
        assert_true(alike_where(1, n) < 0.1);
        assert_true(alike_where(3, n) > 0.4);
    }
    assert_near(bench_starts_alike(&(struct bench_starts){logs, 2}, 1), 0, 1e-5);
    assert_near(bench_starts_alike(NULL, 0), 0, 1e-5);
    double rounded[6]; /* what a library without any noise leaves */
    for (int i = 0; i < 6; i++)
        rounded[i] = 0.7 + 1e-9 * i;
    struct bench_starts still[8];
    for (int i = 0; i < 8; i++)
        still[i] = (struct bench_starts){rounded, 6};
    assert_near(bench_starts_alike(still, 8), 0, 1e-5);
    /* One call alone, of a log of six runs, that goes down by a tenth of a per cent each time. */
    const double down[] = {0.692, 0.691, 0.690, 0.689, 0.688, 0.687};
    double few = bench_starts_alike(&(struct bench_starts){down, 6}, 1);
    assert_true(bench_gain_clears(bench_gain_over_starts(down, 6, few, 0.95, 1), 0.03));
}

/* Lower quartiles, of as many passes on both sides: a launch that makes more of them looks no faster and no slower. */
TEST_CASE(passes_of_a_session)
{
    struct visit slow[70], fast[70];
    for (int i = 0; i < 70; i++) { /* the last ones are what there is no room for: 64 passes count */
        slow[i] = (struct visit){1, i < 64 ? 200 + i % 4 * 4 : 1};
        fast[i] = (struct visit){1, i < 64 ? 100 + i % 4 * 2 : 1};
    }
    const int counts[][2] = {{1, 1}, {1, 2}, {4, 1}, {3, 8}, {70, 2}, {70, 70}};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        struct bench_candidate a = candidate(slow, counts[k][0]), b = candidate(fast, counts[k][1]);
        const struct bench_candidate *from[] = {&a}, *to[] = {&b};
        struct bench_interval g = bench_sessions_gain(from, to, NULL, 1, 0.95, 1);
        assert_int_equal(g.n, 1);
        assert_near(g.median, 2, 1e-9);
        assert_near(g.low, 2, 1e-9);
        assert_near(g.high, 2, 1e-9);
    }
    struct visit met[] = {
        {1, 50}, {1, 10}, {1, 10}, {1, 50}, {1, 50}}; /* what passes, met on more than half the ways */
    struct visit still[] = {{1, 10}, {1, 10}, {1, 10}, {1, 10}, {1, 10}};
    struct bench_candidate a = CANDIDATE(still), b = CANDIDATE(met);
    const struct bench_candidate *from[] = {&a}, *to[] = {&b};
    assert_near(bench_sessions_gain(from, to, NULL, 1, 0.95, 1).median, 1, 1e-9);
}

/* Of sessions that were cut short those count that have half of the points. */
TEST_CASE(sessions_cut_short)
{
    struct visit both[] = {{1, 100}, {2, 100}, {3, 100}}, twice[] = {{1, 50}, {2, 50}, {3, 50}}, first[] = {{1, 25}},
                 none[] = {{0, 0}};
    struct bench_candidate a = CANDIDATE(both), b = CANDIDATE(twice), c = CANDIDATE(first), d = CANDIDATE(none);
    const struct bench_candidate *from[] = {&a, &a, &a, &a}, *half[] = {&b, &c, &d, &d}, *more[] = {&b, &c, &c, &d},
                                 *late[] = {&c, &c, &c, &b};
    d.nresults = 0;
    assert_int_equal(bench_sessions_gain(from, half, NULL, 3, 0.95, 1).n, 3);
    assert_int_equal(bench_sessions_gain(from, more, NULL, 3, 0.95, 1).n, 1);
    assert_near(bench_sessions_gain(from, more, NULL, 3, 0.95, 1).median, cbrt(2 * 4 * 4), 1e-9);
    assert_int_equal(bench_sessions_gain(from, late, NULL, 4, 0.95, 1).n, 1);
    assert_int_equal(bench_sessions_gain(from, late + 3, NULL, 1, 0.95, 1).n, 3);
    struct bench_interval g = bench_sessions_gain(from, half, NULL, 0, 0.95, 1);
    assert_true(g.n == 0 && g.median == 0);
}

/* A setting that every class of nodes has for itself counts once; with as many a longer list leaves out less, and lists
 * of different things are not compared. */
TEST_CASE(what_departs_more)
{
    static const struct bench_setting s[] = {{"A", "1"},        {"HCA", "=a:1,b:1"}, {"HCA", "=b:1"},
                                             {"X@one", "=a,b"}, {"X@two", "=c,d,e"}, {"X@one", "=a,b,c"},
                                             {"XY@one", "1"},   {"HCA", "b,c,d"},    {"A", "1"}};
    static const struct {
        struct {
            int first, n;
        } x, y;
        int sign;
    } cases[] = {{{0, 0}, {0, 0}, 0}, {{0, 1}, {0, 0}, 1}, {{0, 1}, {1, 1}, 0}, {{2, 1}, {1, 1}, 1},
                 {{1, 1}, {7, 1}, 1}, {{3, 1}, {5, 1}, 1}, {{3, 2}, {5, 1}, 1}, {{3, 2}, {3, 1}, 0},
                 {{4, 1}, {3, 1}, 0}, {{5, 2}, {4, 1}, 1}, {{0, 2}, {7, 2}, 1}, {{3, 2}, {1, 1}, 0},
                 {{1, 2}, {7, 2}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_knobs x = {"x", s + cases[i].x.first, cases[i].x.n}, y = {"y", s + cases[i].y.first, cases[i].y.n};
        int there = bench_departs_more(&x, &y), back = bench_departs_more(&y, &x);
        assert_int_equal((there > 0) - (there < 0), cases[i].sign);
        assert_int_equal((back > 0) - (back < 0), -cases[i].sign);
    }
}

/* What is said of the smallest gain is so: one that is larger clears with as many starts, a smaller one does not. */
TEST_CASE(a_gain_clears_above_the_smallest)
{
    static const double starts[] = {0.02, -0.01, 0.03, 0, -0.04, 0.01, -0.02, 0.01};
    double logs[8];
    struct bench_candidate c = {.proof = bench_gain_over_starts(starts, 8, 0, 0.95, 1)};
    struct bench_point point = {.candidates = &c, .ncandidates = 1};
    const struct bench_points points = {.items = &point, .count = 1, .confidence = 0.95};
    const struct bench_noise noise = bench_noise_of(&points), bad = {0.3, 1, 1, 0.95}, still = {0.002, 1, 1, 0.95};
    double smallest = bench_smallest_gain(&noise, 8, 0.03);
    assert_true(smallest > 1.03 && bench_smallest_gain(&noise, 32, 0.03) < smallest);
    assert_int_equal(bench_starts_for(&noise, smallest * 1.0001, 0.03), 8);
    assert_int_equal(bench_starts_for(&still, 1.06, 0.03), BENCH_FEWEST);
    assert_true(bench_starts_for(&bad, 1.06, 0.03) > 300);
    assert_int_equal(bench_starts_for(&bad, 1.03, 0.03), BENCH_MANY_STARTS);
    for (int above = 0; above < 2; above++) {
        for (int i = 0; i < 8; i++)
            logs[i] = starts[i] + log(smallest) + (above ? 1e-4 : -1e-4);
        assert_int_equal(bench_gain_clears(bench_gain_over_starts(logs, 8, 0, 0.95, 1), 0.03), above);
    }
}

TEST_CASES(test_sessions)
