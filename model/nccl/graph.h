/* A node as NCCL sees it, and its search for channels in it. In use by model/nccl/model.c alone.
 *
 * Source: NCCL src/graph/topo.cc, paths.cc and search.cc, v2.18.6-1 … v2.30.7-1; written anew. A system is built from a
 * class (graph_system.c), paths are laid through it (graph_paths.c), and patterns are searched on them
 * (graph_search.c the recursion and what it tries, graph_compute.c what it is asked for). */
#pragma once

#include "model/nccl/model.h"

enum graph_kind { GRAPH_GPU, GRAPH_PCI, GRAPH_NVS, GRAPH_CPU, GRAPH_NIC, GRAPH_NET, GRAPH_KIND_COUNT };

#define GRAPH_DISCONNECTED  PATH_UNKNOWN /* a path that is none: further than any other */
#define GRAPH_LOCAL_BW      5000.0f      /* GB/s of what costs nothing */
#define GRAPH_MOST_CHANNELS 64
#define GRAPH_MOST_GPUS     72 /* of a node: NCCL searches larger ones too, for seconds */

struct graph_node;

/* One direction. The search takes its bandwidth away and gives it back. */
struct graph_link {
    struct graph_node *to;
    enum path_class type;
    float bw;
};

struct graph_path {
    struct graph_link **hops;
    int count;
    float bw;
    enum path_class type;
};

struct graph_gpu {
    int gpu;    /* in the class */
    int number; /* its number on the node, which NCCL's choice of a NIC goes by */
    int sm, gdr;
};

struct graph_net {
    int net;   /* in the model's nets */
    int local; /* index of the GPU that is served by it; -1 none */
    int gdr;
    float bw, latency;
};

struct graph_node {
    enum graph_kind kind;
    int index; /* among those of its kind */
    int id;    /* among all */
    int tray;  /* of a GPU or CPU: host that it is in, where several are one node */
    struct graph_link *links;
    int nlinks;
    struct graph_node *up;                      /* in the PCI tree; NULL none */
    struct graph_path *paths[GRAPH_KIND_COUNT]; /* to each GPU, NVSwitch, CPU and net; NULL for other kinds */
    uint64_t used;                              /* a GPU: channels it is on */
    struct graph_gpu gpu;
    struct graph_net net;
};

struct graph_system {
    struct arena *arena;
    struct graph_node **all;
    int nall;
    struct graph_node **nodes[GRAPH_KIND_COUNT];
    int n[GRAPH_KIND_COUNT];
    int version;
    int inter; /* there are other nodes to reach */
    int sm, sm_most, cross_nic, no_pxn;
    int amd; /* GPUs */
    enum nccl_cpu cpu;
    int *part;             /* by GPU: the first of those that it reaches without a NIC */
    unsigned char *no_p2p; /* GPUs × GPUs: the driver refuses */
    enum path_class p2p_within, gdr_within;
    int *scratch; /* of graph_nearest's callers */
    struct graph_nets {
        int *nets; /* NULL: not asked for yet */
        int n;
    } * near_nets;          /* by distance and GPU: what the search tries, in its order */
    float max_bw, total_bw; /* GB/s: of one channel, of one GPU */
};

/* The NICs that NCCL would use: at least one, in `a`; their number in `n`. `*assumed` is set to what the topology did
 * not tell, else left alone. NULL after an error: an HCA that the class does not have. */
struct nccl_net *nccl_model_nets(const struct nccl_setup *s, int version, struct arena *a, int *n, const char **assumed,
                                 struct err *e);

/* One node of the model, with its nets where there are others. `unsure` is set to what had to be assumed, else left
 * alone. */
struct graph_system *graph_system_new(const struct nccl_model *m, struct arena *a, const char **unsure);

/* Lays all paths and finds max_bw and total_bw. */
void graph_paths(struct graph_system *s);

/* Number of nodes that NCCL makes of this one: its GPUs form parts that meet only over NICs, because those are faster
 * (ncclTopoCheckNet and ncclTopoTrimSystem in src/graph/paths.cc, since 2.14.3). 1 also where the parts are not alike.
 */
int graph_parts(const struct graph_system *s);

/* Indices of `kind` that are nearest to `from` (widest, then closest), into `found` (room for all); returns their
 * number, 0 when there is no way. */
int graph_nearest(const struct graph_system *s, const struct graph_node *from, enum graph_kind kind, int *found);

/* The net that a GPU uses for a channel, and how `several` it goes through in turn; -1 none. */
int graph_net_of(const struct graph_system *s, int gpu, int channel, int *several);

/* Sets up a search of `s` for that many channels, with nothing found. */
void graph_search_init(struct nccl_graph *g, const struct graph_system *s, enum graph_pattern pattern, int least,
                       int most);
void graph_search_copy(struct nccl_graph *to, const struct nccl_graph *from, const struct graph_system *s);

/* One search at the bandwidth and distance that `wanted` asks for: replaces `best` by every better result. `*steps` is
 * how many it may take, and is -1 afterwards when the result cannot be better. */
void graph_search_run(struct graph_system *s, struct nccl_graph *wanted, struct nccl_graph *best, int *steps);

/* The whole search of a pattern: bandwidths from the highest down, distances from near to far, until something is
 * found, and then upwards again. */
void graph_compute(struct graph_system *s, struct nccl_graph *g);
