/* Measurable parts of a cluster: nodes that go together, those left out, by name and reason; and nodes
 * that are not measured but join the class that they equal. */
#pragma once

#include "probe/topology/topology.h"

/* A list that grows in an arena. */
struct cluster_left_out {
    struct arena *arena;
    struct topo_missing *list;
    int n;
};
void cluster_leave_out(struct cluster_left_out *all, const char *name, const char *why); /* nothing is copied */

/* Nodes that may share a job: GPUs of one kind, ports of the same rates, one GPU driver, one release of NCCL. */
struct cluster_group {
    int *hosts; /* numbers in the topology, in its order */
    int nhosts;
    const char *name; /* of its first class */
};

struct cluster_groups {
    struct cluster_group *list; /* the one that matters most first: with GPUs, then of most nodes */
    int n;
    struct cluster_left_out left;
    const char **shared; /* errors that most nodes have: they are the cluster's and leave nobody out */
    int nshared;
};

/* Group the nodes. A node is left out if it did not answer, if its own probe found an error that at most half of the
 * nodes have, if it has no GPU while others have, or if it is alone in its group, but for the first group, which may be
 * a single node. Empty if no node is left. Everything is in `a` except names, which are the topology's. */
struct cluster_groups cluster_groups_of(const struct topology *t, struct arena *a);

struct cluster_served {
    int joined;
    struct cluster_left_out out; /* hosts that equal no class, with the difference, are unhealthy or did not answer */
};

/* Add the hosts of `probed` to `t`, each to the class that it is identical to; classes are never added: the hash of `t`
 * stays. A host that `t` has already, such as a replaced node, is replaced. Strings of the result are in `a`. */
struct cluster_served cluster_serve(struct topology *t, const struct topology *probed, struct arena *a);
