/* How many calls make a sample. */
#include "bench/launch/batch.h"

#include <math.h>

#define LEAST_US         200.0
#define ITERATIONS_LIMIT 100000

int bench_sample_calls(const struct bench_sampling *s, double us)
{
    double least_us = s->least_us > 0 ? s->least_us : LEAST_US;
    if (!(us > least_us / ITERATIONS_LIMIT))
        return ITERATIONS_LIMIT;
    double n = ceil(least_us / us), few = floor(s->most_us / us);
    few = few < s->calls ? few : s->calls;
    n = n > few ? n : few;
    return n < 1 ? 1 : (int)n;
}

double bench_sample_us(const struct bench_sampling *s, double us)
{
    return us > 0 ? us * bench_sample_calls(s, us) : s->least_us > 0 ? s->least_us : LEAST_US;
}
