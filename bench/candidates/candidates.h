/* Candidates of the engines, and the growth of plans. */
#pragma once

#include "bench/candidates/engine.h"

/* ---- plans ---- */

/* Add the default of a collective, for the caller to fill. */
struct bench_call *bench_plan_add_call(struct bench_plan *p, struct arena *a, int coll);
void bench_plan_add_launch(struct bench_plan *p, struct arena *a, struct bench_knobs knobs);

/* For setup->jobs: these launches and the default, and of the calls of `p` the library's own choice alone. */
void bench_plan_jobs(struct bench_plan *p, struct arena *a, const struct bench_setup *s);

/* A single setting, in `a`. */
struct bench_knobs bench_plan_knob(struct arena *a, const char *label, const char *name, const char *value);

/* Return whether both have the same settings, in whatever order. */
int bench_plan_same(const struct bench_knobs *x, const struct bench_knobs *y);

/* ---- NCCL and RCCL ---- */

/* Fill the calls of `p`: for every collective the default, each combination of algorithm and protocol that some NCCL
 * since 2.19 has for it, and each of those again with fixed numbers of channels; what NCCL builds of send and receive
 * has but the default. What this communicator offers is asked later. No numbers of channels for CollNet and, unless on
 * `one_node`, NVLS: NCCL takes what a tuner asks for there as it is, connected or not (2.28.9 enqueue.cc:569), and does
 * not say what is. */
void nccl_plan_calls(struct bench_plan *p, struct arena *a, int one_node);

/* Put a call with each chunk size that a message of `bytes` has use for into `out`; return how many. None for what
 * leaves the number of channels to NCCL, as a tuner then cannot tell the slices, and for what names a chunk size
 * already. NCCL cuts chunks to its buffers, which `launch` or the environment may have set: of sizes that come out the
 * same the smallest is tried alone. */
int nccl_plan_vary(const struct bench_knobs *launch, const struct bench_knobs *call, uint64_t bytes, struct arena *a,
                   struct bench_knobs out[BENCH_VARIATIONS]);

/* Fill the launches of `p`: the default; from the topology the sets of HCAs that are worth comparing (all that carry
 * data, one a GPU, those behind the GPUs' own switches, each rail alone), for each class of nodes its own where names
 * differ (core/call/result.h); queue pairs by splitting, which are also tried beside the best launch; then one
 * variable at a time that is read at the start (nccl_knobs.inc). Without RDMA, the socket threads instead. On one node
 * only what matters there. */
void nccl_plan_launches(const struct bench_setup *s, int nodes, struct bench_plan *p, struct arena *a);

/* Both launches' variables together; 0 when they set the same one. */
int nccl_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                      struct bench_knobs *both);

/* ---- OpenMPI ---- */

/* Fill library and calls of `p`, in `a`, by asking `worker` (the path of nccltune-bench) for the values that the
 * library's algorithm variables can take. Errors: it cannot be run, or does not answer. */
int mpi_plan_calls(const char *worker, struct bench_plan *p, struct arena *a, struct err *e);

/* Fill the launches of `p`: the default, and on several nodes each interface alone. They come from `interfaces`
 * ("eth0,ib0"; NULL: not said) or are those of the topology that every node has, up, with an IPv4 address, and not a
 * container's, fast ones first. When --mpirun-args sets the interfaces, the default alone. Errors (ERR_USAGE):
 * --interfaces is no list of names. */
int mpi_plan_launches(const struct bench_setup *s, const char *interfaces, int nodes, struct bench_plan *p,
                      struct arena *a, struct err *e);

/* Both launches' interfaces together; 0 when they do not name one each. */
int mpi_plan_combine(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a,
                     struct bench_knobs *both);
