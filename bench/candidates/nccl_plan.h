/* What the nccl engine can try. */
#ifndef BENCH_CANDIDATES_NCCL_PLAN_H
#define BENCH_CANDIDATES_NCCL_PLAN_H

#include "bench/candidates/plan.h"

/* Call settings, as envgen writes them into tuner.csv. */
#define NCCL_SET_ALGO     "algorithm"
#define NCCL_SET_PROTO    "protocol"
#define NCCL_SET_CHANNELS "channels"
#define NCCL_SET_CHUNK    "chunk_bytes"

/* Numbers of channels that are tried; NCCL cuts them to what the communicator has. Ends with 0. */
extern const int nccl_plan_channels[];

/* Fills the calls of `p`: for every collective the default, each combination of algorithm and protocol that some NCCL
 * since 2.19 has for it, and each of those again with fixed numbers of channels; what NCCL builds of send and receive
 * has but the default. What this communicator offers is asked later. No numbers of channels for CollNet and, unless on
 * `one_node`, NVLS: NCCL takes what a tuner asks for there as it is, connected or not (2.28.9 enqueue.cc:569), and does
 * not say what is. */
void nccl_plan_calls(struct bench_plan *p, struct arena *a, int one_node);

/* A call with each chunk size that a message of `bytes` has use for, into `out`; returns how many. None for what leaves
 * the number of channels to NCCL, as a tuner then cannot tell the slices, and for what names a chunk size already. NCCL
 * cuts chunks to its buffers, which `launch` or the environment may have set: of sizes that come out the same the
 * smallest is tried alone. */
int nccl_plan_vary(const struct bench_knobs *launch, const struct bench_knobs *call, uint64_t bytes, struct arena *a,
                   struct bench_knobs out[BENCH_VARIATIONS]);

/* Fills the launches of `p`: the default; from the topology the sets of HCAs that are worth comparing (all that carry
 * data, one a GPU, those behind the GPUs' own switches, each rail alone), for each class of nodes its own where names
 * differ (bench/results/node_local.h); queue pairs by splitting, which are also
 * tried beside the best launch; then one variable at a time that is read at the start (bench/candidates/nccl_knobs.h).
 * Without RDMA, the socket threads instead. On one node only what matters there. */
void nccl_plan_launches(const struct bench_setup *s, int nodes, struct bench_plan *p, struct arena *a);

/* Both launches' variables together; 0 when they set the same one. */
int nccl_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                      struct bench_knobs *both);

/* A call's settings as numbers: -1, -1, 0 and 0 for what it leaves to NCCL. */
struct nccl_requested {
    int algo, proto, channels;
    uint32_t chunk_bytes;
};
struct nccl_requested nccl_requested_of(const struct bench_knobs *call);

#endif
