/* Collectives laid over the links: what each pattern loads, by the number of channels that share the work. */
#pragma once

#include "model/links.h"

enum { MODEL_MOST_CHANNELS = 64 };

enum model_pattern {
    MODEL_RING,
    MODEL_TREE,
    MODEL_NVLS,
    MODEL_NVLS_TREE,
    MODEL_PAT,
    MODEL_ALLTOALL,
    MODEL_ALLTOALLV, /* with a hot rank */
    MODEL_SHIFT,     /* each rank sends to the next */
    MODEL_PATTERNS,
};

/* The busiest link within a node and the busiest between nodes: microseconds a byte of nBytes, before the collective's
 * own factor (how often a byte passes). */
struct model_load {
    double node_us, net_us;
    int node_link, net_link; /* index into links; -1 none; MODEL_UPLINKS */
};
enum { MODEL_UPLINKS = -2 };

struct model_flow {
    struct model_load *loads; /* loads[k - 1] with k channels, MODEL_MOST_CHANNELS of them; of pairs of ranks: one;
                               * NULL: there is no such pattern here */
    enum model_way node_way;  /* the slowest between its GPUs */
    enum model_way net_way;   /* the same between GPU and NIC */
    enum model_net_kind kind; /* the slowest of those in use */
};

/* Fills flows[MODEL_PATTERNS] with what l->nccl's groups does while the `nbeside` others, on other GPUs of the same
 * nodes, do the same: `rings` and the like are each group's own. */
void model_flows(const struct model_links *l, const struct nccl_model *const *beside, int nbeside,
                 const struct model_switches *switches, struct model_flow *flows, struct arena *a);
