/* How far two devices of a node are from one another: NCCL's path classes, and nvidia-smi's words for people. */
#ifndef PROBE_TOPOLOGY_PATHS_H
#define PROBE_TOPOLOGY_PATHS_H

#include "probe/topology/topology.h"

/* In the order of NCCL's src/graph/topo.cc; the numbers moved between releases, so only the names are stored. */
enum path_class {
    PATH_LOC, /* the same device */
    PATH_NVL, /* NVLink or XGMI, direct or through NVSwitches */
    PATH_NVB, /* NVLink through a third GPU */
    PATH_C2C, /* NVLink-C2C over the CPU both are attached to */
    PATH_PIX, /* one PCI switch */
    PATH_PXB, /* several PCI switches, no CPU */
    PATH_P2C, /* GPU over C2C to its CPU, NIC on that CPU's PCI */
    PATH_PXN, /* GPU over NVLink to a GPU that is near the NIC; only path_class_nccl tells it */
    PATH_PHB, /* a CPU's host bridge */
    PATH_SYS, /* between NUMA nodes */
    PATH_UNKNOWN,
};

/* nvidia-smi topo -m's words. */
enum path_word { WORD_SELF, WORD_LINKS, WORD_PIX, WORD_PXB, WORD_PHB, WORD_NODE, WORD_SYS, WORD_UNKNOWN };

struct path {
    enum path_class class_;
    enum path_word word;
    enum topo_link_kind link_kind; /* WORD_LINKS: of which kind */
    int links;                     /* WORD_LINKS: how many */
    double GBps; /* the narrowest link on the way, one direction; WORD_LINKS: all of them; 0 unknown */
};

/* The devices between which paths are told: the GPUs, then the NICs, as columns of a matrix. A NIC is one for every
 * RDMA device, named by it; where the class has none, one for every NIC object. */
struct path_end {
    int object;
    const char *label; /* "GPU0", "mlx5_0", "eth0", a PCI address */
};

struct path_matrix {
    struct path_end *ends;
    int ngpus, n;       /* ends[0..ngpus) are the GPUs */
    struct path *paths; /* n × n, row by row; symmetric */
};

/* All of it in `a`. */
struct path_matrix *path_matrix(const struct topo_class *c, struct arena *a);
const struct path *path_between(const struct path_matrix *m, int row, int column);

/* The end of that RDMA device; -1 when the matrix has none. */
int path_end_of(const struct path_matrix *m, const char *hca);

/* The class from one end to another as NCCL would use it: as in the matrix, but PATH_PXN from a GPU to a NIC that lies
 * behind a CPU when an NVLink peer of the GPU has it at PXB or nearer, or from NCCL 2.28 on at P2C (src/graph/paths.cc;
 * with NCCL_PXN_DISABLE=0 and NCCL_PXN_C2C=1, NCCL's defaults. RCCL has it off, so that XGMI does not count). NCCL goes
 * this way out only: from the NIC to the GPU the class stays. */
enum path_class path_class_nccl(const struct path_matrix *m, int from, int to);

const char *path_class_name(enum path_class class_); /* "NVL"; "?" for PATH_UNKNOWN */

#define PATH_WORD 16
/* "X", "NV18", "XGMI4", "PIX", …, "?". Returns `text`. */
char *path_word(char text[PATH_WORD], const struct path *p);

#endif
