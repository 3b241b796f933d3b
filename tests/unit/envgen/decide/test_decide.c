/* Decisions on points whose right answer is known. */
#include "envgen/decide/decide.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define DEFAULT BENCH_DEFAULT

/* Ten starts, of which no two differ by more than a hair. */
#define PROVEN(gain)                                                                              \
    {                                                                                             \
        .median = (gain), .low = (gain)-0.01, .high = (gain) + 0.01, .n = 10, .sure = (gain)-0.02 \
    }

/* One allreduce table on the baseline launch: per size the default's median and those of algorithms 3 and 4. */
static struct env_decisions *decide_sizes(struct synthetic *s, const double us[][3], int n)
{
    uint64_t bytes = 8;
    for (int i = 0; i < n; i++, bytes *= 4) {
        synthetic_add(s, COLL_ALLREDUCE, bytes, DEFAULT, DEFAULT, us[i][0], BENCH_OK);
        synthetic_add(s, COLL_ALLREDUCE, bytes, DEFAULT, "3", us[i][1], BENCH_OK);
        synthetic_add(s, COLL_ALLREDUCE, bytes, DEFAULT, "4", us[i][2], BENCH_OK);
    }
    struct env_decisions *d = synthetic_decide(s);
    assert_non_null(d);
    assert_int_equal(d->nshapes, 1);
    assert_int_equal(d->shapes[0].ncolls, 1);
    return d;
}

static void finish(struct synthetic *s, struct env_decisions *d)
{
    env_decisions_free(d);
    arena_free(s->arena);
}

static void expect_range(const struct env_decisions *d, int i, uint64_t min, uint64_t max, const char *call)
{
    const struct env_coll *c = &d->shapes[0].colls[0];
    assert_true(i < c->nranges);
    assert_int_equal(c->ranges[i].min_bytes, min);
    assert_true(c->ranges[i].max_bytes == max);
    assert_string_equal(c->ranges[i].call.label, call);
    assert_true(*c->ranges[i].why);
}

/* Behind the largest measured size, `max`, the library chooses by itself. */
static void expect_last_range(const struct env_decisions *d, int i, uint64_t min, uint64_t max, const char *call)
{
    const struct env_range *rest = &d->shapes[0].colls[0].ranges[i + 1];
    assert_int_equal(d->shapes[0].colls[0].nranges, i + 2);
    expect_range(d, i, min, max, call);
    expect_range(d, i + 1, max + 1, ENV_OPEN, DEFAULT);
    assert_int_equal(rest->npoints, 0);
}

TEST_CASE(clear_winner_takes_all_sizes)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 60, 90}, {100, 70, 95}}, 3);
    expect_last_range(d, 0, 0, 128, "3");
    const struct env_range *r = &d->shapes[0].colls[0].ranges[0];
    assert_int_equal(r->npoints, 3);
    /* (2 × 1.667 × 1.429)^(1/3) */
    assert_true(r->gain.median > 1.68 && r->gain.median < 1.69);
    assert_true(r->gain.low < r->gain.median && r->gain.high > r->gain.median);
    finish(&s, d);
}

TEST_CASE(nothing_within_the_noise)
{
    struct synthetic s = synthetic_new();
    s.spread = 0.05;
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{100, 92, 95}, {100, 99, 93}}, 2);
    assert_int_equal(d->shapes[0].colls[0].nranges, 1);
    expect_range(d, 0, 0, ENV_OPEN, DEFAULT);
    assert_non_null(strstr(d->shapes[0].colls[0].ranges[0].why, "nearest was"));
    assert_non_null(strstr(d->shapes[0].colls[0].ranges[0].why, "more, in turn with the baseline, would prove"));
    assert_int_equal(d->shapes[0].colls[0].ranges[0].call.nsettings, 0);
    finish(&s, d);
}

/* 2.9 % at no spread at all is below the margin, 3.1 % above it. */
TEST_CASE(margin_is_the_border)
{
    struct synthetic s = synthetic_new();
    s.spread = 0;
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{102.9, 100, 200}}, 1);
    expect_range(d, 0, 0, ENV_OPEN, DEFAULT);
    finish(&s, d);
    s = synthetic_new();
    s.spread = 0;
    d = decide_sizes(&s, (double[][3]){{103.1, 100, 200}}, 1);
    expect_last_range(d, 0, 0, 8, "3");
    finish(&s, d);
}

