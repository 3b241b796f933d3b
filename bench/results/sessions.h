/* Launches against one another: the unit of evidence is the session, because what differs from one start to the next is
 * common to all that is measured in between. doc/STATISTICS.md is the argument. */
#ifndef BENCH_RESULTS_SESSIONS_H
#define BENCH_RESULTS_SESSIONS_H

#include "bench/results/points.h"

/* With fewer pairs of sessions nothing can be said. */
#define BENCH_FEWEST_SESSIONS 3

/* How many times faster the candidates `to` are than `from`, over `n` points with their weights (NULL: all alike):
 * sessions of the same round are a pair, each pair has one geometric mean over the points that both have, and those
 * have Student's interval. Of four points or more each counts for a factor of four at most. `n` of the result is the
 * number of pairs; below BENCH_FEWEST_SESSIONS the interval is the range. from[i] and to[i] may be NULL. */
struct bench_interval bench_sessions_gain(const struct bench_candidate *const *from,
                                          const struct bench_candidate *const *to, const double *weights, int n,
                                          double confidence);

/* The confidence that each of `n` has to meet so that the best of them meets `confidence` (Bonferroni). */
double bench_confidence_among(double confidence, int n);

/* Positive where `x` departs further from the library as it comes than `y`, 0 where both do alike: by more settings, or
 * with as many by a shorter list in the same one, such as the interfaces "ib3" beside "ib2,ib3", which leaves more of
 * the machine unused. Of a setting that every class of nodes has for itself the first stands for all. What departs
 * further has to be worth the margin. */
int bench_departs_more(const struct bench_knobs *x, const struct bench_knobs *y);

#endif
