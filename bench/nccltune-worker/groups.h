/* The communicator of the ranks that call together: that of everybody, or one split off it. */
#ifndef BENCH_NCCLTUNE_WORKER_GROUPS_H
#define BENCH_NCCLTUNE_WORKER_GROUPS_H

#include "bench/launch/worker_protocol.h"
#include "bench/nccltune-worker/nccl.h"

struct group {
    struct nccl_groups of;
    void *comm; /* NULL: this rank is in no group */
    int number; /* of the group, from 0; -1: none */
    int rank, nranks;
};

/* Everybody. */
struct group group_whole(void *comm, int rank, int nranks);

/* Splits `whole` by g->number, below 0: no group for this rank; all ranks of `whole` have to. A code of NCCL's. */
int group_split(struct group *g, const struct nccl *n, const struct group *whole);

/* Makes `g` this rank's group of `wanted`, if it is not; all ranks of `whole` have to. What `g` was before is given
 * back, which must have nothing left to do. -1 with a sentence. */
int group_enter(struct group *g, const struct nccl *n, const struct group *whole, const struct nccl_groups *wanted,
                char *why, size_t bytes);

/* Gives back what is not `whole`. */
void group_leave(struct group *g, const struct nccl *n, const struct group *whole);

#endif
