/* Gains, and the mean of many. */
#include "envgen/decide/gain.h"

#include <math.h>

int env_gain_clears(struct bench_interval gain, double margin)
{
    return gain.n > 0 && gain.low >= 1 + margin;
}

struct bench_interval env_weighted_gain(const struct bench_interval *gains, const double *weights, int n)
{
    double middle = 0, below[2] = {0}, above[2] = {0}; /* of measurements, and of predictions */
    double sum = 0;
    int predicted = 0;
    for (int i = 0; i < n; i++) {
        double weight = weights ? weights[i] : 1;
        double down = weight * log(gains[i].median / gains[i].low), up = weight * log(gains[i].high / gains[i].median);
        middle += weight * log(gains[i].median);
        sum += weight;
        below[0] += down * down;
        above[0] += up * up;
        below[1] += down;
        above[1] += up;
        predicted |= gains[i].predicted;
    }
    if (!(sum > 0))
        return (struct bench_interval){0};
    double low = predicted ? below[1] : sqrt(below[0]), high = predicted ? above[1] : sqrt(above[0]);
    return (struct bench_interval){exp(middle / sum), exp((middle - low) / sum), exp((middle + high) / sum), n,
                                   predicted};
}

struct bench_interval env_mean_gain(const struct bench_interval *gains, int n)
{
    return env_weighted_gain(gains, NULL, n);
}

const char *env_gain_text(struct arena *a, struct bench_interval gain)
{
    return arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}
