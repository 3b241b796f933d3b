/* Tables of RCCL, AMD's NCCL: handwritten rings of known machines, a tuning model by
 * architecture, and ranges of sizes for its protocols. */
#pragma once

#include "model/nccl/graph.h"

/* CDNA 3 and 4 (gfx942, gfx950), which have rules of their own. */
int rccl_is_cdna3(const struct nccl_model *m);

/* Rings that RCCL lays over this machine by hand; 0: it searches for them, as NCCL does. */
int rccl_rings(const struct nccl_model *m, const struct graph_system *s);

/* Channels of the communicator, from so many rings of the search or by hand. */
int rccl_channels(const struct nccl_model *m, int rings);

/* Constants of its cost model in place of NCCL's. Algorithms are tree and ring. */
enum { RCCL_SIZES = 27 };
struct rccl_tuning {
    int since;                       /* the first release with these */
    const char *arch;                /* how the architecture begins; "": any other */
    float hop_us[3][2][PROTO_COUNT]; /* of a step over XGMI, PCIe, the network */
    float part[2][2][PROTO_COUNT];   /* of the graph's bandwidth, on up to two nodes and on more */
    float tree[PROTO_COUNT][RCCL_SIZES], ring[PROTO_COUNT][RCCL_SIZES]; /* × that, by log2 (bytes / 64) */
    uint64_t ranges[COLL_COUNT][2][2]; /* sizes above and up to which LL and LL128 are taken between nodes; both 0:
                                        * none is told */
};
/* NULL: the GPUs are not AMD's. Comes after m->rccl_rings. */
const struct rccl_tuning *rccl_tuning_of(const struct nccl_model *m);

/* LL128 is offered. */
int rccl_ll128(const struct nccl_model *m);

/* Kernels that replace RCCL's own for a call of that size: "MSCCL", "DDA"; NULL: none. */
const char *rccl_taken_by(const struct nccl_model *m, int coll, uint64_t bytes);

/* The choice of NCCL's cost model, or RCCL's change of it by the size of a call. */
int rccl_protocol(const struct nccl_model *m, int coll, uint64_t bytes, int proto);
