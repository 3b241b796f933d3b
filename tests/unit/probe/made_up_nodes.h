/* Nodes of a cluster, each a class of its own until classes_merge: GPUs, HCAs, a driver, a release of NCCL. */
#pragma once

#include <string.h>

#include "probe/topology/build.h"

struct made_up {
    int gpus, first_hca, hcas;
    const char *model, *driver, *nccl; /* NULL: "NVIDIA H100", "550.54", "NCCL 2.21.5" */
    const char *error;                 /* of its own probe; NULL none */
};

static inline void made_up_node(struct topology *t, const char *name, struct made_up m)
{
    struct topo_class *c = build_class(t, NULL);
    const char *model = m.model ? m.model : "NVIDIA H100";
    c->driver = m.driver ? m.driver : "550.54";
    build_text(t, &c->libraries, &c->nlibraries,
               arena_printf(t->arena, "%s /usr/lib/libnccl.so.2", m.nccl ? m.nccl : "NCCL 2.21.5"));
    for (int i = 0; i < m.gpus; i++) {
        struct topo_object o = {.kind = TOPO_GPU,
                                .parent = -1,
                                .numa = 0,
                                .pci = arena_printf(t->arena, "0000:%02x:00.0", 0x10 + i),
                                .model = model,
                                .vendor = 0x10de,
                                .device = (uint16_t)strlen(model)};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1, .sm = 90});
    }
    for (int i = m.first_hca; i < m.first_hca + m.hcas; i++) {
        const char *hca = arena_printf(t->arena, "mlx5_%d", i);
        int object = build_nic(t, c, arena_printf(t->arena, "0000:%02x:00.0", 0x40 + i), hca);
        build_port(t, c,
                   (struct topo_port){.object = object,
                                      .hca = hca,
                                      .port = 1,
                                      .state = TOPO_STATE_ACTIVE,
                                      .layer = TOPO_LINK_INFINIBAND,
                                      .rate_Gbps = 400});
    }
    build_host(t, name, t->nclasses - 1);
    struct topo_host *h = &t->hosts[t->nhosts - 1];
    if (m.error)
        build_text(t, &h->errors, &h->nerrors, m.error);
}
