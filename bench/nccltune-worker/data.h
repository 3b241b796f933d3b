/* What collectives are fed with and what must come out: small whole numbers whose sums are exact in every type. */
#ifndef BENCH_NCCLTUNE_WORKER_DATA_H
#define BENCH_NCCLTUNE_WORKER_DATA_H

#include <stdint.h>

#include "bench/launch/gpu_driver.h"
#include "bench/launch/worker_protocol.h"

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
 * 1 wrong with a sentence in `why`, -1 when it could not be read. Waits for the stream. */
int data_check(const struct gpu *g, void *stream, const struct data_shape *s, const void *recv, char *why,
               size_t bytes);

/* "float32", "bfloat16", ... */
const char *data_type_name(int type);

#endif
