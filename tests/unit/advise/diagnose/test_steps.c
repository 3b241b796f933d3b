/* advise/diagnose/steps.c: verl, "[Step N]" lines, JSON lines. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(verl_console)
{
    struct diagnosis *d =
        read_text("(TaskRunner pid=7) step:3 - actor/loss:0.1 - timing_s/gen:np.float64(6.0) - timing_s/reshard:1.5 - "
                  "timing_s/generate_sequences:4.5 - timing_s/update_actor:3.0 - timing_s/step:10.0 - "
                  "timing_s/agent_loop/slowest/gen:6.0 - timing_per_token_ms/gen:0.1 - response_length/mean:99.0\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].step_ms, 10000, 1e-9);
    assert_near(phase_of(r, "rollout")->median_ms, 4500, 1e-9);
    assert_near(phase_of(r, "weight sync within rollout")->median_ms, 1500, 1e-9);
    assert_near(phase_of(r, "actor update")->median_ms, 3000, 1e-9);
    assert_near(phase_of(r, "not timed")->share, 0.1, 1e-9);
    assert_near(phase_of(r, "response length, mean")->median_ms, 99, 0);
    assert_int_equal(r->sources[0].nphases, 5);
    diagnose_free(d);
}

TEST_CASE(lines_that_are_not_steps)
{
    struct err e = {0};
    static const char *const texts[] = {
        "step:0 - val-core/gsm8k/acc:0.5\n", "step:x - timing_s/gen:1\n", "global_step:7 timing_s/gen:1\n",
        "[Step 4] loss: 0.3 | lr: 1e-5\n",   "[Step ] rollout: 3ms\n",    "[Stepping 4] rollout: 3ms\n",
        "{\"step\": 1, \"loss\": 0.5}\n",    "{\"timing_s/gen\": \n",     "{\"timing_s/gen\": \"fast\"}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diagnosis *d = diagnose_new();
        int rc = feed(d, texts[i], &e);
        if (!rc && diagnose_finish(d)->nsources)
            fail_msg("'%s' became a step", texts[i]);
        diagnose_free(d);
    }
}

TEST_CASE(step_lines)
{
    struct diagnosis *d =
        read_text("12:01:44 INFO [Step 12/500] rollout: 185ms | logprob=40 ms | loss: 0.3 | gpu: 85% | sync: 0.19s | "
                  "total: 500ms");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(d->series[DIAG_STEP_LINE].steps[0].number, 12);
    assert_near(r->sources[0].step_ms, 500, 0);
    assert_near(phase_of(r, "rollout")->median_ms, 185, 0);
    assert_near(phase_of(r, "log-probabilities")->median_ms, 40, 0);
    assert_near(phase_of(r, "sync")->median_ms, 190, 1e-9);
    assert_near(r->sources[0].communication_share, 0.38, 1e-9);
    assert_null(phase_of(r, "loss"));
    assert_null(phase_of(r, "gpu"));
    diagnose_free(d);
}

TEST_CASE(json_lines)
{
    struct diagnosis *d = read_text(
        "{\"step\": 5, \"data\": {\"timing_s/gen\": 2, \"timing_s/update_weights\": 3, \"timing_s/step\": 6}}\n"
        "{\"_step\": 6, \"timing_s/gen\": 2, \"timing_s/update_weights\": 3, \"timing_s/step\": 6, \"loss\": 1}\n"
        "{\"step\": 7, \"profiling/Time taken: GRPOTrainer._move_model_to_vllm\": 4}\n");
    assert_int_equal(d->series[DIAG_JSONL].nsteps, 3);
    assert_int_equal(d->series[DIAG_JSONL].steps[0].number, 5);
    assert_int_equal(d->series[DIAG_JSONL].steps[1].number, 6);
    const struct diag_result *r = diagnose_finish(d);
    assert_near(phase_of(r, "weight sync")->median_ms, 3000, 0);
    assert_near(r->sources[0].communication_share, 10.0 / 16, 1e-12); /* of all time */
    diagnose_free(d);
}

/* Eight ranks whose lines say nobody's name and come in any order are eight lines of a step. */
TEST_CASE(ranks_without_names)
{
    char text[4096];
    size_t n = 0;
    for (int step = 1; step <= 5; step++)
        for (int rank = 0; rank < 8; rank++) {
            int is_slow = rank == (step * 3) % 8;
            n += (size_t)snprintf(text + n, sizeof text - n, "[Step %d] compute: %dms | sync: %dms\n", step,
                                  is_slow ? 400 : 180, is_slow ? 10 : 230);
        }
    struct diagnosis *d = read_text(text);
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->verdict, DIAG_NOT_COMMUNICATION);
    assert_int_equal(r->sources[0].steps, 5);
    assert_int_equal(r->sources[0].ranks, 8);
    assert_near(r->sources[0].slow_ms, 400, 1e-9);
    assert_near(r->sources[0].fast_ms, 180, 1e-9);
    assert_non_null(finding_of(r, "stragglers"));
    diagnose_free(d);
}

/* Lines of verl's console that are as short as a terminal's are whole all the same; one step back is a restart. */
TEST_CASE(short_lines_are_whole)
{
    struct diagnosis *d = read_text(
        "step:1 - actor/loss:0.10 - timing_s/gen:50.10 - timing_s/update_actor:30.10 - timing_s/step:84.10\n"
        "step:2 - actor/loss:0.10 - timing_s/gen:50.20 - timing_s/update_actor:30.20 - timing_s/step:84.20\n"
        "step:3 - actor/loss:0.10 - timing_s/gen:50.30 - timing_s/update_actor:30.30 - timing_s/step:84.30\n"
        "step:1 - actor/loss:0.10 - timing_s/gen:20.10 - timing_s/update_actor:60.10 - timing_s/step:84.10\n"
        "step:2 - actor/loss:0.10 - timing_s/gen:20.20 - timing_s/update_actor:60.20 - timing_s/step:84.20\n"
        "step:3 - actor/loss:0.10 - timing_s/gen:20.30 - timing_s/update_actor:60.30 - timing_s/step:84.30\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 2);
    assert_int_equal(r->primary, 1);
    assert_near(phase_of(r, "rollout")->median_ms, 20200, 1e-6);
    assert_non_null(finding_of(r, "runs"));
    diagnose_free(d);
}

TEST_CASES(test_steps)
