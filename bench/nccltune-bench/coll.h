/* A worker's collectives: buffers with a known pattern, one call, and whether the result is right. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "core/err.h"

/* One collective at one size, the same on all ranks. `bytes` is NCCL's nBytes: what AllReduce and Broadcast carry, and
 * over all ranks together what AllGather receives, ReduceScatter sends and AllToAll does both (AllToAllV: sends).
 * ReduceScatter is MPI_Reduce_scatter with equal blocks: of the two that OpenMPI can tune it is the one with a ring. */
struct coll_job {
    int coll, rank, ranks;
    MPI_Datatype type;
    size_t element;   /* bytes of one */
    int total, block; /* elements; AllReduce and Broadcast have no blocks */
    int part, first;  /* elements that this rank gets from each, and where they begin there */
    int *counts;      /* by rank: a block each; of AllToAllV counts and offsets of what is sent, then of what comes */
    int ncounts;
    char *send, *recv;
    size_t send_size, recv_size; /* bytes that are there */
};

/* Makes `j`, zeroed at first, ready for another size or collective. Buffers only grow and are touched when they are
 * made: pages that appear during a call would be timed. Errors: sizes that do not divide by the ranks, that pass what
 * MPI counts in an int, no memory. */
int coll_prepare(struct coll_job *j, int coll, uint64_t bytes, int rank, int ranks, struct err *e);
void coll_release(struct coll_job *j);

/* One call, of a broadcast from rank 0; an MPI error code. */
int coll_call(struct coll_job *j, MPI_Comm comm);

/* Fills the buffers with a pattern that `seed` changes; after one call the result can be checked. */
void coll_fill(struct coll_job *j, uint32_t seed);

/* The first wrong element of this rank's result, -1 when all are right. */
long coll_check(const struct coll_job *j, uint32_t seed, uint32_t *found, uint32_t *expected);
