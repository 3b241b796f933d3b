/* Variables of NCCL and of what is around it that are worth a launch of their own, and where. */
#ifndef BENCH_CANDIDATES_NCCL_KNOBS_H
#define BENCH_CANDIDATES_NCCL_KNOBS_H

#include "bench/launch/setup.h"

struct nccl_knob {
    const char *label, *name, *value;
    int where, condition;
};

/* The n-th of them that is worth trying on these nodes; NULL: no more. `rdma`: an RDMA port is up. One that is set in
 * the environment is left as it is. */
const struct nccl_knob *nccl_knob_next(const struct bench_setup *s, int nodes, int rdma, size_t *at);

#endif
