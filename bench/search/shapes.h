/* Shapes of groups of a run. */
#pragma once

#include "bench/search/study.h"

/* Fills shapes and nshapes once nodes and ranks are known: those that were asked for, else the workload's groups, else
 * the usual ones as far as the budget goes; what is left out is said. None: everybody together. Error: one that was
 * asked for does not fit. */
int search_shapes_take(struct bench_study *s, struct err *e);

/* The same beforehand, where options and the topology (NULL: unknown) say how many ranks there will be: return how many
 * shapes, 0 where nobody knows. */
int search_shapes_plan(const struct bench_options *o, const struct topology *t, struct bench_shape out[BENCH_SHAPES]);
