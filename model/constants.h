/* Constants of GPUs, networks and hosts for predictions: one table for each, by generation, never by machine. Which
 * numbers are specified, which are NCCL's and which were fitted to published results is said beside them. */
#pragma once

#include "core/coll.h"
#include "model/model.h"

/* Origins of constants. */
enum model_evidence {
    MODEL_FITTED,  /* to published results of such machines */
    MODEL_FOLLOWS, /* those of a relative, without results of its own */
    MODEL_UNKNOWN, /* assumed, because the topology does not tell what it is */
};

/* A generation of GPUs: those of compute capability `sm` and more, up to the next; AMD by the beginning of its name. */
struct model_gpu {
    const char *name;
    int sm;
    const char *arch;
    double link_efficiency;           /* of the links' specified rate: what stores by thread blocks reach */
    double nvls_efficiency;           /* the same, of reductions in the switch; 0: there are none */
    double channel_GBps[PROTO_COUNT]; /* of one channel's thread block, in busbw */
    double issue_peer_us;             /* of the host, to launch a send to a peer */
    double start_us;                  /* launch to the first byte and last byte to the end */
    double hop_us[PROTO_COUNT];       /* from GPU to GPU over its links */
    double net_hop_us;                /* further time of a hop between nodes */
    double fill;                      /* part of a hop's time that every further chunk costs again */
    double nvls_us, nvls_fill_us;     /* reduction and multicast of a small message; of a further chunk */
    enum model_evidence evidence;
};

/* Kinds of networks between nodes. */
enum model_net_kind {
    MODEL_NET_INFINIBAND,
    MODEL_NET_ROCE,
    MODEL_NET_ROCE_VIRTUAL, /* in a virtual machine */
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
    double hop_us[PROTO_COUNT]; /* GPU memory to GPU memory on another node */
    double idle_us;             /* waits that data in flight hide */
    enum model_evidence evidence;
    const char *nics[4]; /* names of hw_nics whose results those were fitted to: others follow them */
};

/* Numbers that do not depend on the generation. */
struct model_common {
    double proto_efficiency[PROTO_COUNT]; /* payload in what travels */
    double pcie_efficiency;               /* payload in PCIe's rate */
    double proto_fill[PROTO_COUNT];       /* of the filling: LL sends without chunks */
    double issue_us, issue_channel_us;    /* of the host, to launch a collective on a GPU; for every further channel
                                           * before NCCL 2.14, which hands all of them over at once */
    double tcp_GBps, tcp_cloud_GBps;      /* of a node's kernel, through sockets; where NCCL opens many */
    double tree_efficiency;               /* reducing two streams at once, against one */
    double nvls_tree_efficiency;          /* of reductions in the switch, against one node alone */
    double nvls_gpus;                     /* most of a node that those results are of: more carry no more */
    double host_GBps;                     /* of a NUMA node's memory, for copies through it */
    double pcie_hop_us[PROTO_COUNT];      /* as model_gpu's hop, where GPUs have no links */
    double shm_us, bounce_us;             /* further time of a hop through host memory: between GPUs, to a NIC */
    double leaf_us;                       /* further time of a hop over spine switches */
    double tree_fill, ring_fill;          /* as model_gpu's fill, for hops between nodes */
    double parts_fill;                    /* the same of rings over NVLink on which parts go round at once */
    double peer_us;                       /* of every peer of an all-to-all */
    double nccl_part, nccl_short;         /* of NCCL's own estimate in a small call's; what that is multiplied by */
    double fill_most;                     /* chunks stop growing: the filling costs no more than this × itself */
};

extern const struct model_net model_nets[MODEL_NET_KINDS];
extern const struct model_common model_common;

/* Probability of each launcher if unknown, on one node and between nodes. */
extern const double model_launchers[2][MODEL_LAUNCHERS];

/* Never NULL: an unknown generation gets the nearest, and `assumed` (else NULL) is ", as they have 6 NVLinks" or "". */
const struct model_gpu *model_gpu_of(const struct topo_class *c, const char **assumed);

/* Network of a net of NCCL; `assumed` is its name if it is not known, else NULL. */
enum model_net_kind model_net_kind_of(const struct topo_class *c, const struct nccl_net *net, const char **assumed);

/* Where the constants of a net of that kind come from: of a NIC without results of its own, from its relatives. */
enum model_evidence model_net_evidence(enum model_net_kind kind, const struct topo_class *c,
                                       const struct nccl_net *net);

/* Bandwidth of the node's kernel through sockets over that net and all others together [GB/s, each direction]. */
double model_tcp_GBps(const struct topo_class *c, const struct nccl_net *net);

/* Payload between sockets [GB/s, one direction] by the CPU's vendor and family. */
double model_socket_GBps(const struct topo_class *c);

/* ---- how far predictions of a machine may be off before anything was measured on it ---- */

/* Origin of the constants. */
struct model_basis {
    enum model_evidence gpu, net;
    int pcie;         /* GPUs meet over PCIe or host memory, whose efficiency differs more than that of NVLink */
    int sockets;      /* nodes meet through their kernels */
    unsigned assumed; /* parts (bits) for which something else had to be assumed */
};

/* Standard deviations of logarithms of time. */
struct model_doubts {
    double part[MODEL_UNKNOWN + 1][MODEL_PARTS]; /* of the factor on a part, by where its constants come from */
    double pcie_links, socket_links;             /* further, in squares */
    double wait, socket_wait, carry;             /* of single calls: of one that only waits, only carries */
    double between; /* of a machine's calls that wait half of their time and carry in the other half: how far the two
                     * overlap */
};
extern const struct model_doubts model_doubts;

struct model_prior model_prior_of(const struct model_basis *b);

/* Of every doubling of nodes beyond those of any published result over the whole range of sizes. */
#define MODEL_NODES_DOUBT 0.06

/* Of several groups at once, of pairs of ranks, and of part of a node's GPUs between nodes, of which nothing is
 * published, or one run: judgement. */
#define MODEL_UNPUBLISHED_DOUBT 0.15
