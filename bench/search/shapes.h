/* Which shapes of groups a run measures. */
#pragma once

#include "bench/search/study.h"

/* Fills shapes and nshapes once nodes and ranks are known: those that were asked for, else the workload's groups, else
 * the usual ones as far as the budget goes; what is left out is said. None: everybody together. Error: one that was
 * asked for does not fit. */
int search_shapes_take(struct bench_study *s, struct err *e);

/* The same beforehand, where options and the topology (NULL: unknown) say how many ranks there will be: return how many
 * shapes, 0 where nobody knows. */
int search_shapes_plan(const struct bench_options *o, const struct topology *t, struct bench_shape out[BENCH_SHAPES]);

/* The shape that a tuner cannot tell from this one (as many nodes and ranks, something else beside it) and that comes
 * before it; -1: none, as where launches are compared with one another. */
int search_shapes_twin(const struct bench_study *s, int shape);

/* The sizes at which such a shape is held against its twin, as indices; those alone are measured where they behave
 * alike. */
#define SEARCH_PROBES 3
int search_shapes_probes(const struct bench_study *s, int sizes[SEARCH_PROBES]);

/* Whether it has been measured at all probes under the default launch, and every call there took as long as in its
 * twin. */
int search_shapes_alike(const struct bench_study *s, int shape);
