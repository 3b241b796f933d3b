/* Predicted times of collectives on a topology, at any number of nodes.
 *
 * A flow-level model: every channel is laid over the real hops of its ring or tree, hops that channels share are
 * shared, and each hop has the bandwidth and latency of its kind. NCCL's own belief is in model/nccl/model.h,
 * which also gives the channels. Every result is a prediction with a band, and must be shown as such. */
#pragma once

#include "core/call/result.h"
#include "model/nccl/model.h"

/* Parts of a time. */
enum model_part {
    MODEL_LAUNCH,    /* issue and start */
    MODEL_HOPS,      /* GPU to GPU within a node: what waits and fills */
    MODEL_LINKS,     /* bytes over links and thread blocks of a node */
    MODEL_NET_HOPS,  /* node to node */
    MODEL_NET_LINKS, /* bytes over NICs, TCP and switches */
    MODEL_PARTS,
};
#define MODEL_NODE_PARTS (1u << MODEL_LAUNCH | 1u << MODEL_HOPS | 1u << MODEL_LINKS)
#define MODEL_NET_PARTS  (1u << MODEL_NET_HOPS | 1u << MODEL_NET_LINKS)
extern const char *const model_part_names[MODEL_PARTS]; /* "launch", "hops", "links", "net_hops", "net_links" */

/* Standard deviations of logarithms of time. */
struct model_prior {
    double part[MODEL_PARTS]; /* of the factor on a part, from machine to machine */
    double wait, carry;       /* of single calls when those factors are right: of one that only waits, only carries */
};

/* Return the spread of one call of which these are the parts. */
double model_rest(const struct model_prior *p, const double share[MODEL_PARTS]);

/* Return how evenly a call waits and carries: 1 half and half, 0 one of them alone. */
double model_between(const double share[MODEL_PARTS]);

/* Calibration of the parts of a time by a site's results. */
struct model_factors {
    double time[MODEL_PARTS];              /* × the built-in time; not above 0: 1 */
    double root[MODEL_PARTS][MODEL_PARTS]; /* of the covariance of their logarithms: covariance = root × root', */
    int sockets;                           /* between nodes they are of TCP, which says nothing about RDMA */
    double rest;                           /* × the built-in spread of single calls; 0: nothing was measured, and what
                                            * is doubted is the prior */
};

/* Who launches a collective: one of the following (the time is then their mean, and the interval covers them); a
 * process or a thread for every GPU, as mpirun, srun and torchrun start them; one thread of a node for all of its GPUs;
 * a graph. */
enum model_launcher {
    MODEL_LAUNCH_UNKNOWN,
    MODEL_LAUNCH_PROCESS,
    MODEL_LAUNCH_NODE,
    MODEL_LAUNCH_GRAPH,
    MODEL_LAUNCHERS,
};

/* The switches between the nodes. */
struct model_switches {
    int nodes_per_leaf;      /* 0: one leaf holds all */
    double oversubscription; /* of a leaf's uplinks: 1 none, 2 two to one; 0 counts as 1 */
    int mixed_rails;         /* a leaf serves nodes, not one rail of many nodes */
};

struct model_setup {
    struct nccl_setup nccl; /* topology, nodes, HCAs: as NCCL is told */
    int others;             /* groups that do the same at once: on each node as many as its further GPUs are enough
                             * for; below 0: all of those */
    enum model_launcher launcher;
    struct model_switches switches;
    const struct model_factors *factors; /* NULL: all built in */
};

/* Put the settings of `launch` as NCCL reads them into `s`, whose topology and class are known: those for all nodes and
 * for the class. Return -1 if the model does not know one of them or its value. Allocates in `a`. */
int model_apply(const struct bench_knobs *launch, struct nccl_setup *s, struct arena *a);

/* A machine that calls are predicted for: one class, one number of nodes, one set of HCAs. To be read only. */
struct model {
    const struct nccl_model *nccl; /* what NCCL makes of it; nccl_model_choose gives its choice for a call */
    struct model_prior prior;      /* what is doubted where nothing was measured */
    char library[48]; /* "NCCL 2.28.9", "NCCL 2.28" if any patch is meant, "NCCL 2.27.7 (RCCL)" on AMD's GPUs */
    const char *const *assumptions; /* about the hardware, where the topology does not tell; a sentence each */
    int nassumptions;
};

/* Prepare a model; all of it in `a`, and what `s` points to must live as long. Costs milliseconds at most; grows with
 * the class, not with the nodes. Return NULL after an error: no GPU, numbers out of range, an HCA that the class lacks.
 */
struct model *model_new(const struct model_setup *s, struct arena *a, struct err *e);

/* Predict with these factors from now on. */
void model_set_factors(struct model *m, const struct model_factors *f);

/* A call as NCCL is told to make it. `coll` is enum coll; those behind COLL_COUNT have no algorithm. */
struct model_call {
    int coll;
    uint64_t bytes;  /* NCCL's nBytes: the larger of the per-rank send and receive buffers */
    int algo, proto; /* -1: NCCL's choice of both */
    int channels;    /* 0: as NCCL would */
};

/* On more nodes no published result that the model was held against covers all sizes. */
#define MODEL_VALIDATED_NODES 2

struct model_time {
    double us, low_us, high_us; /* 90 % of calls lie between low and high */
    int algo, proto, channels;  /* what was predicted; algo and proto -1 where there is none */
    const char *taken_by;       /* see nccl_choice: the best ring stands in, for AllReduce */
    double share[MODEL_PARTS];  /* of the parts; together 1, and each the sensitivity of log time to the part's */
    struct bench_doubt doubt;   /* whose low and high those are */
    char limit[48];  /* what bounds it: "latency", "NVLink", "PCIe of mlx5_3", "NIC mlx5_3", "leaf uplinks" */
    int unvalidated; /* no published result covers it: more nodes, several groups at once, pairs of ranks or a hot one,
                      * GPUs or a network of their own */
};

/* Thread-safe, allocates nothing. -1 when NCCL does not offer that combination here (NVLS without switches, PAT for
 * AllReduce, ...), else 0. */
int model_predict(const struct model *m, const struct model_call *c, struct model_time *t);
