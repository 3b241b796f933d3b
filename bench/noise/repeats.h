/* How well the default repeats itself from one start to the next: what is less than that is no gain. */
#ifndef BENCH_NOISE_REPEATS_H
#define BENCH_NOISE_REPEATS_H

#include "bench/results/history.h"
#include "core/finding.h"

/* The default of one point, measured in several starts: the largest median over the smallest, less 1; 0 where there was
 * but one start. `*apart` (NULL: not wanted): the intervals of those two have nothing in common. */
double repeats_spread(const struct bench_results *r, const struct history_place *at, int *apart);

/* Whether a point is to be measured again: its default differs from itself beyond doubt, by more than a gain has to be
 * to be worth a setting. */
#define REPEATS_WORTH 0.03
int repeats_is_suspicious(const struct bench_results *r, const struct history_place *at);

/* Adds one finding about all points: how far apart the default was in the median, and at worst, and where. */
void repeats_judge(const struct bench_results *r, struct findings *found);

#endif
