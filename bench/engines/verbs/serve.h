/* A process that owns one port and does what the conductor says; agents start one for every port of a node. */
#ifndef BENCH_ENGINES_VERBS_SERVE_H
#define BENCH_ENGINES_VERBS_SERVE_H

/* nccltune verbs-port PORTS NCCL RANK LOCAL. PORTS: "mlx5_0:1,mlx5_1:1", a node's ports, of which process LOCAL takes
 * one; several such lists separated by '/', of which a node takes the one whose devices it has; "-" for none. NCCL is a
 * version as ncclGetVersion says it. Frames come on standard input and go to standard output. Returns the exit code. */
int verbs_serve_main(int argc, char **argv);

#endif
