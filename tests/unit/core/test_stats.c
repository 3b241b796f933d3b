/* Quantiles of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/stats.h"
#include "tests/lib/near.h"

static void quantiles(void **state)
{
    (void)state;
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

/* Looking after every pair of a thousand coins, one run in twenty at most is ever sure that they are no coins. */
static void looking_often_does_not_help(void **state)
{
    (void)state;
    assert_int_equal(stats_sequence_rank(6, 0.95), 0);
    assert_int_equal(stats_sequence_rank(7, 0.95), 1);
    assert_int_equal(stats_sequence_rank(7, 0.99), 0);
    assert_int_equal(stats_sequence_rank(0, 0.95), 0);
    int fooled = 0, ranks[1001];
    for (int n = 0; n <= 1000; n++)
        ranks[n] = stats_sequence_rank(n, 0.95);
    srand(7);
    for (int run = 0; run < 400; run++) {
        int sure = 0;
        for (int n = 1, below = 0; n <= 1000; n++) {
            below += rand() < RAND_MAX / 2;
            sure |= below < ranks[n] || n - below < ranks[n];
        }
        fooled += sure;
    }
    assert_true(fooled > 0 && fooled <= 20);
}

static void student(void **state)
{
    (void)state; /* Fisher and Yates's table */
    assert_near(stats_student_t(1, 0.95), 12.706, 1e-3);
    assert_near(stats_student_t(2, 0.95), 4.303, 1e-3);
    assert_near(stats_student_t(3, 0.99), 5.841, 1e-3);
    assert_near(stats_student_t(9, 0.95), 2.262, 1e-3);
    assert_near(stats_student_t(30, 0.9), 1.697, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles), cmocka_unit_test(looking_often_does_not_help),
                                       cmocka_unit_test(student)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
