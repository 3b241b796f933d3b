/* Quantiles by sorting. */
#include "core/stats.h"

#include <stdlib.h>

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void stats_sort(double *values, int n)
{
    if (n > 1)
        qsort(values, (size_t)n, sizeof *values, by_value);
}

double stats_quantile_sorted(const double *sorted, int n, double q)
{
    if (n < 1)
        return 0;
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    double part = at - low;
    return sorted[low] * (1 - part) + sorted[high] * part;
}

double stats_quantile(double *values, int n, double q)
{
    stats_sort(values, n);
    return stats_quantile_sorted(values, n, q);
}

double stats_median(double *values, int n)
{
    return stats_quantile(values, n, 0.5);
}
