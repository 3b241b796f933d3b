/* The command line of srun, in an allocation or for one. */
#ifndef BENCH_LAUNCH_SRUN_H
#define BENCH_LAUNCH_SRUN_H

#include "bench/launch/places.h"
#include "bench/launch/words.h"

/* Whether this is in a Slurm allocation and srun is there. */
int srun_is_here(struct arena *a);

/* Begins srun's command line and its environment for `per_node` processes on each node, with the MPI plugin `mpi`
 * ("none", "pmix"): the whole of a node and of its GPUs, whatever else runs in the allocation. Neither is ended. */
void srun_begin(const struct places *where, int per_node, const char *mpi, struct arena *a, struct words *argv,
                struct words *env);

#endif
