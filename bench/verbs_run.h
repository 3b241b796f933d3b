/* Measuring a fabric: launches the worker on every node through mpirun, one rank a port, and collects what it says. MPI
 * only carries words; what is measured goes over verbs. */
#ifndef BENCH_VERBS_RUN_H
#define BENCH_VERBS_RUN_H

#include "bench/engine.h"
#include "bench/verbs_fabric.h"
#include "core/progress.h"

struct verbs_options {
    struct bench_setup setup; /* hosts, mpirun, topology; ranks_per_node is not looked at */
    const char *ports;        /* "mlx5_0:1,mlx5_1:1"; NULL: the topology's active ports */
    const char *schedule;     /* "rails", "reach", "matrix"; NULL: matrix on one node, rails on several */
    int nccl;                 /* version whose choice of GIDs is proven first, as ncclGetVersion says it */
    double budget_s;          /* ended when it takes longer; what was measured by then is returned */
};

/* The newest rules for GIDs that we know of. */
#define VERBS_NCCL_NEWEST 23100

/* NULL after an error: no RDMA port (ERR_LACKS), no mpirun, a worker that fails. `progress` and `stop` may be NULL.
 * `*complete` tells whether the whole schedule was run. Free with verbs_fabric_free. */
struct verbs_fabric *verbs_run(const struct verbs_options *o, struct progress *progress, volatile sig_atomic_t *stop,
                               int *complete, struct err *e);

#endif
