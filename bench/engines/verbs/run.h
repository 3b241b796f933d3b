/* Measuring a fabric: agents on every node start a process for each port, which the conductor brings together two by
 * two. Their words go through it; what is measured goes over verbs. */
#pragma once

#include <signal.h>

#include "bench/fabric/fabric.h"
#include "bench/launch/launch.h"

struct verbs_task {
    struct bench_setup setup; /* hosts, launcher, topology; ranks_per_node and own are not looked at */
    const char *ports;        /* as for verbs_serve_main; NULL: the topology's active ports */
    const char *schedule;     /* "rails", "reach", "matrix"; NULL: matrix on one node, rails on several */
    int brief;                /* only as much as tells whether something has become worse; without `schedule` */
    double budget_s;          /* ended when it takes longer; what was measured by then is returned */
    const char *journal;      /* file for what is learnt, gone at the end of the whole schedule; NULL none */
    int resume;               /* go on with the journal */
};

/* Nonzero if there is something to measure: several nodes, or several active ports on one. */
int verbs_worth(const struct bench_setup *s);

/* NULL after an error: no RDMA port (ERR_LACKS), no launcher, a process that fails. `stop` may be NULL.
 * Its member `complete` tells whether the whole schedule was run. Free with verbs_fabric_free. */
struct verbs_fabric *verbs_run(const struct verbs_task *o, volatile sig_atomic_t *stop, struct err *e);
