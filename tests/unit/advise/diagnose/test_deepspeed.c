/* advise/diagnose/consoles.c, DeepSpeed: steps, micro-steps, and timers on lines of their own. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(whole_steps)
{
    struct diagnosis *d = read_text(
        "[Rank 0] rank=0 time (ms) | optimizer_allgather: 8.0 | optimizer_gradients: 0.02 | optimizer_step: 30.0\n"
        "[Rank 0] rank=0 time (ms) | fwd_microstep: 27.0 | bwd_microstep: 73.0 | step_microstep: 42.0\n"
        "[Rank 0] rank=0 time (ms) | fwd: 50.0 | bwd: 150.0 | bwd_inner: 100.0 | bwd_allreduce: 50.0 | step: 40.0\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 1);
    assert_string_equal(r->sources[0].format, "DeepSpeed timers");
    assert_near(r->sources[0].step_ms, 240, 1e-9);
    assert_near(phase_of(r, "backward")->median_ms, 100, 1e-9);
    assert_near(phase_of(r, "gradient sync")->median_ms, 50, 1e-9);
    assert_near(phase_of(r, "weight gather")->median_ms, 8, 1e-9);
    assert_near(phase_of(r, "optimizer")->median_ms, 32, 1e-9);
    diagnose_free(d);
}

TEST_CASE(old_spelling)
{
    struct diagnosis *d = read_text(
        "rank=0 time (ms) | forward: 435.67 | backward: 744.11 | backward_inner: 513.92 | backward_allreduce: 230.11 | "
        "step: 0.98\n");
    assert_near(diagnose_finish(d)->sources[0].communication_share, 230.11 / (435.67 + 744.11 + 0.98), 1e-9);
    diagnose_free(d);
}

TEST_CASE(micro_steps_alone)
{
    struct diagnosis *d = read_text(
        "time (ms) | forward_microstep: 100.0 | backward_microstep: 300.0 | backward_inner_microstep: 200.0 | "
        "backward_allreduce_microstep: 100.0 | step_microstep: 0.0\n"
        "time (ms) | forward_microstep: 100.0 | backward_microstep: 300.0 | backward_inner_microstep: 200.0 | "
        "backward_allreduce_microstep: 100.0 | step_microstep: 0.0\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_string_equal(r->sources[0].format, "DeepSpeed micro-steps");
    assert_int_equal(r->sources[0].steps, 2);
    assert_near(r->sources[0].communication_share, 0.25, 1e-9);
    diagnose_free(d);
}

TEST_CASE(pipeline)
{
    struct diagnosis *d = read_text("time (ms) | pipe_send_output: 41.0 | pipe_recv_grad: 59.0\n"
                                    "time (ms) | fwd: 300.0 | bwd: 500.0 | step: 100.0\n");
    assert_near(diagnose_finish(d)->sources[0].communication_share, 0.1, 1e-9);
    diagnose_free(d);
}

TEST_CASES(test_deepspeed)
