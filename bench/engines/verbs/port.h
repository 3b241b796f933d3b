/* An open port of an RDMA device, with its GID table. */
#ifndef BENCH_ENGINES_VERBS_PORT_H
#define BENCH_ENGINES_VERBS_PORT_H

#include <infiniband/verbs.h>

#include "bench/fabric/gid.h"
#include "core/arena.h"
#include "core/err.h"

struct verbs_port {
    struct ibv_context *context;
    const char *name; /* "mlx5_0:1" */
    int port;         /* from 1 */
    struct ibv_port_attr attr;
    struct verbs_gid_table gids; /* as it was when the port was opened; `gids.node` as given */
};

/* Opens `port` of the device called `hca` exactly. The structure is allocated in `a`. A port that is not ACTIVE opens,
 * too: connecting through it is refused later, in words. NULL and ERR_LACKS: no such device or port. Close it. */
struct verbs_port *verbs_port_open(struct arena *a, const char *node, const char *hca, int port, struct err *e);
void verbs_port_close(struct verbs_port *p); /* NULL is fine */

/* Whether this machine has every device of a list such as "mlx5_0:1,mlx5_1:1"; its ports are not looked at. */
int verbs_port_all_here(const char *list);

/* Its MTU for RDMA as it is used, and the most that it can do, in bytes. */
int verbs_port_mtu_bytes(const struct verbs_port *p);
int verbs_port_max_mtu_bytes(const struct verbs_port *p);

/* What the kernel says of its speed, in Gb/s; 0 unknown. */
double verbs_port_rate_Gbps(const struct verbs_port *p);

#endif
