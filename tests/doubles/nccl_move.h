/* The data of a collective of the NCCL double: gathered on rank 0, reduced or rearranged there, and given back. */
#pragma once

#include "tests/doubles/nccl_join.h"

#define MOVE_RANKS 64

struct move {
    int coll; /* enum coll or LAW_ALLTOALL */
    int type; /* ncclDataType_t */
    int root;
    uint64_t count; /* elements, as given to the NCCL function */
    const void *send;
    void *recv;
    uint64_t shares[MOVE_RANKS]; /* of an all-to-all: what every rank sends each; `count` the largest, `root` whose */
    uint64_t own;                /* of those this rank's */
};

/* Bytes of an element; 0 for a type that the double does not know. */
size_t move_type_bytes(int type);

/* Bytes of the send and the receive buffer of each rank, and NCCL's nBytes (the larger of the two). */
size_t move_send_bytes(const struct move *m, int nranks);
size_t move_recv_bytes(const struct move *m, int nranks);

/* 0 or -1: a peer is gone. */
int move_data(struct join *j, const struct move *m);