TEST_CASE(four_starts_are_too_few)
{
    for (int n = 4; n <= 5; n++) {
        struct synthetic s = synthetic_new();
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "3", 20, BENCH_OK);
        s.points.items[0].candidates[1].proof.n = n;
        struct env_decisions *d = synthetic_decide(&s);
        expect_range(d, 0, 0, n < 5 ? ENV_OPEN : 8, n < 5 ? DEFAULT : "3");
        finish(&s, d);
    }
}

TEST_CASE(crossover_lies_at_the_geometric_mean)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d =
        decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 50, 80}, {100, 90, 60}, {100, 90, 60}}, 4);
    expect_range(d, 0, 0, 63, "3"); /* between 32 and 128 */
    expect_last_range(d, 1, 64, 512, "4");
    finish(&s, d);
}

TEST_CASE(a_range_that_does_not_begin_at_the_smallest_size)
{
    struct synthetic s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 4096, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 4096, DEFAULT, "3", 50, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    expect_last_range(d, 0, 4096, 4096, "3");
    finish(&s, d);
}

/* Whether the first row, which is 3's, has no end. */
static int is_open(struct synthetic *s, struct env_decisions *d)
{
    const struct env_range *r = &d->shapes[0].colls[0].ranges[0];
    int open = r->max_bytes == ENV_OPEN;
    assert_string_equal(r->call.label, "3");
    finish(s, d);
    return open;
}

/* The default is latency and bandwidth, or what `us` says in its place; 3 has twice its bandwidth, 4 is slow. Beyond
 * the largest size what was measured has to say how it goes on. */
static int goes_on(double spread, double smaller_us, double last_us, double four_us)
{
    struct synthetic s = synthetic_new();
    s.spread = spread;
    return is_open(
        &s, decide_sizes(
                &s, (double[][3]){{110, 60, 300}, {140, 70, 300}, {smaller_us, 110, 400}, {last_us, 270, four_us}}, 4));
}

TEST_CASE(an_open_end_needs_a_law)
{
    assert_true(goes_on(0.002, 260, 740, 3000));
    assert_false(goes_on(0.002, 260, 400, 3000)); /* the default gets less steep: another algorithm, perhaps */
    assert_false(
        goes_on(0.002, 260, 740, 440)); /* a call that is hardly slower at twice the size: NCCL may turn to it */
    assert_true(goes_on(0.1, 260, 740, 3000));
    assert_false(goes_on(0.1, 260, 920, 3000)); /* gets steeper, though by intervals as wide as these it may not */
}

/* In a launch that is twice as fast there was no time for 4, which took `four_us` at the largest size in the untouched
 * one (0: was not tried there either), and here `four_here_us`. */
static int goes_on_in_a_launch(double four_us, double four_here_us)
{
    static const double us[][3] = {{110, 60, 300}, {140, 70, 300}, {260, 110, 400}, {740, 270, 0}};
    struct synthetic s = synthetic_new();
    uint64_t bytes = 8;
    s.spread = 0.002;
    for (int i = 0; i < 4; i++, bytes *= 4) {
        double four = i < 3 ? us[i][2] : four_us;
        synthetic_add(&s, COLL_ALLREDUCE, bytes, DEFAULT, DEFAULT, us[i][0], BENCH_OK);
        if (four_us > 0)
            synthetic_add(&s, COLL_ALLREDUCE, bytes, DEFAULT, "4", four, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, bytes, "ib3", DEFAULT, us[i][0] / 2, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, bytes, "ib3", "3", us[i][1] / 2, BENCH_OK);
        if (four_here_us > 0)
            synthetic_add(&s, COLL_ALLREDUCE, bytes, "ib3", "4", i < 3 ? four / 2 : four_here_us, BENCH_OK);
    }
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->shapes[0].chosen, 1);
    return is_open(&s, d);
}

TEST_CASE(what_another_launch_says_of_the_open_end)
{
    assert_true(goes_on_in_a_launch(0, 0));
    assert_true(goes_on_in_a_launch(3000, 0));
    assert_false(goes_on_in_a_launch(440, 0));
    assert_true(goes_on_in_a_launch(440, 1500)); /* it was tried here, and is steep */
    assert_true(goes_on_in_a_launch(558, 0));    /* 158 us more where 3 would have 160 in the baseline launch */
    assert_false(goes_on_in_a_launch(554, 0));   /* less by the margin */
}

