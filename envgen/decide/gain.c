/* Gains, and the mean of many. */
#include "envgen/decide/decide.h"

#include <limits.h>
#include <math.h>

struct bench_interval env_weighted_gain(const struct bench_interval *gains, const double *weights, int n)
{
    double middle = 0, low = 0, high = 0, sure = 0, sum = 0;
    struct bench_interval mean = {.n = INT_MAX};
    for (int i = 0; i < n; i++) {
        double weight = weights ? weights[i] : 1;
        middle += weight * log(gains[i].median);
        low += weight * log(gains[i].low);
        high += weight * log(gains[i].high);
        sure += weight * log(gains[i].sure);
        sum += weight;
        mean.predicted |= gains[i].predicted;
        mean.lost += gains[i].lost;
        mean.n = gains[i].n < mean.n ? gains[i].n : mean.n;
    }
    if (!(sum > 0))
        return (struct bench_interval){0};
    mean.median = exp(middle / sum);
    mean.low = exp(low / sum);
    mean.high = exp(high / sum);
    mean.sure = exp(sure / sum);
    return mean;
}

struct bench_interval env_mean_gain(const struct bench_interval *gains, int n)
{
    return env_weighted_gain(gains, NULL, n);
}

const char *env_gain_text(struct arena *a, struct bench_interval gain)
{
    return arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}
