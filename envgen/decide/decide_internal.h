/* The steps of env_decide, private to envgen/decide*.c. */
#ifndef ENVGEN_DECIDE_DECIDE_INTERNAL_H
#define ENVGEN_DECIDE_DECIDE_INTERNAL_H

#include "envgen/decide/decide.h"

/* The points of one shape: a slice of bench_points. */
struct decide_slice {
    const struct bench_point *points;
    int count;
    const double *weights; /* of the points; NULL: all alike */
};

/* What each point is worth to the workload of `d`; NULL: there is none, or it calls nothing of the kind. */
double *decide_weights(const struct env_decisions *d, struct decide_slice s);

/* Fills launches, chosen and why of `shape`. */
void decide_launch(struct env_decisions *d, struct env_shape *shape, struct decide_slice s);

/* Fills colls of `shape` for its chosen launch. */
struct decide_index;
void decide_calls(struct env_decisions *d, struct env_shape *shape, struct decide_slice s,
                  const struct decide_index *index);

/* Journal lines of a candidate at a point: "results.jsonl:7,31", "" when there are none. */
const char *decide_lines(struct arena *a, const struct decide_index *index, const struct bench_point *p,
                         const struct bench_candidate *c);

/* A copy that does not depend on the results it came from. */
struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k);

/* Whether a gain is worth a setting. */
int decide_clears(struct bench_interval gain, double margin);

/* Whether a measurement can be compared: it was timed and its data was right. */
int decide_timed(const struct bench_candidate *c);

#endif
