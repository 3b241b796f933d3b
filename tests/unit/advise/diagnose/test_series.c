/* advise/diagnose/series.c: medians, warm-up, trends, thinning out, timers within timers. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

/* A diagnosis that is being fed steps by hand. */
static struct diag_input here = {.path = "log"};
static struct diagnosis *begin(void)
{
    struct diagnosis *d = diagnose_new();
    d->result.files = ARENA_NEW(d->arena, struct diag_file);
    d->result.files[d->result.nfiles++].name = "log";
    d->in = &here;
    here.line = 0;
    return d;
}

static void step(struct diagnosis *d, double a_ms, double sync_ms, double total_ms)
{
    static const struct diag_word a = {"", "a", DIAG_COMPUTE, DIAG_TRAIN, NULL},
                                  sync = {"", "sync", DIAG_COMMUNICATION, DIAG_TRAIN, NULL},
                                  total = {.phase = diag_total_mark};
    here.line++;
    diag_step_open(d, DIAG_STEP_LINE, here.line);
    diag_step_add(d, DIAG_STEP_LINE, &a, a_ms);
    diag_step_add(d, DIAG_STEP_LINE, &sync, sync_ms);
    if (total_ms > 0)
        diag_step_add(d, DIAG_STEP_LINE, &total, total_ms);
    diag_step_close(d, DIAG_STEP_LINE);
}

TEST_CASE(warm_up_is_left_out)
{
    struct diagnosis *d = begin();
    step(d, 5000, 100, 0);
    step(d, 900, 100, 0);
    for (int i = 0; i < 20; i++)
        step(d, 300, 100, 0);
    step(d, 5000, 100, 0); /* later outliers are not warm-up */
    const struct diag_source *s = &diagnose_finish(d)->sources[0];
    assert_int_equal(s->steps, 23);
    assert_int_equal(s->left_out, 2);
    assert_near(s->first_ms, 5100, 0);
    assert_string_equal(s->first_place, "log:1");
    assert_near(s->step_ms, 400, 0);
    /* Shares are of all time, that of the outlier too. */
    assert_near(s->communication_share, 21 * 100.0 / (20 * 400 + 5100), 1e-12);
    assert_near(s->ratio, 21 * 100.0 / (20 * 300 + 5000), 1e-12);
    diagnose_free(d);
}

TEST_CASE(even_steps_stay)
{
    struct diagnosis *d = begin();
    for (int i = 0; i < 3; i++)
        step(d, 300, 100, 0);
    assert_int_equal(diagnose_finish(d)->sources[0].left_out, 0);
    diagnose_free(d);
}

TEST_CASE(untimed_rest)
{
    struct diagnosis *d = begin();
    for (int i = 0; i < 5; i++)
        step(d, 300, 100, 1000);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].communication_share, 0.1, 1e-12);
    assert_near(phase_of(r, "not timed")->share, 0.6, 1e-12);
    assert_non_null(finding_of(r, "not-timed"));
    diagnose_free(d);
}

/* Overlapping timers sum to more than the step: shares stay below one. */
TEST_CASE(overlapping_timers)
{
    struct diagnosis *d = begin();
    for (int i = 0; i < 5; i++)
        step(d, 300, 500, 400);
    assert_near(diagnose_finish(d)->sources[0].communication_share, 1, 0);
    diagnose_free(d);
}

TEST_CASE(trends)
{
    struct diagnosis *d = begin();
    for (int i = 0; i < 30; i++)
        step(d, 300 + 10 * i, 100, 0);
    const struct diag_source *s = &diagnose_finish(d)->sources[0];
    /* Medians of the first and last ten: 345 and 545, of the step 445 and 645. */
    assert_near(s->phases[0].growth, 545.0 / 345 - 1, 1e-9);
    assert_near(s->growth, 645.0 / 445 - 1, 1e-9);
    assert_near(s->phases[1].growth, 0, 0);
    diagnose_free(d);
}

TEST_CASE(thinning_keeps_the_medians)
{
    struct diagnosis *d = begin();
    for (int i = 0; i < 100000; i++)
        step(d, 300 + i % 7, 100, 0);
    assert_true(d->series[DIAG_STEP_LINE].nsteps <= DIAG_STEPS);
    assert_true(d->series[DIAG_STEP_LINE].nsteps > DIAG_STEPS / 2 - 1);
    const struct diag_source *s = &diagnose_finish(d)->sources[0];
    assert_int_equal(s->steps, 100000);
    assert_near(s->step_ms, 403, 1);
    assert_near(s->growth, 0, 0.01);
    diagnose_free(d);
}

TEST_CASE(timers_within_timers)
{
    static const struct diag_word whole = {"", "whole", DIAG_COMPUTE, DIAG_TRAIN, NULL},
                                  part = {"", "part", DIAG_COMPUTE, DIAG_TRAIN, "whole"},
                                  inner = {"", "inner", DIAG_COMMUNICATION, DIAG_TRAIN, "part"};
    struct diagnosis *d = begin();
    diag_step_open(d, DIAG_MEGATRON, 1);
    diag_step_add(d, DIAG_MEGATRON, &whole, 100);
    diag_step_add(d, DIAG_MEGATRON, &inner, 10);
    diag_step_add(d, DIAG_MEGATRON, &part, 60);
    diag_step_close(d, DIAG_MEGATRON);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(phase_of(r, "whole")->median_ms, 40, 0);
    assert_near(phase_of(r, "part")->median_ms, 50, 0);
    assert_near(phase_of(r, "inner")->median_ms, 10, 0);
    assert_near(r->sources[0].step_ms, 100, 0);
    diagnose_free(d);
}

TEST_CASE(more_phases_than_there_is_room)
{
    struct diagnosis *d = begin();
    diag_step_open(d, DIAG_STEP_LINE, 1);
    for (int i = 0; i < 3 * DIAG_PHASES; i++) {
        char name[DIAG_NAME];
        snprintf(name, sizeof name, "phase %d", i);
        struct diag_word w = {"", name, DIAG_OTHER, DIAG_NEITHER, NULL};
        diag_step_add(d, DIAG_STEP_LINE, &w, 1);
    }
    diag_step_close(d, DIAG_STEP_LINE);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].step_ms, 3 * DIAG_PHASES, 0);
    assert_near(phase_of(r, "other")->median_ms, 2 * DIAG_PHASES + 1, 0);
    diagnose_free(d);
}

TEST_CASES(test_series)
