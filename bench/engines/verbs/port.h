/* An open port of an RDMA device, with its GID table; and failures of verbs calls in words. */
#ifndef BENCH_ENGINES_VERBS_PORT_H
#define BENCH_ENGINES_VERBS_PORT_H

#include <infiniband/verbs.h>

#include "bench/fabric/ports.h"
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

/* ---- failures in words: which step, what the library said, and what usually causes it ---- */

/* The steps of a measurement between two ports, in their order. */
enum verbs_step {
    VERBS_OPEN,     /* the device and the port */
    VERBS_REGISTER, /* memory */
    VERBS_CREATE,   /* completion queue and queue pairs */
    VERBS_INIT,     /* queue pairs to INIT */
    VERBS_RTR,      /* … to ready-to-receive: the peer's address is resolved here */
    VERBS_RTS,      /* … to ready-to-send */
    VERBS_POST,
    VERBS_COMPLETE, /* waiting for completions */
    VERBS_VERIFY,   /* the payload */
    VERBS_EXCHANGE, /* exchanging data with the other side, out of band */
    VERBS_STEP_COUNT,
};
const char *verbs_step_name(enum verbs_step s); /* "connecting (RTR)" */

#define VERBS_FAILURE_TEXT 400

/* "connecting (RTR) failed: Connection timed out (110): nobody answers for the peer's address: …" `text` is filled and
 * returned. */
char *verbs_say_errno(char text[VERBS_FAILURE_TEXT], enum verbs_step s, int error);

/* "transport retry counter exceeded (status 12, vendor error 0x81): …" */
char *verbs_say_completion(char text[VERBS_FAILURE_TEXT], enum ibv_wc_status status, unsigned vendor_error);

#endif
