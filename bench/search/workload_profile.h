/* A workload for the bench: its collectives and sizes, and how often each is called. */
#pragma once

#include "core/call/shape.h"
#include "core/call/workload.h"

/* The collectives that `w` calls, a bit for each. */
unsigned workload_profile_collectives(const struct workload *w);

/* The sizes that stand for those of `w`'s calls of `collectives`, ascending, within min_bytes and max_bytes; at most
 * WORKLOAD_PROFILE_SIZES, as far apart as that takes. Allocated in `a`; none: NULL and *count 0. */
#define WORKLOAD_PROFILE_SIZES 24
uint64_t *workload_profile_sizes(const struct workload *w, unsigned collectives, uint64_t min_bytes, uint64_t max_bytes,
                                 struct arena *a, int *count);

/* The shapes of group that such calls have, all of each at once as they work in the job, in the order of the file;
 * groups that are not spread evenly over their nodes have none. Allocated in `a`. */
struct bench_shape *workload_profile_shapes(const struct workload *w, unsigned collectives, struct arena *a,
                                            int *count);

/* Return whether groups of `ranks` ranks over `nodes` nodes have calls. */
int workload_profile_has(const struct workload *w, int nodes, int ranks);

/* Calls of `coll` per step that count for each of the `n` ascending sizes, into `calls`: every call of such a group (of
 * any group when none is of that shape) for the size nearest to its own, in proportion when that is
 * another one. */
void workload_profile_calls(const struct workload *w, int coll, const struct bench_shape *shape, const uint64_t *sizes,
                            int n, double *calls);
