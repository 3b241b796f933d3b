/* The mpi engine: collectives on host memory through OpenMPI. */
#ifndef BENCH_ENGINE_MPI_H
#define BENCH_ENGINE_MPI_H

#include "bench/engine.h"

extern const struct bench_engine bench_engine_mpi;

#endif
