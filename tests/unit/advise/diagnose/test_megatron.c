/* advise/diagnose/consoles.c, Megatron-LM: the three shapes of its timers, and the old one. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define ITERATION(n, ms)                                                                                           \
    " [2025-03-04 10:11:12] iteration " #n "/ 500 | consumed samples: 256 | elapsed time per iteration (ms): " #ms \
    " | lm loss: 2.1E+00 |\n"

static void check_phases(const char *text, double pipeline_ms)
{
    struct diagnosis *d = read_text(text);
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nsources, 1);
    assert_near(r->sources[0].step_ms, 1000, 0);
    assert_near(phase_of(r, "forward")->median_ms, 300, 1e-9);
    assert_near(phase_of(r, "backward")->median_ms, 400, 1e-9);
    assert_near(phase_of(r, "pipeline")->median_ms, pipeline_ms, 1e-9);
    diagnose_free(d);
}

TEST_CASE(minimum_and_maximum)
{
    check_phases(ITERATION(7, 1000.0) "(min, max) time across ranks (ms):\n"
                                      "    forward-compute ...........: (200.00, 300.00)\n"
                                      "    backward-compute ..........: (390.00, 400.00)\n"
                                      "    forward-recv ..............: (1.00, 50.00)\n"
                                      "    backward-send .............: (1.00, 25.00)\n",
                 2); /* the maximum waits for the slowest rank */
}

TEST_CASE(maximum_only)
{
    check_phases(ITERATION(7, 1000.0) "max time across ranks (ms):\n"
                                      "    forward-compute ...........: 300.00\n"
                                      "    backward-compute ..........: 400.00\n"
                                      "    forward-recv ..............: 50.00\n",
                 50);
}

TEST_CASE(every_rank)
{
    check_phases(ITERATION(7, 1000.0) "times across ranks (ms):\n"
                                      "  forward-compute:\n"
                                      "     rank  0: 200.00\n"
                                      "     rank  1: 300.00\n"
                                      "  backward-compute:\n"
                                      "     rank  0: 400.00\n"
                                      "     rank  1: 390.00\n"
                                      "  forward-recv:\n"
                                      "     rank  1: 50.00\n",
                 50);
}

TEST_CASE(one_line)
{
    struct diagnosis *d =
        read_text(" iteration       30/ 1000000 | consumed samples:          120 | elapsed time per iteration (ms): "
                  "123.4 | lm loss: 1.0E+01 |\n"
                  "time (ms) | forward-compute: 31.57 | backward-compute: 41.76 | backward-params-all-reduce: 21.15 | "
                  "backward-reduce-model-grads: 21.24 | optimizer-inner-step: 7.3 | optimizer: 20.0 | "
                  "batch-generator: 5.24\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_near(phase_of(r, "gradient sync")->median_ms, 21.24, 1e-9);
    assert_near(phase_of(r, "forward")->median_ms, 31.57 - 5.24, 1e-9);
    assert_near(phase_of(r, "optimizer")->median_ms, 20, 1e-9);
    assert_near(r->sources[0].communication_share, 21.24 / 123.4, 1e-9);
    diagnose_free(d);
}

TEST_CASE(bubble_and_stragglers)
{
    struct diagnosis *d = read_text(ITERATION(7, 1000.0) "(min, max) time across ranks (ms):\n"
                                                         "    forward-backward ..........: (900.00, 900.00)\n"
                                                         "    forward-compute ...........: (200.00, 300.00)\n"
                                                         "    backward-compute ..........: (390.00, 400.00)\n"
                                                         "    all-grads-sync ............: (100.00, 100.00)\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_near(phase_of(r, "forward and backward")->median_ms, 100, 1e-9);
    assert_near(finding_of(r, "stragglers")->weight, 1.0 / 3, 1e-9);
    diagnose_free(d);
}

/* The block ends at the first line that is no timer; the iteration line alone is a step too. */
TEST_CASE(blocks_end)
{
    struct diagnosis *d =
        read_text(ITERATION(1, 50.0)
                      ITERATION(2, 1000.0) "(min, max) time across ranks (ms):\n    forward-compute ..: (1.0, 300.0)\n"
                                           "saving checkpoint\n    forward-compute ..: (1.0, 999.0)\n");
    assert_int_equal(d->series[DIAG_MEGATRON].nsteps, 2);
    assert_near(d->series[DIAG_MEGATRON].steps[1].ms[2], 300, 0);
    diagnose_free(d);
}

TEST_CASES(test_megatron)
