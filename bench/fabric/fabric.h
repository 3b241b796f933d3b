/* A fabric: the ports with their GIDs, the result of every try between two of them, what that means for
 * NCCL, and whether it has become worse. It is told line by line by the processes that own ports, and kept as one
 * document,
 * {"format": "nccltune-fabric/1"}. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "bench/fabric/ports.h"
#include "core/arena.h"
#include "core/err.h"
#include "core/finding.h"

struct cJSON;

#define VERBS_FABRIC_FORMAT "nccltune-fabric/1"

struct verbs_fabric_port {
    struct verbs_end end;
    const char *node, *name;      /* "node0", "mlx5_0:1" */
    double rate_Gbps;             /* 0 unknown */
    int mtu_bytes, max_mtu_bytes; /* of RDMA: what is used, and what the device can do; 0 unknown */
    struct verbs_gid_table gids;
};

/* A network interface of a node, and of how many other nodes the interface of that name answers from here. */
struct verbs_fabric_interface {
    int node;
    const char *name, *address; /* "eth0", "10.0.0.1" */
    int reached, tried;
};

struct verbs_fabric_try {
    struct verbs_outcome outcome; /* VERBS_GOOD or VERBS_FAILED; who is slow is judged later */
    double both_GBps, latency_us; /* 0 not measured */
    double messages_per_s;        /* of 8 bytes */
    double spread;                /* of the samples of the bandwidth: (most - least) / median; 0 unknown */
    const char *gid;              /* "RoCE v2 over IPv4"; NULL unknown */
    int gid_index[2];             /* of the two sides, the writer's first, both by one more; 0 unknown */
};

/* Bandwidth of a port with the memory of a GPU of its node, to and from host memory at the other end. */
struct verbs_fabric_gpu {
    int node, rail, gpu;            /* the GPU as its driver numbers it */
    const char *pci;                /* "0000:17:00.0"; "" unknown */
    const char *via;                /* "dma-buf", "peer memory"; NULL: not at all, */
    const char *why;                /* for this reason */
    double send_GBps, receive_GBps; /* 0 not measured */
};

struct verbs_fabric {
    struct arena *arena;
    int nodes, rails;
    const char **names;              /* by node; "?" unknown */
    struct verbs_fabric_port *ports; /* rail r of node n: n * rails + r; `name` NULL until it has been told */
    struct verbs_fabric_try *tries;
    int ntries;
    struct verbs_fabric_interface *interfaces; /* those of one node together; without a second node none */
    int ninterfaces;
    struct verbs_fabric_gpu *gpus; /* what each port does with each GPU of its node */
    int ngpus;
    int complete; /* the whole schedule was run */
    int ngids;    /* room for them in all tables together, bounded */
};

/* A port's number in `ports`. */
static inline int verbs_port_index(const struct verbs_fabric *f, struct verbs_end p)
{
    return p.node * f->rails + p.rail;
}

struct verbs_fabric *verbs_fabric_new(int nodes, int rails); /* at least one node; no rail where there is no RDMA */
void verbs_fabric_free(struct verbs_fabric *f);              /* NULL is fine */

/* The parts that a fabric is told in. */
enum verbs_part { VERBS_PART_PORT, VERBS_PART_TRY, VERBS_PART_INTERFACE, VERBS_PART_GPU, VERBS_PARTS };

/* A struct verbs_fabric_port, _try, _interface or _gpu as an object; cJSON_Delete frees. */
struct cJSON *verbs_fabric_json(enum verbs_part part, const void *record);

/* Read a line {"try": {...}}: "port", "try", "interface", "gpu_memory", or "again", a try that takes
 * the place of the earlier one of the same two ports in the same direction, if there is one. Errors name the member
 * that is missing or out of range. */
int verbs_fabric_add(struct verbs_fabric *f, const struct cJSON *line, struct err *e);
int verbs_fabric_add_names(struct verbs_fabric *f, const struct cJSON *array, const char *file, struct err *e);

/* The document (NULL or "-": standard output), written atomically. */
int verbs_fabric_save(const struct verbs_fabric *f, const char *path, struct err *e);
struct verbs_fabric *verbs_fabric_load(const char *path, struct err *e);

