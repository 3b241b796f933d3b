/* What is explored and proven at one point, on engines whose winner is known. */
#include "bench/search/rounds.h"
#include "core/progress.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_engine.h"

static struct bench_knobs fake_knobs[FAKE_CALLS];
static struct candidate all[FAKE_CALLS];
static const struct bench_knobs launch = {.label = BENCH_DEFAULT};
static struct arena *arena;

static struct rounds start(uint64_t bytes)
{
    struct err e;
    memset(&fake, 0, sizeof fake);
    arena = arena_new();
    for (int i = 0; i < FAKE_CALLS; i++) {
        fake_knobs[i] = (struct bench_knobs){.label = fake_calls[i].label};
        all[i] = (struct candidate){.knobs = &fake_knobs[i]};
    }
    return (struct rounds){.engine = &fake_ops,
                           .session = fake_open(NULL, &launch, 1, &fake.stop, &e),
                           .stop = &fake.stop,
                           .arena = arena,
                           .at.coll = COLL_ALLREDUCE,
                           .at.bytes = bytes,
                           .candidates = all,
                           .ncandidates = FAKE_CALLS,
                           .samples = 9,
                           .until_s = progress_now_s() + 30,
                           .watchdog_s = 10};
}

static void end(struct rounds *r)
{
    fake_close(r->session, 0);
    arena_free(arena);
}

TEST_CASE(finds_the_winner)
{
    static const struct {
        uint64_t bytes;
        int winner;
    } cases[] = {{8, 1}, {1024, 1}, {1 << 20, 2}, {16 << 20, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rounds r = start(cases[i].bytes);
        char detail[BENCH_DETAIL];
        assert_int_equal(rounds_explore(&r, detail), BENCH_ANSWERED);
        assert_int_equal(all[cases[i].winner].status, BENCH_OK);
        assert_true(all[cases[i].winner].n >= r.samples);
        assert_true(all[0].status == BENCH_OK && all[0].n >= r.samples);
        for (int k = 1; k < FAKE_CALLS; k++)
            if (k != cases[i].winner)
                assert_true(rounds_over_default(&all[k]) > rounds_over_default(&all[cases[i].winner]));
        /* Hopeless from the start: it costs one sample, two when they are short. */
        assert_int_equal(all[3].n, all[3].us[0] < ROUNDS_SHORT_US ? 2 : 1);
        end(&r);
    }
}

TEST_CASE(no_time_still_measures_the_default)
{
    struct rounds r = start(8);
    char detail[BENCH_DETAIL];
    r.until_s = 0;
    assert_int_equal(rounds_explore(&r, detail), BENCH_ANSWERED);
    assert_int_equal(all[0].n, 1);
    assert_int_equal(all[1].n, 0);
    end(&r);
}

TEST_CASE(wrong_data_is_out)
{
    struct rounds r = start(8);
    char detail[BENCH_DETAIL];
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 8, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1};
    assert_int_equal(rounds_explore(&r, detail), BENCH_ANSWERED);
    assert_int_equal(all[1].status, BENCH_WRONG);
    assert_non_null(strstr(all[1].detail, "expected 7"));
    assert_int_equal(all[1].n, 0);
    assert_true(all[0].n >= r.samples);
    end(&r);
}

TEST_CASE(a_death_is_blamed_on_who_ran)
{
    for (int failed = 0; failed < FAKE_CALLS; failed++) {
        struct rounds r = start(8);
        char detail[BENCH_DETAIL] = "";
        fake.trouble[0] = (struct fake_trouble){.call = fake_calls[failed].label,
                                                .bytes = 8,
                                                .outcome = failed % 2 ? BENCH_SILENT : BENCH_DIED,
                                                .times = 1};
        assert_int_equal(rounds_explore(&r, detail), failed % 2 ? BENCH_SILENT : BENCH_DIED);
        assert_int_equal(r.failed, failed);
        assert_non_null(strstr(detail, "signal 9"));
        end(&r);
    }
}

TEST_CASE(a_death_is_not_blamed_on_who_had_failed_before)
{
    struct rounds r = start(4096); /* "early" and "middle" are close */
    char detail[BENCH_DETAIL] = "";
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 4096, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1, .after = 2};
    fake.trouble[1] =
        (struct fake_trouble){.call = "middle", .bytes = 4096, .outcome = BENCH_SILENT, .times = 1, .after = 3};
    assert_int_equal(rounds_explore(&r, detail), BENCH_SILENT);
    assert_int_equal(all[1].status, BENCH_WRONG);
    assert_int_equal(r.failed, 4);
    end(&r);
}

TEST_CASE(stops_when_told)
{
    for (int after = 1; after < 12; after += 5) {
        struct rounds r = start(8);
        char detail[BENCH_DETAIL];
        fake.stop_after = after;
        assert_int_equal(rounds_explore(&r, detail), BENCH_STOPPED);
        assert_int_equal(fake.samples, after);
        end(&r);
    }
}

