/* The parts of the nccl engine among themselves. */
#ifndef BENCH_ENGINES_NCCL_NCCL_INTERNAL_H
#define BENCH_ENGINES_NCCL_NCCL_INTERNAL_H

#include "bench/engines/nccl/worker_pool.h"
#include "bench/launch/start.h"
#include "core/proc.h"

/* One node's agent. */
struct nccl_member {
    char host[64];
    int from, to; /* descriptors; the same one over TCP; -1 gone */
    struct nccl_inbox inbox;
};

/* Starting agents, for `library` or, where that is NULL, the one that they find. `members` come back in the order of
 * their names, as people count: node2 before node10. */
struct nccl_agents {
    struct proc launcher; /* the agent itself */
    struct start *start;  /* or what starts agents elsewhere */
    struct nccl_member *members;
    int count;
};
int nccl_agents_open(struct nccl_agents *c, const struct bench_setup *setup, const char *library, double patience_s,
                     volatile sig_atomic_t *stop, struct err *e);
void nccl_agents_close(struct nccl_agents *c);

#endif
