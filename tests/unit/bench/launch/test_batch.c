/* bench/launch/batch.c: how many calls make a sample, and how long it takes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/launch/batch.h"

static const struct {
    struct bench_sampling s;
    double us, sample_us;
    int calls;
} rows[] = {
    {{0, 0, 0}, 0, 200, 100000},        {{0, 0, 0}, -1, 200, 100000},      {{0, 0, 0}, 0.002, 200, 100000},
    {{0, 0, 0}, 0.004, 200, 50000},     {{0, 0, 0}, 1, 200, 200},          {{0, 0, 0}, 150, 300, 2},
    {{0, 0, 0}, 200, 200, 1},           {{0, 0, 0}, 201, 201, 1},          {{-5, 0, 0}, 100, 200, 2},
    {{1000, 0, 0}, 0.01, 1000, 100000}, {{1000, 0, 0}, 0.02, 1000, 50000}, {{1000, 0, 0}, 0, 1000, 100000},
    {{1000, 5000, 10}, 1, 1000, 1000},  {{1000, 5000, 10}, 100, 1000, 10}, {{1000, 5000, 10}, 99, 1089, 11},
    {{1000, 5000, 10}, 300, 3000, 10},  {{1000, 5000, 10}, 500, 5000, 10}, {{1000, 5000, 10}, 501, 501 * 9, 9},
    {{1000, 5000, 10}, 2500, 5000, 2},  {{1000, 5000, 10}, 5000, 5000, 1}, {{1000, 5000, 10}, 5001, 5001, 1},
    {{1000, 5000, 0}, 300, 1200, 4},
};

static void calls_fill_a_sample(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int calls = bench_sample_calls(&rows[i].s, rows[i].us);
        double us = bench_sample_us(&rows[i].s, rows[i].us);
        if (calls != rows[i].calls || fabs(us - rows[i].sample_us) > 1e-6)
            fail_msg("row %zu: %d calls, %g us", i, calls, us);
    }
    assert_int_equal(bench_sample_calls(&rows[0].s, NAN), 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_fill_a_sample)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
