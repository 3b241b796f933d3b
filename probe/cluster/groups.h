/* What of a cluster can be measured: nodes that go together, and those that are left out, by name and reason. */
#ifndef PROBE_CLUSTER_GROUPS_H
#define PROBE_CLUSTER_GROUPS_H

#include "core/log.h"
#include "probe/topology/topology.h"

struct cluster_left {
    const char *name, *why;
};

/* A list that grows in an arena. */
struct cluster_left_out {
    struct arena *arena;
    struct cluster_left *list;
    int n;
};
void cluster_leave_out(struct cluster_left_out *all, const char *name, const char *why); /* nothing is copied */

/* Whether the host has an error of that kind ("memlock-low: …"). */
int cluster_has_error(const struct topo_host *h, const char *error);

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

/* A node is left out when it did not answer; when its own probe found an error that at most half of the nodes have;
 * when it has no GPU while others have; when it goes with none of the others, and they are not alone, too. The first
 * group may be a single node. Empty when no node is left. Everything is in `a`, but for names, which are the
 * topology's. */
struct cluster_groups cluster_groups_of(const struct topology *t, struct arena *a);

#endif
