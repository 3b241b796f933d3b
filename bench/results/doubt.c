#include "bench/results/doubt.h"

#include <math.h>

/* The share of the rest's variance that two calls by the same algorithm and protocol have in common: with other
 * channels or by other NICs they do the same in other amounts. Assumed; published results do not vary them alone. */
#define SAME_WAY 0.8

double bench_doubt_of_time(const struct bench_doubt *d)
{
    double sum = d->rest * d->rest;
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += d->shared[i] * d->shared[i];
    return sqrt(sum);
}

double bench_doubt_of_quotient(const struct bench_doubt *a, const struct bench_doubt *b)
{
    double common = a->way != b->way ? 0 : a->detail == b->detail ? 1 : SAME_WAY;
    double sum = (1 - common) * (a->rest * a->rest + b->rest * b->rest);
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += (a->shared[i] - b->shared[i]) * (a->shared[i] - b->shared[i]);
    return sqrt(sum);
}
