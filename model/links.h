/* The links of a node, the ways that copies take over them, and collectives laid over those. */
#pragma once

#include "model/constants.h"

enum { MODEL_LINK_NAME = 48, MODEL_MOST_NOTES = 16 };

/* One direction of something that copies share. */
struct model_link {
    char name[MODEL_LINK_NAME]; /* "NVLink of GPU0", "PCIe of mlx5_3", "NIC mlx5_3" */
    double GBps;                /* of payload, by Simple */
    int between_nodes;
};

/* A GPU and the NIC of its own. */
struct model_gate {
    int gpu, net;
};

/* Assumptions, a sentence each, and the parts (bits) that they make doubtful. */
struct model_notes {
    struct arena *arena;
    const char *texts[MODEL_MOST_NOTES];
    int n;
    unsigned parts;
};
void model_note(struct model_notes *n, unsigned parts, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

struct model_links {
    const struct topo_class *c;
    const struct nccl_model *nccl;
    const struct path_matrix *paths;
    const struct model_gpu *gpu;
    struct model_link *links;
    int n;
    int *nvlink_out, *nvlink_in; /* by GPU, towards NVSwitches; -1 none */
    int *direct;                 /* by GPU × GPU; -1 none */
    int *pcie_up, *pcie_down;    /* by object, to and from its parent; -1 unlimited */
    int *memory;                 /* by object: of a NUMA root; -1 */
    int *socket_out, *socket_in; /* by object: of a NUMA root towards the others; -1 */
    int *nic_out, *nic_in;       /* by net */
    int even_mesh;               /* every GPU is joined to every other, and RCCL's rings use all links alike: */
    struct model_gate *gates;    /* they come in and go out by these, in turn, */
    int ngates;                  /* at least 2; 0: as the search has it */
    int tcp_out, tcp_in;         /* what the node's kernel copies for sockets, all interfaces together */
    enum model_net_kind *kinds;  /* by net */
};

/* All of it in `a`. */
struct model_links *model_links_new(const struct nccl_model *nccl, const struct model_gpu *gpu, struct arena *a,
                                    struct model_notes *notes);

/* Distance of a net's NIC to a GPU. */
enum path_class model_class_to_net(const struct model_links *l, int gpu, int net);

/* ---- the ways that copies take ---- */

/* Ways of bytes, from fast to slow. */
enum model_way {
    MODEL_WAY_LINKS,  /* NVLink, XGMI */
    MODEL_WAY_PCIE,   /* from device to device */
    MODEL_WAY_MEMORY, /* through host memory: GPUs that cannot reach one another's memory, NICs farther from their GPU
                       * than PCI switches, sockets */
};

/* Each adds `load` to loads[] of every link that bytes pass on that way. */
enum model_way model_way_gpus(const struct model_links *l, int from, int to, double load, double *loads);
enum model_way model_way_mesh(const struct model_links *l, int from, double load, double *loads); /* by all links */
enum model_way model_way_out(const struct model_links *l, int gpu, int net, double load, double *loads);
enum model_way model_way_in(const struct model_links *l, int net, int gpu, double load, double *loads);

/* ---- what each pattern loads, by the number of channels that share the work (flows.c) ---- */

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
