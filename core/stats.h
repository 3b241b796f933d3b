/* Quantiles of samples, and how sure one may be of them: doc/STATISTICS.md. */
#pragma once

void stats_sort(double *values, int n);

/* The q-quantile (0 to 1) of sorted values, linear between neighbours (Hyndman and Fan's type 7); 0 when there is none.
 * Half of an even number is the mean of the two in the middle. */
double stats_quantile_sorted(const double *sorted, int n, double q);

/* The same of any values, which it sorts. */
double stats_quantile(double *values, int n, double q);
double stats_median(double *values, int n);

/* Return the t for which Student's distribution with df (1 or more) degrees of freedom has `confidence` within [-t, t].
 * Abramowitz and Stegun, 26.7.3 and 26.7.4; between whole numbers the logarithm is linear in 1 / df. */
double stats_student_t(double df, double confidence);