/* ---- what it means for NCCL ---- */

/* The version whose choice of GIDs is proven first, as ncclGetVersion says it: the newest rules that we know of. */
#define VERBS_NCCL_NEWEST 23100

struct verbs_setting {
    const char *name, *value;
    const char *why; /* one sentence with the numbers */
};

struct verbs_decision {
    struct verbs_outcome *outcomes; /* of every try, the slow ones marked */
    struct verbs_fault *faults;
    int nfaults;
    int nbroken;                    /* faults less separate rails, which may be meant so */
    struct verbs_setting *settings; /* least first: none when NCCL's defaults are right */
    int nsettings;
    const char *gid;        /* about the choice of GIDs, one sentence */
    const char **left_out;  /* by rail: why it is left out of the HCA list; NULL it is not */
    const char **nodes_out; /* by node: why jobs are better off without it, with what that costs; NULL it stays */
    int nnodes_out;
    struct findings found; /* rates and MTUs that are not as they could be */
};

/* Everything is allocated in the fabric's arena. A bad port costs its node, which is left out, or its rail on all
 * nodes, whichever is the smaller part of the cluster, and the node of two that are alike; two nodes and a rail stay in
 * any case. `nccl` as ncclGetVersion says it. */
struct verbs_decision verbs_decide(struct verbs_fabric *f, int nccl);

/* The rails that are not left out as a node's NCCL_IB_HCA: "=mlx5_0:1,mlx5_1:1"; "" when none is left. */
const char *verbs_hca_list(const struct verbs_fabric *f, const struct verbs_decision *d, int node);

/* The faulty part: "node1 mlx5_3:1, what it sends:". */
const char *verbs_fault_name(const struct verbs_fabric *f, const struct verbs_fault *s);

/* A fault as one sentence: "node1 mlx5_3:1 sends slowly: 3 of 3 tries, median 0.98 GB/s, others 2.31 GB/s". */
const char *verbs_fault_text(const struct verbs_fabric *f, const struct verbs_fault *s);

/* The ports that no try had to do with ("n1 mlx5_2:1, …"; "" none), and how many: nothing is known of them. */
const char *verbs_untried(const struct verbs_fabric *f, int *count);

/* Summary of one port's tries. */
struct verbs_cell {
    int outlier; /* most of what it sent or received was slow or failed, less what is the fault of another port */
    double GBps; /* median of what it sent or of what it received, whichever is less; 0 nothing. Likewise less that */
};
/* By port, as in the fabric; allocated in its arena. */
struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d);

/* The number of the try from one port to another; -1 there is none. Of several the last, which is the best known. */
int verbs_find_try(const struct verbs_fabric *f, int from, int to);

/* For people: faults first, then the heat map of write bandwidth, then the settings. `color`: ANSI colours. */
void verbs_print(const struct verbs_fabric *f, const struct verbs_decision *d, int color, FILE *out);

/* ---- whether it has become worse ---- */

/* A try counts as slower below this part of what it was: a busy fabric varies by less. */
#define VERBS_CHECK_RATIO 0.7

struct verbs_check {
    int compared;       /* tries that were held against the profile's */
    const char **worse; /* sentences, what explains most first; in the arena of `now` */
    int nworse;
};

/* Holds every try of `now` against the same in `then`, by the names of nodes and ports; one that was not made then
 * against the same two the other way round, else the median of what its sender reached, else of all. What had failed
 * already, in either direction, is not looked at. The rates and MTUs of the ports, too. Error: `then` holds nothing to
 * compare with. */
int verbs_check(struct verbs_fabric *now, const struct verbs_fabric *then, double ratio, struct verbs_check *c,
                struct err *e);

/* Replaces every try of `now` by the same one of `other`, a second measurement of the same ports, where that went
 * better: who was in the way once is not so twice. */
void verbs_check_better(struct verbs_fabric *now, const struct verbs_fabric *other);

/* The ports of that fabric's nodes, as for verbs_serve_main of bench/engines/verbs/engine.h; in `a`. */
const char *verbs_check_ports(const struct verbs_fabric *then, struct arena *a);
