/* NCCL's own behaviour on a machine: its search of rings, trees and NVLS channels, and its cost model,
 * reproduced closely enough to give the same algorithm, protocol and channel count. Every number here is NCCL's belief,
 * not a prediction of ours (model/model.h has those). */
#pragma once

#include "model/nccl/types.h"

/* Runs the search and fills the tables; all of it in `a`. Cost: that of the class, whatever the number of nodes.
 * Errors: no GPU, numbers out of range, an HCA that the class does not have. */
struct nccl_model *nccl_model_new(const struct nccl_setup *s, struct arena *a, struct err *e);

/* NCCL's own choice for a call. */
struct nccl_choice {
    int algo, proto;
    int channels;         /* the most it may use, as a tuner is told */
    int used;             /* those that a call of this size really gets */
    int threads;          /* of a block */
    double us;            /* NCCL's estimate */
    const char *taken_by; /* other kernels make the call instead, whatever is chosen: "MSCCL", "DDA"; NULL: none */
};
/* Returns 0, or -1 when nothing is available. */
int nccl_model_choose(const struct nccl_model *m, int coll, uint64_t bytes, struct nccl_choice *c);

/* Channels and threads that NCCL would use if a tuner forced algorithm and protocol. */
void nccl_model_channels(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes,
                         struct nccl_choice *c);
