/* What would really happen: predicted times of collectives on a topology, at any number of nodes.
 *
 * A flow-level model: every channel is laid over the real hops of its ring or tree, hops that channels share are
 * shared, and each hop has the bandwidth and latency of its kind. NCCL's own belief is in bench/predict/nccl/model.h,
 * which also gives the channels. Every result is a prediction with a band, and must be shown as such. */
#ifndef BENCH_PREDICT_MODEL_H
#define BENCH_PREDICT_MODEL_H

#include "bench/predict/doubt.h"
#include "bench/predict/nccl/model.h"
#include "bench/predict/switches.h"
#include "bench/results/doubt.h"

/* What results of a site make of the parts of a time. */
struct model_factors {
    double time[MODEL_PARTS];              /* × the built-in time; not above 0: 1 */
    double root[MODEL_PARTS][MODEL_PARTS]; /* of the covariance of their logarithms: covariance = root × root', */
    int sockets;                           /* between nodes they are of TCP, which says nothing about RDMA */
    double rest;                           /* × the built-in spread of single calls; 0: nothing was measured, and what
                                            * is doubted is the prior */
};

/* Who launches a collective: a process or a thread for every GPU, as mpirun, srun and torchrun start them; one thread
 * of a node for all of its GPUs; a graph. */
enum model_launcher { MODEL_LAUNCH_GPU, MODEL_LAUNCH_NODE, MODEL_LAUNCH_GRAPH };

struct model_setup {
    struct nccl_setup nccl; /* topology, nodes, HCAs: as NCCL is told */
    int others;             /* groups that do the same at once: on each node as many as its further GPUs are enough
                             * for; below 0: all of those */
    enum model_launcher launcher;
    struct model_switches switches;
    const struct model_factors *factors; /* NULL: all built in */
};

struct model; /* prepared: one class, one number of nodes, one set of HCAs */

/* All of it in `a`, and what `s` points to must live as long. Costs milliseconds at most; grows with the class, not
 * with the nodes. Errors as nccl_model_new. */
struct model *model_new(const struct model_setup *s, struct arena *a, struct err *e);
/* Predicts with these from now on. */
void model_set_factors(struct model *m, const struct model_factors *f);

const struct nccl_model *model_nccl(const struct model *m);

/* What is doubted where nothing was measured. */
const struct model_prior *model_prior(const struct model *m);

/* A call as NCCL is told to make it. `coll` is enum coll; those behind COLL_COUNT have no algorithm. */
struct model_call {
    int coll;
    uint64_t bytes;  /* NCCL's nBytes: the larger of the per-rank send and receive buffers */
    int algo, proto; /* -1: NCCL's choice of both */
    int channels;    /* 0: as NCCL would */
};

struct model_time {
    double us, low_us, high_us; /* nine of ten calls lie between low and high */
    int algo, proto, channels;  /* what was predicted; algo and proto -1 where there is none */
    const char *taken_by;       /* see nccl_choice: the best ring stands in, for AllReduce */
    double share[MODEL_PARTS];  /* of the parts; together 1, and each the sensitivity of log time to the part's */
    struct bench_doubt doubt;   /* whose low and high those are */
    char limit[48];  /* what bounds it: "latency", "NVLink", "PCIe of mlx5_3", "NIC mlx5_3", "leaf uplinks" */
    int unvalidated; /* more nodes than any published result that the model was held against, or several groups at once,
                      * or pairs of ranks or a hot one, of which none is published */
};

/* Thread-safe, allocates nothing. -1 when NCCL does not offer that combination here (NVLS without switches, PAT for
 * AllReduce, ...), else 0. */
int model_predict(const struct model *m, const struct model_call *c, struct model_time *t);

/* How many times longer compute takes beside such a call: each channel's thread block has a multiprocessor to itself.
 * What both take from memory is not counted. */
double model_slowdown(const struct model *m, const struct model_time *t);

/* What was assumed about the hardware that the topology does not tell, a sentence each; n is their number. */
const char *const *model_assumptions(const struct model *m, int *n);

#endif
