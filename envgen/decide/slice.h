/* The points of one shape of job, and what the steps of env_decide ask of their candidates. */
#ifndef ENVGEN_DECIDE_SLICE_H
#define ENVGEN_DECIDE_SLICE_H

#include "bench/results/points.h"
#include "core/arena.h"

/* A part of bench_points. */
struct decide_slice {
    const struct bench_point *points;
    int count;
    const double *weights; /* of the points; NULL: all alike */
};

/* Whether a measurement can be compared: it was timed and its data was right. */
int decide_timed(const struct bench_candidate *c);

/* A copy that does not depend on the results it came from. */
struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k);

#endif
