/* Gains: how much faster a candidate is than the default, over one point or many. */
#ifndef ENVGEN_DECIDE_GAIN_H
#define ENVGEN_DECIDE_GAIN_H

#include "bench/results/points.h"
#include "core/arena.h"

#define ENV_FEWEST BENCH_FEWEST

/* Whether a gain is worth a setting: the lower end of its interval clears the margin. */
int env_gain_clears(struct bench_interval gain, double margin);

/* The geometric mean of `n` gains, weighted unless `weights` is NULL. Its interval comes from theirs as that of a mean
 * of independent measurements: the distances from the median to either end, as logarithms, add up in squares. What a
 * model gets wrong it gets wrong everywhere: with predictions among them the distances add up as they are. `n` of the
 * result is the number of gains.
 */
struct bench_interval env_mean_gain(const struct bench_interval *gains, int n);
struct bench_interval env_weighted_gain(const struct bench_interval *gains, const double *weights, int n);

/* "1.31x (1.22 to 1.40)" */
const char *env_gain_text(struct arena *a, struct bench_interval gain);

#endif
