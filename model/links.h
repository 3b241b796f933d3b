/* The links inside a node, and the ways over them: what every copy of a collective loads. */
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
