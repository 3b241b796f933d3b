/* Input and expected output of collectives: small whole numbers whose sums are exact in every type; and the
 * buffers of a point: as many pairs as it takes to be out of the GPU's cache when their turn comes again. */
#pragma once

#include <stdint.h>

#include "bench/nccltune-worker/nccl.h"
#include "core/gpu_driver.h"

/* ---- data ---- */

/* One point as one rank sees it. Elements, not bytes. */
struct data_shape {
    int coll, type, rank, nranks;
    uint64_t count;      /* as NCCL's function takes it */
    uint64_t send, recv; /* elements of this rank's buffers */
    uint64_t part;       /* elements of `recv` that come from one rank, or from all together */
    uint64_t first;      /* where they begin in what that rank sends */
};

/* Chooses the type where that is asked for. -1: the size does not give every rank an element. */
int data_shape_of(const struct nccl_point *p, int rank, int nranks, struct data_shape *s);

size_t data_type_bytes(int type);

/* Puts the fill of this rank's send buffer on `stream`, and returns when host memory is no longer needed. A driver's
 * code. */
int data_fill(const struct gpu *g, void *stream, const struct data_shape *s, void *send);

/* Compares the receive buffer, element by element, with what must be there once `stream` has come so far: 0 right,
 * 1 wrong, -1 when it could not be read; a sentence in `e`. Waits for the stream. */
int data_check(const struct gpu *g, void *stream, const struct data_shape *s, const void *recv, struct err *e);

/* "float32", "bfloat16", ... */
const char *data_type_name(int type);

/* ---- buffers ---- */

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

/* Owner of the buffers. */
struct buffers_owner {
    const struct gpu *gpu;
    const struct nccl *nccl;
    void *comm, *stream;
    int device, rank, nranks;
};

/* Allocates for the point and fills all send buffers. Where memory does not suffice for as many pairs as the cache asks
 * for, there are fewer, one at least: working_set says so. */
int buffers_prepare(struct buffers *b, const struct buffers_owner *o, const struct nccl_point *p,
                    struct nccl_prepared *done, struct err *e);

/* Gives all back. */
void buffers_drop(struct buffers *b, const struct buffers_owner *o);

/* The pair at the cursor; in place is where nccl-tests has it: the smaller buffer is this rank's part of the larger. */
struct pair buffers_pair(const struct buffers *b);

/* The next pair's turn: goes on from sample to sample. */
void buffers_turn(struct buffers *b);
