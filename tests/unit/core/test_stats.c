/* Quantiles of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
