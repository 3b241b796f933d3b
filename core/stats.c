/* Quantiles by sorting; the sign test, looked at again and again; Student's t. */
#include "core/stats.h"

#include <math.h>
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

/* The probability within [-t, t], of the angle atan(t / sqrt(df)). */
static double count_within(double angle, int df)
{
    double c = cos(angle), term = df % 2 ? c : 1, sum = df > 1 ? term : 0;
    for (int i = df % 2 ? 3 : 2; i < df; i += 2) {
        term *= c * c * (i - 1) / i;
        sum += term;
    }
    return df % 2 ? 2 / acos(-1) * (angle + sin(angle) * sum) : sin(angle) * sum;
}

static double student_of_whole(int df, double confidence)
{
    double low = 0, high = acos(-1) / 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (count_within(middle, df) < confidence)
            low = middle;
        else
            high = middle;
    }
    return tan(low) * sqrt(df);
}

double stats_student_t(double df, double confidence)
{
    int whole = df < 1 ? 1 : (int)df;
    double part = df > whole ? (1 / df - 1.0 / whole) / (1.0 / (whole + 1) - 1.0 / whole) : 0;
    double t = student_of_whole(whole, confidence);
    return part > 0 ? t * pow(student_of_whole(whole + 1, confidence) / t, part) : t;
}
