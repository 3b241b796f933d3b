/* What a measured fabric means for NCCL: who is to blame for what is broken, and which settings follow. */
#ifndef BENCH_VERBS_DECIDE_H
#define BENCH_VERBS_DECIDE_H

#include <stdio.h>

#include "bench/verbs_fabric.h"

struct verbs_setting {
    const char *name, *value;
    const char *why; /* one sentence with the numbers */
};

struct verbs_decision {
    struct verbs_outcome *outcomes; /* of every try, the slow ones marked */
    struct verbs_suspect *suspects;
    int nsuspects;
    int nfaults;                    /* suspects less separate rails, which may be meant so */
    struct verbs_setting *settings; /* least first: none when NCCL's defaults are right */
    int nsettings;
    const char *gid; /* about the choice of GIDs, one sentence */
};

/* Everything is allocated in the fabric's arena. The HCA list is one for all nodes: a rail that is bad on one of them
 * is left out on all, unless it is the last. `nccl` as ncclGetVersion says it. */
struct verbs_decision verbs_decide(struct verbs_fabric *f, int nccl);

/* A suspect as one sentence: "node1 mlx5_3:1 sends slowly: 3 of 3 tries, median 0.98 GB/s, others 2.31 GB/s". */
const char *verbs_suspect_text(const struct verbs_fabric *f, const struct verbs_suspect *s);

/* For people: suspects first, then the heat map of write bandwidth, then the settings. `color`: ANSI colours. */
void verbs_print(const struct verbs_fabric *f, const struct verbs_decision *d, int color, FILE *out);

#endif
