/* What the mpi engine can try. */
#ifndef BENCH_CANDIDATES_MPI_PLAN_H
#define BENCH_CANDIDATES_MPI_PLAN_H

#include "bench/candidates/plan.h"

/* Fills library and calls of `p`, in `a`, by asking `worker` (the path of nccltune-bench) for the values that the
 * library's algorithm variables can take. Errors: it cannot be run, or does not answer. */
int mpi_plan_calls(const char *worker, struct bench_plan *p, struct arena *a, struct err *e);

/* Fills the launches of `p`: the default, and on several nodes each interface alone. They come from `interfaces`
 * ("eth0,ib0"; NULL: not said) or are those of the topology that every node has, up, with an IPv4 address, and not a
 * container's, fast ones first. When --mpirun-args sets the interfaces, the default alone. Errors (ERR_USAGE):
 * --interfaces is no list of names. */
int mpi_plan_launches(const struct bench_setup *s, const char *interfaces, int nodes, struct bench_plan *p,
                      struct arena *a, struct err *e);

/* Both launches' interfaces together; 0 when they do not name one each. */
int mpi_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                     struct bench_knobs *both);

#endif
