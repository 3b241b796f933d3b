/* NCCL's own behaviour on a machine: its search of rings, trees and NVLS channels, and its cost model,
 * reproduced closely enough to give the same algorithm, protocol and channel count. Every number here is NCCL's belief,
 * not a prediction of ours (model/model.h has those). */
#pragma once

#include <stdint.h>

#include "core/coll.h"
#include "probe/topology/topology.h"

#define NCCL_NOTHING_LEFT 0x80000000u /* of algos and protos below: a bit of none */

struct nccl_setup {
    const struct topology *topology;
    int class_index;
    int nodes;          /* 1 … 1,000,000, all of that class */
    int ranks_per_node; /* 0: one a GPU */
    int first_gpu;      /* of a node that the communicator has: the others follow by their numbers */
    int version;        /* 22809: NCCL 2.28.9; 0: the newest known */
    const char *const
        *hcas; /* "mlx5_0" or "mlx5_0:1": what NCCL_IB_HCA leaves; NULL: those that NCCL takes by itself */
    int nhcas;
    int sockets;                    /* no RDMA: NCCL_IB_DISABLE=1, or nothing that works */
    int min_channels, max_channels; /* NCCL_MIN_CTAS and MAX_CTAS; 0 unset */
    int no_nvls;                    /* NCCL_NVLS_ENABLE=0 */
    int no_net_intra;               /* NCCL_NET_DISABLE_INTRA=1 */
    int no_mnnvl;                   /* NCCL_MNNVL_ENABLE=0 */
    int p2p_off;                    /* NCCL_P2P_DISABLE=1: p2p_within stays PATH_LOC and 1 */
    int no_pxn;                     /* NCCL_PXN_DISABLE=1 */
    int cross_nic;                  /* NCCL_CROSS_NIC; 2 is NCCL's default, 0 counts as 2: say 1 or 3 (=0, never) */
    int p2p_within, gdr_within;     /* the farthest enum path_class for NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL, and 1;
                                     * 0: NCCL's default */
    /* What NCCL_ALGO and NCCL_PROTO leave (bits); 0: all. */
    unsigned algos[COLL_COUNT], protos[COLL_COUNT];
};

/* A NIC as the transport shows it to NCCL. */
struct nccl_net {
    const char *name; /* "mlx5_0:1", "eth0" */
    int object;       /* in the class; -1 unknown */
    int port;         /* index into ports; -1: an interface */
    double GBps, latency_us;
    int gdr;     /* it can reach GPU memory by itself */
    int devices; /* of one card that NCCL takes as one NIC; object and port are those of the first */
};

/* Processor models that NCCL distinguishes. */
enum nccl_cpu { NCCL_CPU_OTHER, NCCL_CPU_INTEL, NCCL_CPU_AMD, NCCL_CPU_ARM, NCCL_CPU_POWER };

/* Patterns of channels; a balanced tree uses two NICs or two GPUs of one, a tree one NIC at its first GPU. */
enum graph_pattern { GRAPH_RING, GRAPH_BALANCED_TREE, GRAPH_TREE, GRAPH_NVLS };

/* Channels of one pattern, as `NCCL_GRAPH_DUMP_FILE` would show them; what is searched for, and what was found. */
struct nccl_graph {
    enum graph_pattern pattern;
    int min_channels, max_channels;         /* that are wanted */
    int nchannels;                          /* 0: no such graph */
    float bw_intra, bw_inter;               /* GB/s of one channel */
    float latency_inter;                    /* microseconds of the NIC */
    enum path_class type_intra, type_inter; /* the worst hop in it */
    int same_channels;                      /* all of them are copies of the first */
    int cross_nic;                          /* a channel may come in by one NIC and go out by another */
    int hops;                               /* of all channels */
    int *gpus; /* nchannels × ranks_per_node: indices into gpus in the order of the channel */
    int *nets; /* nchannels × 2: index into nets that it comes in by, and goes out by; NULL on one node. While it is
                * searched for both are indices of the system's nodes. */
};

struct nccl_model {
    struct nccl_setup setup;          /* as it was told, ranks_per_node filled in */
    int version;                      /* whose constants these are, and */
    const char *assumed;              /* what had to be assumed about the hardware; NULL nothing */
    int nodes, ranks, ranks_per_node; /* as NCCL counts nodes: of each of the setup's it can make several, and of */
    int trays;                        /* so many of them one, where they share their NVSwitches; 1 nearly everywhere */
    const struct topo_class *c;       /* what such a node is: the setup's class, or its trays together */
    const int *gpus;                  /* of a node's ranks: indices into its gpus */
    int sm, sm_most;                  /* smallest and largest of the GPUs */
    enum nccl_cpu cpu;
    int switches; /* GPUs are on NVSwitches */
    const struct nccl_net *nets;
    int nnets;
    struct nccl_graph ring, tree, nvls;
    int nchannels;                                      /* of the communicator, as rings and trees use it */
    int nvls_channels;                                  /* 0: no NVLS */
    const struct rccl_tuning *rccl;                     /* its tables; NULL: NVIDIA's GPUs */
    int rccl_rings;                                     /* laid by hand; 0: searched */
    double total_bw;                                    /* GB/s of one GPU */
    float bw[COLL_COUNT][ALGO_COUNT][PROTO_COUNT];      /* GB/s; 0: not available */
    float latency[COLL_COUNT][ALGO_COUNT][PROTO_COUNT]; /* microseconds */
};

/* Runs the search and fills the tables; all of it in `a`. Cost: that of the class, whatever the number of nodes.
 * Errors: no GPU, numbers out of range, an HCA that the class does not have. */
struct nccl_model *nccl_model_new(const struct nccl_setup *s, struct arena *a, struct err *e);

/* NCCL's own choice for a call. */
struct nccl_choice {
    int algo, proto;
    int channels;         /* the most it may use, as a tuner is told */
    int used;             /* those that a call of this size really gets */
    int threads;          /* of a block */
    double us;            /* NCCL's estimate */
    const char *taken_by; /* other kernels make the call instead, whatever is chosen: "MSCCL", "DDA"; NULL: none */
};
/* Returns 0, or -1 when nothing is available. */
int nccl_model_choose(const struct nccl_model *m, int coll, uint64_t bytes, struct nccl_choice *c);

/* Channels and threads that NCCL would use if a tuner forced algorithm and protocol. */
void nccl_model_channels(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes,
                         struct nccl_choice *c);

/* ---- its cost model: bandwidth and latency of every algorithm and protocol ----
 *
 * Source of the formulas: NCCL src/graph/tuning.cc and src/enqueue.cc of the release named. CollNet (SHARP) needs a
 * network plugin that offers it and is off by default, so its cells stay empty. */

/* Fills `bw` and `latency` from the graphs and the numbers of `m`. */
void nccl_cost_fill(struct nccl_model *m);

/* NCCL's estimate for one call, microseconds; below 0: NCCL does not offer that here. `bytes` is NCCL's nBytes. */
double nccl_cost_us(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes);
