/* The steps of a decision, a file each. */
#pragma once

#include "bench/fabric/fabric.h"
#include "bench/results/points.h"
#include "core/arena.h"
#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

/* ---- gain.c ---- */

/* The points of one shape of job, a part of bench_points, and what they are worth to a workload. */
struct decide_slice {
    const struct bench_point *points;
    int count;
    const double *weights; /* of the points; NULL: all alike */
    double worth;          /* of the shape where all have to agree */
};

/* Return whether a measurement can be compared: it was timed and its data was right. */
int decide_timed(const struct bench_candidate *c);

/* A copy that does not depend on the results it came from. */
struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k);

/* ---- calls.c ---- */

/* Fill colls, each for its chosen launch, of `n` shapes that a tuner cannot tell apart, a slice each. */
void decide_calls(struct env_decisions *d, struct env_shape *shapes, const struct decide_slice *slices, int n);

/* ---- network.c: from the fabric, and what the topology alone justifies, only where NCCL's own choice would be wrong
 * ---- */

/* Add to `d`, after what was measured on GPUs and before what the topology says. A list of HCAs that was measured on
 * GPUs stays unless it names a port that is left out here. A rail that is bad on one node is left out on all; classes
 * whose ports have other names get the list in their own. What was looked at and needs no setting is added without a
 * value. */
void env_fabric(struct env_decisions *d, const struct topology *t, struct verbs_fabric *f);

/* NCCL_NET_GDR_LEVEL: how far apart a GPU and a NIC may be so that the NIC still reads and writes the GPU's memory. A
 * value where the measurements contradict NCCL's default; `why` is NULL where nothing of the kind was measured.
 * `classes` has the class of every node of the fabric, -1 unknown. Everything is allocated in the fabric's arena. */
struct env_setting env_gdr_level(const struct topology *t, const int *classes, const struct verbs_fabric *f,
                                 const struct verbs_decision *v);

/* NCCL_SOCKET_IFNAME of a class of nodes. NCCL left alone uses every running interface with an address that is not
 * called docker*, lo* or virbr*, or only those called ib* when there are any (NCCL 2.30, src/misc/socket.cc,
 * src/os/linux.cc). That is wrong where it takes in interfaces that do not lead off the machine: bridges and tunnels of
 * container software. Then, and only then, the others are named, exactly ('='). `why` says why in either case.
 * Allocated in `a`. */
struct env_setting env_socket_ifname(const struct topo_class *c, struct arena *a);

/* Add NCCL_SOCKET_IFNAME for all or for single classes, and split between classes what was measured. */
void env_classes(struct env_decisions *d, const struct topology *t);
