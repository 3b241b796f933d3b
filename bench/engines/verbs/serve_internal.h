/* The parts of a port's process among themselves. */
#ifndef BENCH_ENGINES_VERBS_SERVE_INTERNAL_H
#define BENCH_ENGINES_VERBS_SERVE_INTERNAL_H

#include "bench/engines/verbs/connect.h"
#include "bench/engines/verbs/gpu_memory.h"
#include "bench/engines/verbs/order.h"

/* The most that one step between two ports may take. */
#define VERBS_PATIENCE_S 60.0

struct verbs_server {
    struct connection head;
    int rank, local, nccl;
    struct arena *arena;
    struct verbs_who who;
    struct verbs_port *port; /* NULL where there is no RDMA, or it cannot be opened */
    struct gpu driver;
    int hip, gpus; /* of the node; -1 not asked yet */
    struct verbs_net_list nets;
    int fds[VERBS_NETS]; /* that listen, as many as nets.n */
    struct verbs_net_list *others;
    int nothers;
};

/* A connection of this port to another's, with the way to it that is not under test: through the conductor. */
struct verbs_link {
    struct verbs_server *server;
    const struct verbs_order *order;
    char mine[160];
    struct verbs_channel channel;
    struct verbs_pair pair;
};

/* Connects with the port of the order, whose process does the same at the same time. `setup->port` is the server's.
 * Close the pair in any case. */
int verbs_link_open(struct verbs_link *l, struct verbs_server *s, const struct verbs_order *o,
                    struct verbs_pair_setup setup, struct verbs_attempt *used, struct err *e);

/* What the orders of these kinds are answered with. */
void verbs_serve_try(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a);
void verbs_serve_sweep(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a);
void verbs_serve_gpus(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a);
void verbs_serve_try_gpu(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a);

/* Sends an object as a line, and frees it. */
void verbs_serve_line(struct verbs_server *s, const char *key, cJSON *o);

#endif
