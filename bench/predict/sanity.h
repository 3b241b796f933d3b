/* Whether measured times are what this machine should give, and what would make them so much longer. */
#ifndef BENCH_PREDICT_SANITY_H
#define BENCH_PREDICT_SANITY_H

#include "bench/results/points.h"
#include "core/finding.h"
#include "probe/topology/topology.h"

/* Holds the untouched defaults that were measured on GPUs against the model's band, uncalibrated: a finding for each
 * number of nodes whose times lie above it, at the size where that matters most, with the variations of the machine
 * that come nearest to all that was measured there. Nothing where the model has nothing to say. */
void sanity_check(const struct bench_points *p, const struct topology *t, struct findings *found);

/* For people; nothing where there is nothing. */
void sanity_print(const struct findings *found, FILE *out);

#endif