/* ---- refinements ---- */

/* What each call takes, microseconds, up to 1 % more. */
static const struct {
    const char *label, *refines;
    double us;
} calls[] = {
    {BENCH_DEFAULT, NULL, 1000}, {"near", NULL, 500},     {"near/1", "near", 498}, {"near/2", "near", 640},
    {"also", NULL, 650},         {"also/1", "also", 300}, {"far", NULL, 1400},     {"far/1", "far", 100},
};
#define CALLS ((int)(sizeof calls / sizeof *calls))
enum { DEFAULT, NEAR, NEAR_1, NEAR_2, ALSO, ALSO_1, FAR, FAR_1 };

static int drawn;
static int quiet = 1000; /* samples of the default until all take three times as long */

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            for (int c = 0; c < CALLS; c++)
                if (!strcmp(calls[c].label, b->shots[i].knobs->label)) {
                    quiet -= c == DEFAULT;
                    tell(user, i, BENCH_OK, (quiet < 0 ? 3 : 1) * calls[c].us * (1 + 0.001 * (drawn++ * 7 % 10)), NULL);
                }
        }
    return BENCH_ANSWERED;
}

static const struct bench_measure_ops engine = {.measure = measure};
static struct bench_session session = {1, 2};
static volatile sig_atomic_t stop;

static void run_refinements(void)
{
    struct bench_knobs knobs[CALLS];
    struct candidate candidates[CALLS];
    char detail[BENCH_DETAIL];
    for (int i = 0; i < CALLS; i++) {
        knobs[i] = (struct bench_knobs){.label = calls[i].label};
        candidates[i] = (struct candidate){.knobs = &knobs[i], .refines = calls[i].refines};
    }
    struct rounds r = {.engine = &engine,
                       .session = &session,
                       .stop = &stop,
                       .arena = arena_new(),
                       .at.bytes = 8,
                       .candidates = candidates,
                       .ncandidates = CALLS,
                       .samples = 9,
                       .until_s = progress_now_s() + 30,
                       .watchdog_s = 10};
    assert_int_equal(rounds_explore(&r, detail), BENCH_ANSWERED);

    /* The second best call's refinement wins. */
    assert_int_equal(candidates[ALSO_1].status, BENCH_OK);
    assert_true(candidates[ALSO_1].n >= r.samples);
    /* What is far behind is not refined, whatever that would have given. */
    assert_true(candidates[FAR].n > 0);
    assert_int_equal(candidates[FAR_1].n, 0);
    /* The default is run again beside the refinements. */
    assert_int_equal(candidates[DEFAULT].status, BENCH_OK);
    assert_true(candidates[DEFAULT].n > r.samples);
    arena_free(r.arena);
}

/* Also where a neighbour's traffic begins meanwhile: what is close is so beside the default of the same turn. */
TEST_CASE(refinements_of_what_came_close_run)
{
    run_refinements();
    quiet = 7;
    run_refinements();
    quiet = 1000;
}

/* Names two variations of the call that has won. */
static int vary(void *user, struct rounds *r, const struct bench_knobs *winner)
{
    const struct bench_knobs *knobs = user;
    assert_string_equal(winner->label, "near");
    for (int i = 0; i < 2; i++)
        r->candidates[r->ncandidates++] = (struct candidate){.knobs = &knobs[i], .refines = winner->label};
    return 2;
}

/* "also/1" and "near/2" are times that the table has, whatever they vary here. */
TEST_CASE(the_winner_is_varied)
{
    struct bench_knobs knobs[] = {{.label = BENCH_DEFAULT}, {.label = "near"}, {.label = "also"}};
    struct bench_knobs more[] = {{.label = "also/1"}, {.label = "near/2"}};
    struct candidate candidates[5] = {{.knobs = &knobs[0]}, {.knobs = &knobs[1]}, {.knobs = &knobs[2]}};
    char detail[BENCH_DETAIL];
    struct rounds r = {.engine = &engine,
                       .session = &session,
                       .stop = &stop,
                       .arena = arena_new(),
                       .at.bytes = 8,
                       .candidates = candidates,
                       .ncandidates = 3,
                       .samples = 9,
                       .until_s = progress_now_s() + 30,
                       .watchdog_s = 10,
                       .vary = vary,
                       .user = more};
    assert_int_equal(rounds_explore(&r, detail), BENCH_ANSWERED);
    assert_int_equal(r.ncandidates, 5);
    assert_int_equal(candidates[3].status, BENCH_OK);
    assert_true(candidates[3].n >= r.samples);
    assert_true(rounds_over_default(&candidates[4]) > rounds_over_default(&candidates[3]));
    arena_free(r.arena);
}

/* ---- proving ---- */

