/* A worker's call knobs: MPI_T control variables, and one communicator for every setting of them. */
#pragma once

#include <mpi.h>
#include <stdio.h>

#include "bench/results/results.h"

/* Prints one line of JSON about this library: {"library": "Open MPI 4.1.4", "variables": {"NAME": {"ring": 4, ...}}}
 * with the values that each of `names` can take; one that the library does not have is left out. Needs MPI_T only. */
int knobs_describe(char *const *names, int nnames, FILE *out);

/* "Open MPI 4.1.4" of the library that is running. */
void knobs_library(char *text, size_t size);

/* The communicator, a duplicate of `base`, whose collectives run under `knobs`. OpenMPI's tuned component looks at its
 * variables when a communicator is made, so the variables are set, the communicator duplicated, the variables put back.
 * Collective over `base`; all ranks get the same result. Communicators are kept for the next time. */
int knobs_comm(const struct bench_knobs *knobs, MPI_Comm base, MPI_Comm *comm, struct err *e);

void knobs_free(void); /* before MPI_Finalize */
