/* The steps of a decision, a file each. */
#pragma once

#include "bench/fabric/fabric.h"
#include "bench/results/points.h"
#include "core/arena.h"
#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

/* ---- the points of one shape of job, and what each is worth to a workload ---- */

/* A part of bench_points. */
struct decide_slice {
    const struct bench_point *points;
    int count;
    const double *weights; /* of the points; NULL: all alike */
};

/* Nonzero if a measurement can be compared: it was timed and its data was right. */
int decide_timed(const struct bench_candidate *c);

/* A copy that does not depend on the results it came from. */
struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k);

/* The time that a step of `d`'s workload spends at each point by default. NULL: there is no workload, or it calls
 * nothing of the kind. Lives in `d`'s arena. */
double *decide_weights(const struct env_decisions *d, struct decide_slice s);

/* ---- the launch ---- */

/* Fills launches, chosen and why of `shape`. */
void decide_launch(struct env_decisions *d, struct env_shape *shape, struct decide_slice s);

/* For a shape of other types or places of the data (env_shape_follows): the launch of the usual shape like it. */
void decide_follow(struct env_decisions *d, struct env_shape *shape);

/* ---- calls ---- */

/* Fills colls of `n` shapes that a tuner cannot tell apart (envgen/decide/steps.h), each for its chosen launch. */
void decide_calls(struct env_decisions *d, struct env_shape *shapes, const struct decide_slice *slices, int n);

/* ---- what must be the same for several shapes of job ---- */

/* Launch settings are common to all jobs. Where the shapes from `first` to before `end`, which are of one engine, would
 * choose differently, the launch is taken that gains most over all of them together, if that clears the margin and it
 * loses in none; else all stay with the untouched one. `worth` has what each shape counts. */
void decide_agree_on_launch(struct env_decisions *d, struct env_shape *first, struct env_shape *end,
                            const double *worth);

/* The points of one collective in one of the shapes that a tuner cannot tell apart (env_shapes_alike): one group alone
 * or several at once, one type of data or another. */
struct decide_side {
    const struct env_shape *shape;
    struct env_point *points; /* by size */
    int count;
};

/* If the sides would choose differently at a size, all take the call that loses least in any of them, of those that
 * were measured in all that have the size: the greatest of its losses is the smallest. The points' `shared` says so. */
void decide_agree_on_calls(struct env_decisions *d, struct decide_side *sides, int n);

/* ---- larger sizes than were measured ---- */

/* Nonzero if the choice at the last of `n` points, ascending, of one collective may go on without end: through the
 * three largest sizes, each twice the one before or more, time has to be a straight line in the size for it and for the
 * default, by their intervals, and so much steeper for the default that the gain clears the margin however large the
 * size gets; and its interval must show a gain at the last two of them, at the last one no less than before. No other
 * call that was measured may be less steep by the margin either: NCCL may turn to it by itself. What there was no time
 * for in this launch is judged by `untouched`, the same sizes in the untouched one (NULL: this is it). The default
 * always goes on. */
int decide_goes_on(const struct env_point *points, const struct env_point *untouched, int n, double margin);

/* ---- a measured fabric ---- */

/* Adds to `d`, after what was measured on GPUs and before what the topology says. A list of HCAs that was measured on
 * GPUs stays unless it names a port that is left out here. A rail that is bad on one node is left out on all; classes
 * whose ports have other names get the list in their own. What was looked at and needs no setting is added without a
 * value. */
void env_fabric(struct env_decisions *d, const struct topology *t, struct verbs_fabric *f);

/* ---- GPUDirect RDMA ---- */

/* NCCL_NET_GDR_LEVEL: how far apart a GPU and a NIC may be so that the NIC still reads and writes the GPU's memory. A
 * value where the measurements contradict NCCL's default; `why` is NULL where nothing of the kind was measured.
 * `classes` has the class of every node of the fabric, -1 unknown. Everything is allocated in the fabric's arena. */
struct env_setting env_gdr_level(const struct topology *t, const int *classes, const struct verbs_fabric *f,
                                 const struct verbs_decision *v);

/* ---- what the topology alone justifies: only where NCCL's own choice would be wrong ---- */

/* NCCL_SOCKET_IFNAME. NCCL left alone uses every running interface with an address that is not called docker*, lo* or
 * virbr*, or only those called ib* when there are any (NCCL 2.30, src/misc/socket.cc, src/os/linux.cc). That is wrong
 * where it takes in interfaces that do not lead off the machine: bridges and tunnels of container software. Then, and
 * only then, the others are named, exactly ('='). Where classes of nodes would need different names, nothing is set.
 *
 * The setting's value is NULL when nothing is to be written; `why` says why in either case. Allocated in `a`. */
struct env_setting env_socket_ifname(const struct topology *t, struct arena *a);

/* The same for one class of nodes. */
struct env_setting env_socket_ifname_of(const struct topo_class *c, struct arena *a);

#define ENV_INTERFACES 16 /* NCCL looks no further than this many */

/* The interfaces of a class that NCCL takes when nothing is set; their number. */
int env_socket_automatic(const struct topo_class *c, const struct topo_netdev *out[ENV_INTERFACES]);

/* ---- what differs between classes of nodes ---- */

/* Adds to `d` what the topology alone justifies for single classes, and splits what was measured. */
void env_classes(struct env_decisions *d, const struct topology *t);

/* ---- RCCL ---- */

/* Adds them, without values, when the topology's GPUs are AMD's. */
void env_amd_advice(struct env_decisions *d, const struct topology *t);