static char order[4096];   /* of the shots: 0 the default, else the candidate's last letter */
static double behind_slow; /* what comes behind the call "slows" takes so much longer */

static enum bench_outcome note_order(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *halt,
                                     bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    static int slows, samples;
    (void)s, (void)halt, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            const char *label = b->shots[i].knobs->label;
            int is_default = !strcmp(label, BENCH_DEFAULT);
            if (b->nshots > 1)
                strcat(order, is_default ? "0" : label + strlen(label) - 1);
            tell(user, i, BENCH_OK, 1000 * (slows ? behind_slow : 1) + 0.001 * samples++, NULL);
            slows = !strcmp(label, "slows");
        }
    return BENCH_ANSWERED;
}

/* Each candidate is as often before the default as behind it, and both of a pair come behind the same: a call that
 * slows whoever comes next gains nothing by that. */
TEST_CASE(pairs_are_fair)
{
    static const struct bench_measure_ops noting = {.measure = note_order};
    static struct bench_knobs three[] = {{.label = BENCH_DEFAULT}, {.label = "slows"}, {.label = "b"}};
    int before[2] = {0};
    behind_slow = 1.5;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct candidate c[] = {{.knobs = &three[0]}, {.knobs = &three[1], .cold = 1}, {.knobs = &three[2]}};
        struct rounds r = {.engine = &noting,
                           .session = &session,
                           .stop = &stop,
                           .arena = arena_new(),
                           .candidates = c,
                           .ncandidates = 3,
                           .samples = 8,
                           .seed = seed,
                           .until_s = progress_now_s() + 30};
        char detail[BENCH_DETAIL];
        *order = 0;
        assert_int_equal(rounds_prove(&r, detail), BENCH_ANSWERED);
        assert_int_equal(strlen(order), 2 * 4 * 5);
        for (const char *o = order; *o; o += 5) {
            assert_true(o[1] == o[0] && o[2] == o[3] && o[4] == o[1] && o[2] != o[1]);
            before[o[0] == '0']++;
        }
        for (int i = 1; i < 3; i++) {
            double sum = 0;
            assert_int_equal(c[i].n, 8);
            for (int k = 0; k < 8; k++)
                sum += c[i].us[k] / c[i].beside_us[k] - 1;
            assert_true(fabs(sum) < 0.01);
        }
        assert_int_equal(c[0].n, 16);
        arena_free(r.arena);
    }
    assert_true(before[0] > 40 && before[1] > 40);
}

static int fewest_calls, most_calls; /* of the samples that were taken with a coarse clock */

static enum bench_outcome tick(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *halt,
                               bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)halt, (void)detail;
    for (int i = 0; i < b->nshots; i++) {
        int n = b->shots[i].iterations ? b->shots[i].iterations : 20;
        if (b->nshots > 1) {
            fewest_calls = fewest_calls && fewest_calls < n ? fewest_calls : n;
            most_calls = most_calls > n ? most_calls : n;
        }
        tell(user, i, BENCH_OK, 1000.0 * floor(120 * n / 1000.0) / n, NULL);
    }
    return BENCH_ANSWERED;
}

/* Equal times are a clock that ticks: samples get longer, and those before count for nothing. */
TEST_CASE(coarse_clocks_get_longer_samples)
{
    static const struct bench_measure_ops ticking = {.sampling = {2000, 5000, 5}, .measure = tick};
    static struct bench_knobs two[] = {{.label = BENCH_DEFAULT}, {.label = "a"}};
    struct candidate c[] = {{.knobs = &two[0]}, {.knobs = &two[1]}};
    struct rounds r = {.engine = &ticking,
                       .session = &session,
                       .stop = &stop,
                       .arena = arena_new(),
                       .candidates = c,
                       .ncandidates = 2,
                       .samples = 8,
                       .until_s = progress_now_s() + 30};
    char detail[BENCH_DETAIL];
    assert_int_equal(rounds_prove(&r, detail), BENCH_ANSWERED);
    assert_true(most_calls >= 3 * fewest_calls);
    assert_int_equal(c[1].n, 8);
    for (int i = 0; i < c[1].n; i++)
        assert_near(c[1].us[i], 1000.0 * floor(120 * most_calls / 1000.0) / most_calls, 1e-9);
    arena_free(r.arena);
}

/* Two pairs of each whatever the time; who fails is passed over, and nobody is where the default does. */
TEST_CASE(proof_without_time_or_luck)
{
    struct rounds r = start(8);
    char detail[BENCH_DETAIL];
    r.until_s = 0;
    r.ncandidates = 3;
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 8, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1};
    assert_int_equal(rounds_prove(&r, detail), BENCH_ANSWERED);
    assert_int_equal(all[1].status, BENCH_WRONG);
    assert_int_equal(all[1].n, 0);
    assert_int_equal(all[2].n, 2);
    end(&r);
}

TEST_CASES(test_rounds)
