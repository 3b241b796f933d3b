/* Quantiles of samples. */
#ifndef CORE_STATS_H
#define CORE_STATS_H

void stats_sort(double *values, int n);

/* The q-quantile (0 to 1) of sorted values, linear between neighbours (Hyndman and Fan's type 7); 0 when there is none.
 * Half of an even number is the mean of the two in the middle. */
double stats_quantile_sorted(const double *sorted, int n, double q);

/* The same of any values, which it sorts. */
double stats_quantile(double *values, int n, double q);
double stats_median(double *values, int n);

#endif