/* Both are straight lines, and 3's is the less steep one for good; but from size to size it gains less. */
TEST_CASE(a_gain_that_shrinks_has_an_end)
{
    struct synthetic s = synthetic_new();
    s.spread = 0.002;
    assert_false(is_open(
        &s, decide_sizes(&s, (double[][3]){{109.6, 28, 900}, {138.4, 52, 900}, {253.6, 148, 1900}, {714.4, 532, 5900}},
                         4)));
}

/* Sizes were added where the best call changes: through three that lie close the default seems straight, and is not. */
TEST_CASE(close_sizes_are_no_law)
{
    static const double sizes[][2] = {{128, 100}, {512, 292}, {700, 347.6}, {1024, 443.4}};
    struct synthetic s = synthetic_new();
    s.spread = 0.002;
    for (int i = 0; i < 4; i++) {
        synthetic_add(&s, COLL_ALLREDUCE, (uint64_t)sizes[i][0], DEFAULT, DEFAULT, sizes[i][1], BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, (uint64_t)sizes[i][0], DEFAULT, "3", 50 + 0.1 * sizes[i][0], BENCH_OK);
    }
    assert_false(is_open(&s, synthetic_decide(&s)));
}

/* Algorithm 4 is best by a hair in the middle of 3's range: no reason to change twice. */
TEST_CASE(an_island_without_evidence_is_smoothed)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 60, 59}, {100, 50, 80}}, 3);
    expect_last_range(d, 0, 0, 128, "3");
    assert_int_equal(d->shapes[0].colls[0].ranges[0].points[1].smoothed, 1);
    finish(&s, d);
}

TEST_CASE(an_island_with_evidence_stands)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 60, 40}, {100, 50, 80}}, 3);
    assert_int_equal(d->shapes[0].colls[0].nranges, 4);
    expect_range(d, 1, 16, 63, "4");
    finish(&s, d);
}

/* At the middle size nothing beats the default, and the neighbours' choice is slower there: it is not taken over. */
TEST_CASE(a_slower_choice_is_not_taken_over)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d = decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 101, 150}, {100, 50, 80}}, 3);
    assert_int_equal(d->shapes[0].colls[0].nranges, 4);
    expect_range(d, 1, 9, 127, DEFAULT); /* all the way to where the choice was measured */
    finish(&s, d);
}

/* The machine was busy while "3" was measured at the middle size, and idle with the default: only what ran side by side
 * tells. So it does of two that have both proven a gain. */
