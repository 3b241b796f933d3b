/* The points of one shape of job, what the steps of env_decide ask of their candidates, and what each is worth to a
 * workload. */
#pragma once

#include "bench/results/points.h"
#include "core/arena.h"
#include "envgen/profile/decisions.h"

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

/* The time that a step of `d`'s workload spends at each point by default. NULL: there is no workload, or it calls
 * nothing of the kind. Lives in `d`'s arena. */
double *decide_weights(const struct env_decisions *d, struct decide_slice s);
