/* What is known of a fabric: the ports with their GIDs, and how every try between two of them went. It is told line by
 * line by the worker, and kept as one document, {"format": "nccltune-fabric/1"}. */
#ifndef BENCH_FABRIC_FABRIC_H
#define BENCH_FABRIC_FABRIC_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "bench/fabric/gid.h"
#include "bench/fabric/localise.h"
#include "core/arena.h"
#include "core/err.h"

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
    const char *gid;              /* "RoCE v2 over IPv4"; NULL unknown */
    int gid_index[2];             /* of the two sides, the writer's first, both by one more; 0 unknown */
};

/* A size of the sweep between two ports. */
struct verbs_fabric_point {
    struct verbs_try pair;
    int qps;
    uint64_t bytes;
    double GBps, both_GBps, latency_us; /* writes one way, both ways at once, half of there and back; 0 not measured */
};

/* How a port carries the memory of one of its node's GPUs, to and from host memory at the other end. */
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
    struct verbs_fabric_point *points; /* ascending by pair, queue pairs and size */
    int npoints;
    int complete; /* the whole schedule was run */
    int ngids;    /* room for them in all tables together, bounded */
};

struct verbs_fabric *verbs_fabric_new(int nodes, int rails); /* at least one node; no rail where there is no RDMA */
void verbs_fabric_free(struct verbs_fabric *f);              /* NULL is fine */

/* The parts that a fabric is told in. */
enum verbs_part {
    VERBS_PART_PORT,
    VERBS_PART_TRY,
    VERBS_PART_INTERFACE,
    VERBS_PART_GPU,
    VERBS_PART_POINT,
    VERBS_PARTS
};

/* A struct verbs_fabric_port, _try, _interface, _gpu or _point as an object; cJSON_Delete frees. */
cJSON *verbs_fabric_json(enum verbs_part part, const void *record);

/* What a line tells, {"try": {...}}: "port", "try", "interface", "gpu_memory", "point", or "again", a try that takes
 * the place of the earlier one of the same two ports in the same direction, if there is one. Errors name the member
 * that is missing or out of range. */
int verbs_fabric_add(struct verbs_fabric *f, const cJSON *line, struct err *e);
int verbs_fabric_add_names(struct verbs_fabric *f, const cJSON *array, const char *file, struct err *e);

/* The document (NULL or "-": standard output), written atomically. */
int verbs_fabric_save(const struct verbs_fabric *f, const char *path, struct err *e);
struct verbs_fabric *verbs_fabric_load(const char *path, struct err *e);

#endif
