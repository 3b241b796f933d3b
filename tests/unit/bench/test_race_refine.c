/* Heats of the race: calls that refine others run when those came close, and not otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/race.h"
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

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++)
            for (int c = 0; c < CALLS; c++)
                if (!strcmp(calls[c].label, b->shots[i].knobs->label))
                    tell(user, i, BENCH_OK, calls[c].us * (1 + 0.001 * (drawn++ % 10)), NULL);
    return BENCH_ANSWERED;
}

static void refinements_of_what_came_close_run(void **state)
{
    (void)state;
    static const struct bench_engine engine = {.name = "table", .measure = measure};
    struct bench_knobs knobs[CALLS];
    struct racer racers[CALLS];
    struct bench_session session = {1, 2};
    volatile sig_atomic_t stop = 0;
    char detail[BENCH_DETAIL];
    for (int i = 0; i < CALLS; i++) {
        knobs[i] = (struct bench_knobs){.label = calls[i].label};
        racers[i] = (struct racer){.knobs = &knobs[i], .refines = calls[i].refines};
    }
    struct race r = {.engine = &engine,
                     .session = &session,
                     .stop = &stop,
                     .arena = arena_new(),
                     .bytes = 8,
                     .racers = racers,
                     .nracers = CALLS,
                     .samples = 9,
                     .until_s = progress_now_s() + 30,
                     .watchdog_s = 10};
    assert_int_equal(race_run(&r, detail), BENCH_ANSWERED);

    /* The second best call's refinement wins, and that call is kept for other sizes though it was beaten itself. */
    assert_int_equal(racers[ALSO_1].status, BENCH_OK);
    assert_true(racers[ALSO_1].n >= r.samples);
    assert_int_equal(racers[ALSO].status, BENCH_OK);
    /* No better than what it refines by a margin: not worth a setting. Clearly worse: a sample or two. */
    assert_int_equal(racers[NEAR_1].status, BENCH_DROPPED);
    assert_int_equal(racers[NEAR_2].status, BENCH_DROPPED);
    assert_true(racers[NEAR_2].n <= 2);
    /* What is far behind is not refined, whatever that would have given. */
    assert_int_equal(racers[FAR].status, BENCH_DROPPED);
    assert_int_equal(racers[FAR_1].n, 0);
    /* The default is run again beside the refinements. */
    assert_int_equal(racers[DEFAULT].status, BENCH_OK);
    assert_true(racers[DEFAULT].n > r.samples);
    arena_free(r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refinements_of_what_came_close_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
