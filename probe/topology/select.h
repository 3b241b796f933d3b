/* Some of a cluster's nodes, and which of them go together. */
#ifndef PROBE_TOPOLOGY_SELECT_H
#define PROBE_TOPOLOGY_SELECT_H

#include "probe/topology/topology.h"

/* The hosts with a number in `hosts`, in that order, and the classes that they are of, under the names that they have.
 * Points into `t`, which has to outlive it; topo_free frees. What did not answer is not taken over. */
struct topology *topo_select(const struct topology *t, const int *hosts, int nhosts);

/* Why nodes of the two classes may not share a job, as what the other has instead of the first: "8 x NVIDIA A100
 * instead of 8 x NVIDIA H100", "active ports of 1 x 200 Gb/s instead of 2 x 200 Gb/s"; in `a`. NULL: they may. Names
 * and places of devices are no reason. */
const char *topo_apart(const struct topo_class *first, const struct topo_class *other, struct arena *a);

/* The NCCL or RCCL that a host's probe found first: "NCCL 2.21.5". NULL: none. In `a`. */
const char *topo_host_release(const struct topology *t, int host, struct arena *a);

/* The number of the host of that name, or of the part before its first dot; -1: none. */
int topo_find_host(const struct topology *t, const char *name);

/* How many GPUs the hosts have that are measured, all together; not those of hosts that are only served. */
int topo_measured_gpus(const struct topology *t);

/* The architecture of the first of AMD's GPUs, "gfx942"; NULL: there is none. */
const char *topo_amd_arch(const struct topology *t);

#endif
