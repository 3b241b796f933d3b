/* What every RDMA port is for, and the list of HCAs that NCCL should use. */
#ifndef PROBE_TOPOLOGY_ROLES_H
#define PROBE_TOPOLOGY_ROLES_H

#include "probe/topology/topology.h"

enum port_role {
    ROLE_UNKNOWN,
    ROLE_COMPUTE,
    ROLE_STORAGE,
    ROLE_MANAGEMENT,
    ROLE_NVLINK_MANAGEMENT,
    ROLE_BOND,
    ROLE_VF,
    ROLE_DOWN,
};

struct port_verdict {
    enum port_role role;
    const char *reason; /* "400 Gb/s InfiniBand, beside GPU0 (PIX)" */
    const char *plugin; /* NCCL reaches the port through this network plugin, not through verbs; NULL: verbs */
    int nearest_gpu;    /* index into gpus; -1 none or unknown */
    int nearest_class;  /* enum path_class towards it */
};

/* What a rule of the table sees of a port. */
struct role_evidence {
    const char *rule;    /* "rate" */
    const char *seen;    /* "100 Gb/s, while the fastest have 400"; NULL: nothing is known */
    enum port_role role; /* what that makes of the port; ROLE_COMPUTE: nothing speaks against it */
};

const char *role_name(enum port_role role); /* "compute", "nvlink-management" */

/* A verdict for every port of the class, in `a`. */
struct port_verdict *roles_of(const struct topo_class *c, struct arena *a);

/* All rules on ports[port], in their order: the first that speaks against it has decided. How many; in `a`. */
int roles_evidence(const struct topo_class *c, int port, struct arena *a, struct role_evidence **rows);

/* NCCL_IB_HCA for the compute ports that need no plugin, exact names with port numbers: "=mlx5_0:1,mlx5_1:1"; NULL when
 * there is none.
 * Without '=' NCCL would take "mlx5_1" for "mlx5_10" as well. NCCL reads at most ROLES_MOST_HCAS entries. */
#define ROLES_MOST_HCAS 32
const char *roles_hca_list(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a);

/* The same for the ports that are compute ports in every class that has RDMA ports or GPUs, in roles_common.c; NULL,
 * and a sentence that says why, when there is none. */
const char *roles_hca_common(const struct topology *t, struct arena *a, const char **why);

#endif
