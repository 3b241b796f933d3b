/* The verbs engine: which RDMA ports reach which, how fast, by which GID. */
#pragma once

#include "bench/candidates/engine.h"

/* Options of this engine: bench_setup.own. */
struct verbs_options {
    const char *ports;    /* as for verbs_serve_main; NULL: the topology's active ports */
    const char *schedule; /* "rails", "reach", "matrix"; NULL: matrix on one node, rails on several */
    const char *check;    /* a profile to compare with, or its fabric.json; NULL none */
};

extern const struct bench_engine bench_engine_verbs;

/* The process that owns one port and does what the conductor of a measurement says. Agents start one for every port of
 * a node, as nccltune verbs-port PORTS NCCL RANK LOCAL; nobody else does. PORTS: "mlx5_0:1,mlx5_1:1", a node's ports,
 * of which process LOCAL takes one; several such lists separated by '/', of which a node takes the one whose devices it
 * has; "-" for none. NCCL is a version as ncclGetVersion says it. Frames come on standard input and go to standard
 * output. Returns the exit code. */
int verbs_serve_main(int argc, char **argv);
