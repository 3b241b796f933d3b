/* Made-up fabrics for the tests of what is concluded from them. */
#pragma once

#include <arpa/inet.h>

#include "bench/fabric/fabric.h"

static inline void set_gid(struct verbs_gid_table *t, int index, const char *address, int roce, int proven)
{
    struct verbs_gid g = {.roce = roce, .proven = proven};
    if (inet_pton(AF_INET, address, g.raw + 12) == 1)
        g.raw[10] = g.raw[11] = 0xff;
    else
        assert_int_equal(inet_pton(AF_INET6, address, g.raw), 1);
    t->gids[index] = g;
}

/* Every two ports of different nodes tried once; `bad` says which fail, `GBps` is that of port (node, rail). */
struct world {
    int nodes, rails;
    int (*bad)(struct verbs_try t);
    double slow_GBps; /* of everything that rail 1 of node 0 sends; 0: as the others */
};

static inline struct verbs_fabric *make(const struct world *w)
{
    struct verbs_fabric *f = verbs_fabric_new(w->nodes, w->rails);
    const struct verbs_schedule *s = verbs_schedule_make(f->arena, VERBS_PLAN_MATRIX, w->nodes, w->rails);
    for (int i = 0; i < w->nodes * w->rails; i++) {
        struct verbs_fabric_port *p = &f->ports[i];
        p->node = f->names[i / w->rails] = arena_printf(f->arena, "n%d", i / w->rails);
        p->name = arena_printf(f->arena, "mlx5_%d:1", i % w->rails);
        p->rate_Gbps = 200;
        p->mtu_bytes = p->max_mtu_bytes = 4096;
        p->gids = (struct verbs_gid_table){p->node, p->name, 0, arena_alloc(f->arena, 4 * sizeof(struct verbs_gid)), 4};
        set_gid(&p->gids, 0, "fe80::1", 2, 0);
        set_gid(&p->gids, 3, arena_printf(f->arena, "10.0.%d.%d", i % w->rails, i / w->rails + 1), 2, 1);
    }
    for (int r = 0; r < s->nrounds; r++)
        for (int i = 0; i < s->rounds[r].ntries; i++) {
            struct verbs_try pair = s->rounds[r].tries[i];
            int bad = w->bad && w->bad(pair), slow = w->slow_GBps > 0 && pair.from.node == 0 && pair.from.rail == 1;
            f->tries = arena_grow(f->arena, f->tries, (size_t)f->ntries, sizeof *f->tries);
            f->tries[f->ntries++] = (struct verbs_fabric_try){
                .outcome = {.pair = pair,
                            .verdict = bad ? VERBS_FAILED : VERBS_GOOD,
                            .GBps = bad    ? 0
                                    : slow ? w->slow_GBps
                                           : 24,
                            .why = bad ? "n1 mlx5_0:1: \"dark\"" : NULL},
                .latency_us = bad ? 0 : 2.5,
                .gid = bad ? NULL : "RoCE v2 over IPv4",
            };
        }
    return f;
}

/* What every node says of its interface `name`. */
static inline void add_interface(struct verbs_fabric *f, const char *name, int reached)
{
    for (int node = 0; node < f->nodes; node++) {
        f->interfaces = arena_grow(f->arena, f->interfaces, (size_t)f->ninterfaces, sizeof *f->interfaces);
        f->interfaces[f->ninterfaces++] = (struct verbs_fabric_interface){
            .node = node, .name = name, .address = "10.0.0.1", .reached = reached, .tried = f->nodes - 1};
    }
}

static inline int port_1_0_bad(struct verbs_try t)
{
    return (t.from.node == 1 && t.from.rail == 0) || (t.to.node == 1 && t.to.rail == 0);
}

/* With everything that a fabric can have: faults, findings, GPUs, sizes, interfaces, a node with a port less. */
static inline struct verbs_fabric *full(void)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2, .bad = port_1_0_bad, .slow_GBps = 3});
    f->tries[3].outcome.GBps = 13.5;
    f->tries[7].outcome.GBps = 19.15;
    f->tries[4].outcome.GBps = 10;
    f->ports[4].rate_Gbps = 100;
    f->ports[5].gids.infiniband = 1;
    f->tries[3].both_GBps = 40;
    f->tries[3].messages_per_s = 9e6;
    f->tries[3].gid_index[0] = 4;
    f->tries[3].gid_index[1] = 1;
    add_interface(f, "eth0", 2);
    add_interface(f, "docker0", 0);
    for (int i = 0; i < 5; i++) {
        f->gpus = arena_grow(f->arena, f->gpus, (size_t)f->ngpus, sizeof *f->gpus);
        f->gpus[f->ngpus++] = (struct verbs_fabric_gpu){.node = i < 4 ? 1 : 2,
                                                        .rail = i % 2,
                                                        .gpu = i < 4 ? i / 2 : 3,
                                                        .pci = i ? "" : "0000:17:00.0",
                                                        .via = i == 1 || i == 4 ? "dma-buf" : NULL,
                                                        .why = i == 2 ? "no memory" : "by nobody",
                                                        .send_GBps = 20.5 + i,
                                                        .receive_GBps = 1.25 * i};
    }
    return f;
}
