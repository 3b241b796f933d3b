/* What the prediction assumes of GPUs, networks and hosts: one table for each, by generation, never by machine. Which
 * numbers are specified, which are NCCL's and which were fitted to published results is said beside them. */
#ifndef BENCH_MODEL_CONSTANTS_H
#define BENCH_MODEL_CONSTANTS_H

#include "bench/model.h"
#include "core/coll.h"

/* A generation of GPUs: those of compute capability `sm` and more, up to the next; AMD by the beginning of its name. */
struct model_gpu {
    const char *name;
    int sm;
    const char *arch;
    double link_efficiency;           /* of the links' specified rate: what stores by thread blocks reach */
    double nvls_efficiency;           /* the same, of reductions in the switch; 0: there are none */
    double channel_GBps[PROTO_COUNT]; /* of one channel's thread block, in busbw */
    double issue_us, issue_peers_us;  /* between launches of a collective, and of sends to every peer */
    double start_us;                  /* launch to the first byte and last byte to the end */
    double hop_us[PROTO_COUNT];       /* from GPU to GPU over its links, or PCIe where it has none */
    double nvls_us;                   /* reduction and multicast of a small message */
};

/* How nodes are joined. */
enum model_net_kind {
    MODEL_NET_INFINIBAND,
    MODEL_NET_ROCE,
    MODEL_NET_EFA,
    MODEL_NET_EFA_2, /* with RDMA writes */
    MODEL_NET_TCPX,
    MODEL_NET_TCPXO,
    MODEL_NET_SLINGSHOT,
    MODEL_NET_SOCKETS,
    MODEL_NET_KINDS,
};

struct model_net {
    const char *name;
    double efficiency;          /* of the port's rate */
    double most_GBps;           /* of one port, whatever its rate; 0 none */
    double hop_us[PROTO_COUNT]; /* GPU memory to GPU memory on another node */
    double fill;                /* part of a hop that every further chunk of a tree costs again */
    double idle_us;             /* waits that data in flight hide */
};

/* The most nodes of any published result that the model was held against. */
#define MODEL_VALIDATED_NODES 2

/* Numbers that do not depend on the generation. */
struct model_common {
    double proto_efficiency[PROTO_COUNT]; /* payload in what travels */
    double pcie_efficiency;               /* payload in PCIe's rate */
    double tree_efficiency;               /* reducing two streams at once, against one */
    double leave_efficiency;              /* of the node's links when the same blocks also serve NICs */
    double host_GBps;                     /* of a NUMA node's memory, for copies through it */
    double host_hop_us;                   /* further time of a hop through host memory */
    double leaf_us;                       /* further time of a hop over spine switches */
    double node_fill;                     /* as model_net's fill, within a node */
    double peer_us;                       /* of every peer of an all-to-all */
    double band;                          /* factor of time up and down that holds nine results of ten */
    double unknown_band;                  /* times that when something was assumed */
    double node_band;                     /* times that for every doubling of nodes beyond those validated */
    double fill_most;                     /* chunks stop growing: the filling costs no more than this × itself */
};

extern const struct model_net model_nets[MODEL_NET_KINDS];
extern const struct model_common model_common;

/* Never NULL: an unknown generation gets the nearest, and `assumed` (else NULL) tells which. */
const struct model_gpu *model_gpu_of(const struct topo_class *c, const char **assumed);
const struct model_gpu *model_gpu_at(int i); /* NULL behind the last */

/* How NIC `object` of the class and its port (-1: an interface) talk; `assumed` as above. */
enum model_net_kind model_net_kind_of(const struct topo_class *c, int object, int port, const char **assumed);

/* Payload between sockets [GB/s, one direction] by the CPU's vendor and family. */
double model_socket_GBps(const struct topo_class *c);

#endif
