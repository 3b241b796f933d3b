/* nccltune-bench --verbs: one rank a port, launched by verbs_run. */
#ifndef BENCH_WORKER_VERBS_H
#define BENCH_WORKER_VERBS_H

/* `argv` is what follows --verbs: "mlx5_0:1,mlx5_1:1" (a node's ports, one for each of its ranks, in their order),
 * NCCL's version as ncclGetVersion says it, and the schedule ("rails", "reach", "matrix"). Tries every round of it,
 * rails also a crossing of rails, then what tells suspects apart. Rank 0 prints a line for each thing it learns:
 *
 *   {"nodes": 2, "rails": 2}          first
 *   {"round": 1, "of": 7}             what is being done
 *   {"try": {...}}, {"port": {...}}   as in the fabric document (see verbs_fabric.h)
 *   {"again": {...}}                  a try that was slow, and went better alone
 *   {"done": true}  or  {"error": "..."}
 *
 * Returns the exit status. */
int worker_verbs(int argc, char **argv);

#endif
