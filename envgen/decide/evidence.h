/* Where a candidate stands in the journals: what the evidence lines of decisions.json name. */
#pragma once

#include "bench/results/points.h"
#include "core/arena.h"

/* A journal that the points were made from. */
struct env_source {
    const char *name; /* as it is called in the profile */
    struct bench_results *results;
};

/* All results of the journals, in order. Lives in `a`, and as long as they do. */
struct decide_index;
struct decide_index *decide_index_new(struct arena *a, const struct env_source *sources, int nsources);

/* Journal lines of a candidate at a point: "results.jsonl:7,31", with a word on those that a job has measured; "" when
 * there are none. */
const char *decide_lines(struct arena *a, const struct decide_index *index, const struct bench_point *p,
                         const struct bench_candidate *c);
