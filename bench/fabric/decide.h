/* What a measured fabric means for NCCL: what is at fault for what is broken, and which settings follow. */
#ifndef BENCH_FABRIC_DECIDE_H
#define BENCH_FABRIC_DECIDE_H

#include <stdio.h>

#include "bench/fabric/fabric.h"
#include "core/finding.h"

struct verbs_setting {
    const char *name, *value;
    const char *why; /* one sentence with the numbers */
};

struct verbs_decision {
    struct verbs_outcome *outcomes; /* of every try, the slow ones marked */
    struct verbs_fault *faults;
    int nfaults;
    int nbroken;                    /* faults less separate rails, which may be meant so */
    struct verbs_setting *settings; /* least first: none when NCCL's defaults are right */
    int nsettings;
    const char *gid;        /* about the choice of GIDs, one sentence */
    const char **left_out;  /* by rail: why it is left out of the HCA list; NULL it is not */
    const char **nodes_out; /* by node: why jobs are better off without it, with what that costs; NULL it stays */
    int nnodes_out;
    struct findings found; /* rates and MTUs that are not as they could be */
};

/* Everything is allocated in the fabric's arena. A bad port costs its node, which is left out, or its rail on all
 * nodes, whichever is the smaller part of the cluster, and the node of two that are alike; two nodes and a rail stay in
 * any case. `nccl` as ncclGetVersion says it. */
struct verbs_decision verbs_decide(struct verbs_fabric *f, int nccl);

/* The rails that are not left out as a node's NCCL_IB_HCA: "=mlx5_0:1,mlx5_1:1"; "" when none is left. */
const char *verbs_hca_list(const struct verbs_fabric *f, const struct verbs_decision *d, int node);

/* What is at fault: "node1 mlx5_3:1, what it sends:". */
const char *verbs_fault_name(const struct verbs_fabric *f, const struct verbs_fault *s);

/* A fault as one sentence: "node1 mlx5_3:1 sends slowly: 3 of 3 tries, median 0.98 GB/s, others 2.31 GB/s". */
const char *verbs_fault_text(const struct verbs_fabric *f, const struct verbs_fault *s);

/* The ports that no try had to do with ("n1 mlx5_2:1, …"; "" none), and how many: nothing is known of them. */
const char *verbs_untried(const struct verbs_fabric *f, int *count);

/* What is known of one port from all its tries. */
struct verbs_cell {
    int tried, failed, slow;
    int outlier; /* most of what it sent or received was slow or failed, less what is the fault of another port */
    double GBps; /* median of what it sent or of what it received, whichever is less; 0 nothing. Likewise less that */
};
/* By port, as in the fabric; allocated in its arena. */
struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d);

/* The number of the try from one port to another; -1 there is none. Of several the last, which is the best known. */
int verbs_find_try(const struct verbs_fabric *f, int from, int to);

/* The same as a picture (SVG): faults, a map of rails and nodes, and for VERBS_MOST_PAIRED ports or fewer one of
 * pairs. */
void verbs_svg(const struct verbs_fabric *f, const struct verbs_decision *d, FILE *out);

/* For people: faults first, then the heat map of write bandwidth, then the settings. `color`: ANSI colours. */
void verbs_print(const struct verbs_fabric *f, const struct verbs_decision *d, int color, FILE *out);

#endif
