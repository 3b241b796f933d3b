#include "bench/results/doubt.h"

#include <math.h>

/* The share of the rest's variance that two calls by the same algorithm and protocol have in common: with other
 * channels or by other NICs they do the same in other amounts. Assumed; published results do not vary them alone. */
#define SAME_WAY 0.8

/* The same of two calls by other algorithms or protocols: where NCCL changes its way from one size of a published run
 * to the next, the quotient of the two times is nearer than two calls of their own would be; with a half of the
 * variance in common its interval holds 82 % of 56 such pairs on machines left out (build/perf/perf_model_truth). */
#define OTHER_WAY 0.5

double bench_doubt_of_time(const struct bench_doubt *d)
{
    double sum = d->rest * d->rest;
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += d->shared[i] * d->shared[i];
    return sqrt(sum);
}

double bench_doubt_of_quotient(const struct bench_doubt *a, const struct bench_doubt *b)
{
    double common = a->way != b->way ? OTHER_WAY : a->detail == b->detail ? 1 : SAME_WAY;
    double sum = (1 - common) * (a->rest * a->rest + b->rest * b->rest);
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += (a->shared[i] - b->shared[i]) * (a->shared[i] - b->shared[i]);
    return sqrt(sum);
}