TEST_CASE(pairs_count_and_not_times)
{
    static const struct {
        double us[3]; /* default, "3", "4" at the middle size; at the others nothing is gained */
        struct bench_interval proof[3];
        const char *choice;
    } cases[] = {{{100, 130, 120}, {{0}, PROVEN(1.3), {0}}, "3"},
                 {{100, 90, 80}, {{0}, PROVEN(1.4), PROVEN(1.2)}, "3"},
                 {{100, 80, 120}, {{0}, PROVEN(1.01), {0}}, DEFAULT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synthetic s = synthetic_new();
        for (uint64_t bytes = 8; bytes <= 128; bytes *= 4)
            for (int k = 0; k < 3; k++) {
                static const char *const calls[] = {DEFAULT, "3", "4"};
                synthetic_add(&s, COLL_ALLREDUCE, bytes, DEFAULT, calls[k],
                              bytes == 32 ? cases[i].us[k] : 100 + 20.0 * k, BENCH_OK);
                if (bytes == 32)
                    s.points.items[1].candidates[k].proof = cases[i].proof[k];
            }
        struct env_decisions *d = synthetic_decide(&s);
        const struct env_point *p = NULL;
        for (int r = 0; r < d->shapes[0].colls[0].nranges; r++)
            for (int k = 0; k < d->shapes[0].colls[0].ranges[r].npoints; k++)
                if (d->shapes[0].colls[0].ranges[r].points[k].bytes == 32)
                    p = &d->shapes[0].colls[0].ranges[r].points[k];
        assert_string_equal(p->options[p->chosen].call.label, cases[i].choice);
        finish(&s, d);
    }
}

/* Between two sizes a choice holds as far as it does at the other one, too. */
TEST_CASE(between_two_choices)
{
    static const struct {
        double us[2][3]; /* default, "3", "4" at 8 and 32 bytes */
        uint64_t end, begin;
    } cases[] = {{{{100, 50, 80}, {100, 80, 50}}, 15, 16},  /* both: in the middle */
                 {{{100, 50, 120}, {100, 80, 50}}, 31, 32}, /* the smaller one's */
                 {{{100, 50, 80}, {100, 120, 50}}, 8, 9},   /* the larger one's */
                 {{{100, 50, 120}, {100, 120, 50}}, 8, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct synthetic s = synthetic_new();
        struct env_decisions *d = decide_sizes(&s, cases[i].us, 2);
        int open = cases[i].begin > cases[i].end + 1;
        expect_range(d, 0, 0, cases[i].end, "3");
        if (open)
            expect_range(d, 1, cases[i].end + 1, cases[i].begin - 1, DEFAULT);
        expect_range(d, 1 + open, cases[i].begin, 32, "4");
        finish(&s, d);
    }
}

/* Where a call was only explored, in one start, it has to gain more there than a start may be off. */
TEST_CASE(between_two_choices_where_starts_differ)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        struct synthetic s = synthetic_new();
        env_decisions_free(decide_sizes(&s, (double[][3]){{100, 50, 80}, {100, 80, 50}}, 2));
        for (int i = 0; i < 2; i++)
            for (int k = 1; k < 3; k++) {
                struct bench_interval *proof = &s.points.items[i].candidates[k].proof;
                proof->error = (noisy ? 0.15 : 0.05) / 3; /* over nine starts */
                proof->worth = 9;
                *proof = k - 1 == i ? *proof : (struct bench_interval){0};
            }
        struct env_decisions *d = synthetic_decide(&s);
        expect_range(d, 0, 0, noisy ? 8 : 15, "3");
        expect_range(d, noisy ? 2 : 1, noisy ? 32 : 16, 32, "4");
        finish(&s, d);
    }
}

TEST_CASE(a_call_that_failed_once_is_out)
{
    for (enum bench_status bad = BENCH_WRONG; bad < BENCH_STATUS_COUNT; bad++) {
        struct synthetic s = synthetic_new();
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "3", 20, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "4", 80, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 64, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 64, DEFAULT, "3", 10, bad);
        synthetic_add(&s, COLL_ALLREDUCE, 64, DEFAULT, "4", 80, BENCH_OK);
        struct env_decisions *d = synthetic_decide(&s);
        expect_last_range(d, 0, 0, 64, "4");
        finish(&s, d);
    }
}

TEST_CASE(without_a_default_nothing_is_decided)
{
    struct synthetic s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", "3", 10, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->shapes[0].chosen, -1);
    expect_range(d, 0, 0, ENV_OPEN, DEFAULT);
    finish(&s, d);
    s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 0, BENCH_FAILED);
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "3", 10, BENCH_OK);
    d = synthetic_decide(&s);
    expect_range(d, 0, 0, ENV_OPEN, DEFAULT);
    finish(&s, d);
}

/* Four gains of the same starts err alike: the mean is no more certain than each. */
TEST_CASE(mean_of_gains)
{
    struct bench_interval g = {.median = 2, .low = 2 / 1.21, .high = 2 * 1.21, .n = 9, .sure = 1.5},
                          four[] = {g, g, g, g};
    four[3].n = 7;
    four[2].lost = 1;
    struct bench_interval mean = env_mean_gain(four, NULL, 4);
    assert_true(mean.median > 1.9999 && mean.median < 2.0001);
    assert_true(mean.low > 2 / 1.2101 && mean.low < 2 / 1.2099);
    assert_true(mean.high > 2 * 1.2099 && mean.high < 2 * 1.2101);
    assert_true(mean.sure > 1.4999 && mean.sure < 1.5001);
    assert_int_equal(mean.n, 7);
    assert_int_equal(mean.lost, 1);
    assert_int_equal(env_mean_gain(four, NULL, 0).n, 0);
}

/* What a model gets wrong does not average out. */
TEST_CASE(bands_of_predictions_stay_as_wide)
{
    struct bench_interval four[4];
    for (int i = 0; i < 4; i++)
        four[i] = (struct bench_interval){2, 1, 4, 1, 1};
    struct bench_interval mean = env_mean_gain(four, NULL, 4);
    assert_int_equal(mean.predicted, 1);
    assert_true(mean.low > 0.9999 && mean.low < 1.0001 && mean.high > 3.9999 && mean.high < 4.0001);
}

