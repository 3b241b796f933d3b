/* Rounds of refinements: calls that refine others run when those came close, and not otherwise; and the last one, for a
 * lead that is not sure yet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/search/rounds.h"
#include "core/progress.h"

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
static double noise = 0.001, lead_us;
static int quiet = 1000; /* samples of the default until all take three times as long */

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            if (!strcmp(b->shots[i].knobs->label, "lead"))
                tell(user, i, BENCH_OK, lead_us * (1 + noise * (drawn++ * 7 % 10)), NULL);
            for (int c = 0; c < CALLS; c++)
                if (!strcmp(calls[c].label, b->shots[i].knobs->label)) {
                    quiet -= c == DEFAULT;
                    tell(user, i, BENCH_OK, (quiet < 0 ? 3 : 1) * calls[c].us * (1 + noise * (drawn++ * 7 % 10)), NULL);
                }
        }
    return BENCH_ANSWERED;
}

static const struct bench_engine engine = {.name = "table", .measure = measure};
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
                       .bytes = 8,
                       .candidates = candidates,
                       .ncandidates = CALLS,
                       .samples = 9,
                       .until_s = progress_now_s() + 30,
                       .watchdog_s = 10};
    assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);

    /* The second best call's refinement wins, and that call is kept for other sizes though it was beaten itself. */
    assert_int_equal(candidates[ALSO_1].status, BENCH_OK);
    assert_true(candidates[ALSO_1].n >= r.samples);
    assert_int_equal(candidates[ALSO].status, BENCH_OK);
    /* No better than what it refines by a margin: not worth a setting. Clearly worse: a sample or two. */
    assert_int_equal(candidates[NEAR_1].status, BENCH_DROPPED);
    assert_int_equal(candidates[NEAR_2].status, BENCH_DROPPED);
    assert_true(candidates[NEAR_2].n <= 2);
    /* What is far behind is not refined, whatever that would have given. */
    assert_int_equal(candidates[FAR].status, BENCH_DROPPED);
    assert_int_equal(candidates[FAR_1].n, 0);
    /* The default is run again beside the refinements. */
    assert_int_equal(candidates[DEFAULT].status, BENCH_OK);
    assert_true(candidates[DEFAULT].n > r.samples);
    arena_free(r.arena);
}

/* Also where a neighbour's traffic begins meanwhile: what is close is so beside the default of the same turn. */
static void refinements_of_what_came_close_run(void **state)
{
    (void)state;
    run_refinements();
    quiet = 7;
    run_refinements();
    quiet = 1000;
}

/* The default against a call that is 7 % or twice as fast or slower, with noise of 9 %: what may be worth a setting
 * is measured side by side with it, for as long as that takes. */
static void a_lead_is_proven(void **state)
{
    (void)state;
    static const struct {
        double us;
        int least, most;
    } cases[] = {{930, 10, ROUNDS_SETTLED}, {1100, 0, 0}, {500, 7, 7}};
    noise = 0.01;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_knobs knobs[] = {{.label = BENCH_DEFAULT}, {.label = "lead"}};
        struct candidate candidates[] = {{.knobs = &knobs[0]}, {.knobs = &knobs[1]}};
        char detail[BENCH_DETAIL];
        struct rounds r = {.engine = &engine,
                           .session = &session,
                           .stop = &stop,
                           .arena = arena_new(),
                           .bytes = 8,
                           .candidates = candidates,
                           .ncandidates = 2,
                           .samples = 9,
                           .until_s = progress_now_s() + 30,
                           .margin = 0.03,
                           .confidence = 0.95,
                           .watchdog_s = 10};
        lead_us = cases[i].us;
        assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
        int proof = candidates[1].proof ? candidates[1].n - candidates[1].proof : 0;
        assert_true(proof >= cases[i].least && proof <= cases[i].most);
        assert_int_equal(candidates[1].status, lead_us < 1000 ? BENCH_OK : BENCH_DROPPED);
        arena_free(r.arena);
    }
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
static void the_winner_is_varied(void **state)
{
    (void)state;
    struct bench_knobs knobs[] = {{.label = BENCH_DEFAULT}, {.label = "near"}, {.label = "also"}};
    struct bench_knobs more[] = {{.label = "also/1"}, {.label = "near/2"}};
    struct candidate candidates[5] = {{.knobs = &knobs[0]}, {.knobs = &knobs[1]}, {.knobs = &knobs[2]}};
    char detail[BENCH_DETAIL];
    struct rounds r = {.engine = &engine,
                       .session = &session,
                       .stop = &stop,
                       .arena = arena_new(),
                       .bytes = 8,
                       .candidates = candidates,
                       .ncandidates = 3,
                       .samples = 9,
                       .until_s = progress_now_s() + 30,
                       .watchdog_s = 10,
                       .vary = vary,
                       .user = more};
    noise = 0.001;
    assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
    assert_int_equal(r.ncandidates, 5);
    assert_int_equal(candidates[3].status, BENCH_OK);
    assert_true(candidates[3].n >= r.samples);
    assert_int_equal(candidates[4].status, BENCH_DROPPED);
    assert_int_equal(candidates[1].status, BENCH_OK); /* what it varies is kept */
    arena_free(r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refinements_of_what_came_close_run),
                                       cmocka_unit_test(a_lead_is_proven), cmocka_unit_test(the_winner_is_varied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
