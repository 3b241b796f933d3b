/* Splitting the communicator. One group at a time is kept: each costs memory on the GPU. */
#include "bench/nccltune-worker/groups.h"

#include <stdio.h>

#define NO_COLOR (-1) /* NCCL_SPLIT_NOCOLOR */

struct group group_whole(void *comm, int rank, int nranks)
{
    return (struct group){.comm = comm, .rank = rank, .nranks = nranks};
}

void group_leave(struct group *g, const struct nccl *n, const struct group *whole)
{
    if (g->comm && g->comm != whole->comm)
        n->comm_destroy(g->comm);
    *g = *whole;
}

/* A communicator that does not block says first that the parent is done with it, then that it is there itself. */
int group_split(struct group *g, const struct nccl *n, const struct group *whole)
{
    int rc = nccl_settled(
        n, whole->comm, n->comm_split(whole->comm, g->number < 0 ? NO_COLOR : g->number, whole->rank, &g->comm, NULL));
    if (rc || g->number < 0)
        return rc;
    if (!rc && g->comm)
        n->comm_async_error(g->comm, &rc);
    rc = nccl_settled(n, g->comm, rc);
    rc = rc ? rc : n->comm_count(g->comm, &g->nranks);
    return rc ? rc : n->comm_user_rank(g->comm, &g->rank);
}

int group_enter(struct group *g, const struct nccl *n, const struct group *whole, const struct nccl_groups *wanted,
                char *why, size_t bytes)
{
    const struct bench_shape everybody = {.nodes = wanted->whole_nodes, .ranks = whole->nranks};
    char text[NCCL_TEXT - 32];
    if (bench_shape_same(&g->of.shape, &wanted->shape))
        return 0;
    group_leave(g, n, whole);
    if (!wanted->shape.nodes)
        return 0;
    if (!n->comm_split) {
        snprintf(why, bytes, "rank %d: this NCCL has no ncclCommSplit", whole->rank);
        return -1;
    }
    *g = (struct group){.of = *wanted, .number = bench_shape_group(&wanted->shape, &everybody, whole->rank)};
    int rc = group_split(g, n, whole);
    if (rc)
        snprintf(why, bytes, "rank %d: cannot split groups off: %s", whole->rank,
                 nccl_error(n, whole->comm, rc, text, sizeof text));
    else if (g->comm && g->nranks != wanted->shape.ranks)
        rc = snprintf(why, bytes, "rank %d: NCCL has made a group of %d ranks, not of %d", whole->rank, g->nranks,
                      wanted->shape.ranks);
    if (rc)
        group_leave(g, n, whole);
    return rc ? -1 : 0;
}
