/* The links inside a node and the ways over them: what every copy of a collective loads. */
#ifndef BENCH_MODEL_LINKS_H
#define BENCH_MODEL_LINKS_H

#include "bench/model_constants.h"

enum { MODEL_LINK_NAME = 48, MODEL_MOST_NOTES = 16 };

/* One direction of something that copies share. */
struct model_link {
    char name[MODEL_LINK_NAME]; /* "NVLink of GPU0", "PCIe of mlx5_3", "NIC mlx5_3" */
    double GBps;                /* of payload, by Simple */
    int between_nodes;
};

/* What had to be assumed, a sentence each. */
struct model_notes {
    struct arena *arena;
    const char *texts[MODEL_MOST_NOTES];
    int n;
};
void model_note(struct model_notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

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
    enum model_net_kind *kinds;  /* by net */
};

/* All of it in `a`. */
struct model_links *model_links_new(const struct nccl_model *nccl, const struct model_gpu *gpu, struct arena *a,
                                    struct model_notes *notes);

/* Each adds `load` to loads[] of every link that bytes pass on that way, and returns 1 when they go through host
 * memory: GPUs that cannot reach one another's memory, NICs farther from their GPU than PCI switches, sockets. */
int model_way_gpus(const struct model_links *l, int from, int to, double load, double *loads);
int model_way_out(const struct model_links *l, int gpu, int net, double load, double *loads);
int model_way_in(const struct model_links *l, int net, int gpu, double load, double *loads);

/* The GPU's links to all peers [GB/s of the specification, one direction]; 0 none. */
double model_links_spec_GBps(const struct model_links *l, int gpu);

#endif
