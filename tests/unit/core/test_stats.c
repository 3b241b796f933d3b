/* Quantiles of samples. */
#include "core/stats.h"
#include "tests/lib/unit.h"

TEST_CASE(quantiles)
{
    double v[] = {5, 1, 4, 2, 3}, two[] = {2, 1}, one[] = {7};
    assert_near(stats_median(v, 5), 3, 0);
    assert_near(v[0], 1, 0); /* sorted by then */
    assert_near(stats_quantile(v, 5, 0), 1, 0);
    assert_near(stats_quantile(v, 5, 1), 5, 0);
    assert_near(stats_quantile(v, 5, 0.25), 2, 0);
    assert_near(stats_quantile(v, 5, 0.9), 4.6, 1e-12);
    assert_near(stats_median(two, 2), 1.5, 0);
    assert_near(stats_quantile_sorted(v, 5, 0.5), 3, 0);
    assert_near(stats_quantile(one, 1, 0.9), 7, 0);
    assert_near(stats_median(one, 0), 0, 0);
}

TEST_CASE(student)
{
    /* Fisher and Yates's table */
    assert_near(stats_student_t(1, 0.95), 12.706, 1e-3);
    assert_near(stats_student_t(2, 0.95), 4.303, 1e-3);
    assert_near(stats_student_t(3, 0.99), 5.841, 1e-3);
    assert_near(stats_student_t(9, 0.95), 2.262, 1e-3);
    assert_near(stats_student_t(30, 0.9), 1.697, 1e-3);
    assert_true(stats_student_t(1.5, 0.95) < 12.7 && stats_student_t(1.5, 0.95) > 4.4);
    assert_near(stats_student_t(0.3, 0.95), 12.706, 1e-3);
}

TEST_CASES(test_stats)
