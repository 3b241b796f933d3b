/* The buffers of a point: as many pairs as it takes to be out of the GPU's cache when their turn comes again. */
#ifndef BENCH_NCCLTUNE_WORKER_BUFFERS_H
#define BENCH_NCCLTUNE_WORKER_BUFFERS_H

#include "bench/nccltune-worker/data.h"
#include "bench/nccltune-worker/nccl.h"

struct buffers {
    struct data_shape shape;
    int in_place, registered;
    int slots, cursor; /* pairs, and the one whose turn it is */
    char *memory;      /* slots times send and receive buffer */
    size_t bytes;
    void *handle; /* of the registration; NULL none */
};

struct pair {
    char *send, *recv;
};

/* Who has the buffers. */
struct buffers_owner {
    const struct gpu *gpu;
    const struct nccl *nccl;
    void *comm, *stream;
    int device, rank, nranks;
};

/* Allocates for the point and fills all send buffers. Where memory does not suffice for as many pairs as the cache asks
 * for, there are fewer, one at least: working_set says so. -1 with a sentence. */
int buffers_prepare(struct buffers *b, const struct buffers_owner *o, const struct nccl_point *p,
                    struct nccl_prepared *done, char *why, size_t bytes);

/* Gives all back. */
void buffers_drop(struct buffers *b, const struct buffers_owner *o);

/* The pair at the cursor; in place is where nccl-tests has it: the smaller buffer is this rank's part of the larger. */
struct pair buffers_pair(const struct buffers *b);

/* The next pair's turn: goes on from sample to sample. */
void buffers_turn(struct buffers *b);

#endif
