/* nccltune-bench --verbs: one rank a port, launched by verbs_run. */
#ifndef BENCH_NCCLTUNE_BENCH_VERBS_H
#define BENCH_NCCLTUNE_BENCH_VERBS_H

/* `argv` is what follows --verbs: "mlx5_0:1,mlx5_1:1" (a node's ports, one for each of its ranks, in their order;
 * several such lists separated by '/', of which a node takes the one whose devices it has; "-" for none, with one rank
 * a node), NCCL's version as ncclGetVersion says it, and the schedule ("rails", "reach", "matrix", "brief-rails",
 * "brief-matrix"), and how far to sweep over sizes in bytes, 0 for not at all. What an earlier run has found comes on
 * rank 0's standard input, as {"try": {...}} and a last line
 * {"go": true}. Tries every round of the schedule, rails also a crossing of rails, then what tells possible faults
 * apart. Rank 0 prints a line for each thing it learns:
 *
 *   {"nodes": 2, "rails": 2, "names": ["node0", "node1"]}              first
 *   {"round": 1, "of": 7}                                             what is being done
 *   {"try": {...}}, {"port": {...}}, {"interface": {...}}             as in the fabric document (see
 * bench/fabric/fabric.h)
 *   {"gpu_memory": {...}}                                             a port with a GPU
 *   {"point": {...}}                                                  of the sweep
 *   {"again": {...}}                                                  a try that was slow, and went better alone
 *   {"done": true}  or  {"error": "..."}
 *
 * Returns the exit status. */
int worker_verbs(int argc, char **argv);

#endif