/* A prediction is no sample: its interval alone decides whether there is a gain. */
TEST_CASE(predictions_are_chosen_by_their_bands)
{
    struct synthetic s = synthetic_new();
    s.engine = "model";
    s.library = "NCCL 2.28.9, predicted";
    synthetic_add(&s, COLL_ALLREDUCE, 1024, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 1024, BENCH_DEFAULT, "3", 30, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 65536, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 65536, BENCH_DEFAULT, "3", 80, BENCH_OK);
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 2; c++) {
            struct bench_interval *t = &s.points.items[i].candidates[c].time_us;
            *t = (struct bench_interval){t->median, t->median / 1.5, t->median * 1.5, 1, 1};
            s.points.items[i].candidates[c].proof.n = 0;
        }
    struct env_decisions *d = synthetic_decide(&s);
    const struct env_coll *c = &d->shapes[0].colls[0];
    assert_int_equal(c->nranges, 2);
    assert_string_equal(c->ranges[0].call.label, "3");
    assert_non_null(strstr(c->ranges[0].why, "over the default, predicted at 1 KiB"));
    assert_string_equal(c->ranges[1].call.label, BENCH_DEFAULT);
    assert_non_null(strstr(c->ranges[1].why, "nearest was 3 at 64 KiB"));
    assert_non_null(strstr(c->ranges[1].why, ", predicted"));
    env_decisions_free(d);
    arena_free(s.arena);
}

/* A launch must beat what calls alone can reach. */
TEST_CASE(a_launch_is_compared_with_the_best_call_untouched)
{
    struct synthetic s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "3", 50, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", "3", 50, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(d->shapes[0].launches[d->shapes[0].chosen].knobs.label, DEFAULT);
    expect_last_range(d, 0, 0, 8, "3");
    finish(&s, d);
}

/* ---- input that makes no sense --------------------------------------------------------------------------------------
 */

TEST_CASE(two_libraries_are_refused)
{
    struct synthetic s = synthetic_new();
    struct err e = {0};
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    s.library = "Open MPI 5.0.3";
    synthetic_add(&s, COLL_ALLREDUCE, 32, DEFAULT, DEFAULT, 100, BENCH_OK);
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    assert_int_equal(env_decide(d, &s.points, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "Open MPI 5.0.3"));
    finish(&s, d);
}

TEST_CASE(a_default_with_settings_is_refused)
{
    struct synthetic s = synthetic_new();
    struct err e = {0};
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    struct bench_setting extra = {"coll_tuned_allreduce_algorithm", "4"};
    s.points.items[0].candidates[0].call.settings = &extra;
    s.points.items[0].candidates[0].call.nsettings = 1;
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    assert_int_equal(env_decide(d, &s.points, &e), ERR_FAILED);
    finish(&s, d);
}

TEST_CASE(no_points_no_decisions)
{
    struct synthetic s = synthetic_new();
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->nshapes, 0);
    finish(&s, d);
}

/* ---- evidence -------------------------------------------------------------------------------------------------------
 */

TEST_CASE(evidence_names_journal_and_lines)
{
    static double us[] = {100};
    struct arena *a = arena_new();
    struct bench_result items[4];
    for (int i = 0; i < 4; i++)
        items[i] = (struct bench_result){.engine = "mpi",
                                         .library = "Open MPI 4.1.4",
                                         .coll = COLL_ALLREDUCE,
                                         .bytes = 8,
                                         .nodes = 4,
                                         .ranks = 4,
                                         .launch = {.label = DEFAULT},
                                         .call = {.label = i ? "3" : DEFAULT},
                                         .line = 2 + i,
                                         .source = i == 3 ? "results-2.jsonl" : NULL,
                                         .times_us = us,
                                         .ntimes = 1};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct err e = {0};
    assert_int_equal(env_decide(d, bench_points_of(&(struct bench_results){.items = items, .count = 4}, a), &e), 0);
    const struct env_point *p = &d->shapes[0].colls[0].ranges[0].points[0];
    assert_string_equal(p->options[0].lines, "results.jsonl:2");
    assert_string_equal(p->options[1].lines, "results.jsonl:3,4 results-2.jsonl:5");
    env_decisions_free(d);
    arena_free(a);
}

TEST_CASES(test_decide)
