/* Shared by the files of this directory. */
#pragma once

#include "core/json_fields.h"
#include "probe/topology/build.h"

/* The mark of what is host-specific or changes by itself: no part of the hash. The other marks are kinds of objects. */
#define TOPO_MOVES (1u << 31)

/* The members of a class, an object... in topology.json. */
extern const struct json_field topo_class_fields[], topo_object_fields[], topo_gpu_fields[], topo_port_fields[],
    topo_netdev_fields[];

/* Return the class from one end to another as NCCL would use it: as in the matrix, but PATH_PXN from a GPU to a NIC
 * that lies behind a CPU if an NVLink peer of the GPU has it at PXB or nearer, or from NCCL 2.28 on at P2C
 * (src/graph/paths.cc; with NCCL_PXN_DISABLE=0 and NCCL_PXN_C2C=1, NCCL's defaults. RCCL has it off, so that XGMI does
 * not count). NCCL uses PXN only to send: from the NIC to the GPU the class stays. */
enum path_class path_class_nccl(const struct path_matrix *m, int from, int to);

/* Return the network of an interface's first IPv4 address, "10.0.1.0/24", in `a`; NULL: unknown, as for NULL. */
const char *topo_ip_network(const struct topo_class *c, const char *netdev, struct arena *a);

/* Return whether both are known and equal. */
int topo_same_text(const char *a, const char *b);
