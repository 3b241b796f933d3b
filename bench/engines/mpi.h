/* The mpi engine: collectives on host memory through OpenMPI. */
#ifndef BENCH_ENGINES_MPI_H
#define BENCH_ENGINES_MPI_H

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_mpi;

#endif
