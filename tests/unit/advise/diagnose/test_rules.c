/* advise/diagnose/opening.c, advise/diagnose/rules.c and advise/diagnose/findings.c: the verdict at its limits, each
 * cause by a log that has it, and by one that has not. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define STEPS(phases) "[Step 2] " phases "\n[Step 3] " phases "\n[Step 4] " phases "\n"

TEST_CASE(limits)
{
    struct diagnosis *d = read_text(STEPS("actor: 70ms | sync: 30ms"));
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->verdict, DIAG_NOT_COMMUNICATION);
    assert_non_null(finding_of(r, "communication-ratio"));
    diagnose_free(d);
    d = read_text(STEPS("actor: 69ms | sync: 31ms"));
    r = diagnose_finish(d);
    assert_int_equal(r->verdict, DIAG_IS_COMMUNICATION);
    assert_non_null(finding_of(r, "communication"));
    assert_null(finding_of(r, "communication-ratio"));
    diagnose_free(d);
}

TEST_CASE(without_a_timer)
{
    static const struct {
        const char *log;
        enum diag_verdict verdict;
    } cases[] = {
        {STEPS("rollout: 60ms | actor: 40ms"), DIAG_UNKNOWN},
        {STEPS("rollout: 75ms | actor: 25ms"), DIAG_NOT_COMMUNICATION},
        {STEPS("rollout: 60ms | magic: 40ms"), DIAG_UNKNOWN},
        /* The weights' way to the engine says nothing of training's collectives. */
        {STEPS("rollout: 20ms | weight_sync: 10ms | actor: 70ms"), DIAG_UNKNOWN},
        {STEPS("data: 75ms | actor: 25ms"), DIAG_NOT_COMMUNICATION},
        {STEPS("rollout: 20ms | actor: 80ms"), DIAG_UNKNOWN},
        {STEPS("actor: 20ms | data: 40ms | total: 100ms"), DIAG_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diagnosis *d = read_text(cases[i].log);
        const struct diag_result *r = diagnose_finish(d);
        if (r->verdict != cases[i].verdict)
            fail_msg("%s is %s", cases[i].log, diag_verdict_names[r->verdict]);
        assert_non_null(finding_of(r, "no-timer"));
        diagnose_free(d);
    }
}

TEST_CASE(causes)
{
    static const struct {
        const char *log, *id, *advice;
    } cases[] = {
        {STEPS("rollout: 60ms | actor: 35ms | sync: 5ms"), "rollout", "not the network"},
        {STEPS("data: 20ms | actor: 75ms | sync: 5ms"), "data-loader", "not the network"},
        {STEPS("offload: 20ms | actor: 75ms | sync: 5ms"), "offload", "not the network"},
        {STEPS("save: 20ms | actor: 75ms | sync: 5ms"), "checkpoint", "not the network"},
        {STEPS("idle: 30ms | actor: 65ms | sync: 5ms"), "idle", "not the network"},
        {STEPS("actor: 60ms | sync: 5ms | total: 100ms"), "not-timed", "torch.profiler"},
        {STEPS("rollout: 40ms | actor: 60ms"), "no-timer", "torch.profiler"},
        {"[Step 1] actor: 900ms | sync: 1ms\n" STEPS("actor: 90ms | sync: 1ms"), "first-step", "compil"},
        {STEPS("weight_sync: 50ms | actor: 50ms"), "communication", "inference engine"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diagnosis *d = read_text(cases[i].log);
        const struct diag_finding *f = finding_of(diagnose_finish(d), cases[i].id);
        if (!f || !strstr(f->advice, cases[i].advice) || !*f->place)
            fail_msg("%s: %s", cases[i].id, f ? f->advice : "not found");
        diagnose_free(d);
    }
    struct diagnosis *d = read_text(STEPS("rollout: 30ms | actor: 65ms | sync: 5ms"));
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nfindings, 1);
    assert_non_null(finding_of(r, "actor-update"));
    diagnose_free(d);
}

TEST_CASE(heaviest_first)
{
    struct diagnosis *d = read_text("use_remove_padding: False\n" STEPS("rollout: 50ms | sync: 35ms | data: 15ms"));
    const struct diag_result *r = diagnose_finish(d);
    assert_true(r->nfindings >= 4);
    assert_string_equal(r->findings[0].id, "rollout");
    assert_string_equal(r->findings[1].id, "communication");
    for (int i = 1; i < r->nfindings; i++)
        assert_true(r->findings[i].weight <= r->findings[i - 1].weight);
    diagnose_free(d);
}

/* Steps with a timer of communication weigh more than a longer log without. */
TEST_CASE(choice_of_the_source)
{
    struct diagnosis *d = read_text("step:1 - timing_s/gen:5.0 - timing_s/step:6.0\n"
                                    "step:2 - timing_s/gen:5.0 - timing_s/step:6.0\n"
                                    "[Step 1] actor: 50ms | sync: 50ms\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 2);
    assert_string_equal(r->sources[r->primary].format, "step lines");
    diagnose_free(d);
}

TEST_CASES(test_rules)
