/* RDMA devices and their ports: the kernel's files say most, libibverbs what they do not (the MTU) or only slowly (the
 * GID table). Of a copied tree there are only the files. */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "probe/source/source.h"
#include "probe/source/verbs_files.h"
#include "probe/topology/sysfs.h"

#define MOST_GIDS 4096 /* in a device */

/* Lane counts and Gb/s a lane, by the bits of ibv_port_attr (InfiniBand Architecture Specification 1.7, PortInfo). */
static const struct {
    unsigned bit;
    double value;
} widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}},
  speeds[] = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}, {256, 200}};

static double rate_Gbps(const struct ibv_port_attr *p)
{
    double lanes = 0, lane_Gbps = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (widths[i].bit == p->active_width)
            lanes = widths[i].value;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (speeds[i].bit == p->active_speed)
            lane_Gbps = speeds[i].value;
    return lanes * lane_Gbps;
}

static enum topo_link_layer layer_of(const struct ibv_port_attr *p)
{
    return p->link_layer == IBV_LINK_LAYER_INFINIBAND ? TOPO_LINK_INFINIBAND
           : p->link_layer == IBV_LINK_LAYER_ETHERNET ? TOPO_LINK_ETHERNET
                                                      : TOPO_LINK_UNKNOWN;
}

/* What an open device says about a port. The rate is the files' where they have one: the kernel knows speeds that this
 * header does not. */
static void ask_port(struct topology *t, struct topo_class *c, struct topo_port *p, struct ibv_context *context)
{
    struct ibv_port_attr attr;
    int error = ibv_query_port(context, (uint8_t)p->port, &attr);
    if (error) {
        build_note(t, c, "verbs: %s port %d: %s", p->hca, p->port, strerror(error > 0 ? error : errno));
        return;
    }
    p->state = attr.state == IBV_PORT_ACTIVE ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
    p->layer = layer_of(&attr);
    if (!(p->rate_Gbps > 0))
        p->rate_Gbps = rate_Gbps(&attr);
    p->mtu_bytes = attr.active_mtu >= IBV_MTU_256 && attr.active_mtu <= IBV_MTU_4096 ? 128 << attr.active_mtu : 0;
    p->lid = p->layer == TOPO_LINK_INFINIBAND && attr.lid != 0xffff ? attr.lid : 0;
}

static enum topo_gid_type gid_type(uint32_t type)
{
    return type == IBV_GID_TYPE_IB        ? TOPO_GID_IB
           : type == IBV_GID_TYPE_ROCE_V1 ? TOPO_GID_ROCE_V1
           : type == IBV_GID_TYPE_ROCE_V2 ? TOPO_GID_ROCE_V2
                                          : TOPO_GID_UNKNOWN;
}

/* The GID tables of all ports of a device, whose first port is ports[first]; 0 when the library cannot tell. */
static int ask_gids(struct topology *t, struct topo_class *c, struct ibv_context *context, int first)
{
    struct ibv_gid_entry *entries = calloc(MOST_GIDS, sizeof *entries);
    ssize_t n = entries ? ibv_query_gid_table(context, entries, MOST_GIDS, 0) : -1;
    for (ssize_t i = 0; i < n; i++) {
        const struct ibv_gid_entry *g = &entries[i];
        int port = first + (int)g->port_num - 1;
        const char *text = verbs_gid_text(t->arena, g->gid.raw);
        char netdev[IF_NAMESIZE];
        if (!text || g->port_num < 1 || port >= c->nports)
            continue;
        build_gid(t, c,
                  (struct topo_gid){
                      .port = port,
                      .index = (int)g->gid_index,
                      .type = gid_type(g->gid_type),
                      .gid = text,
                      .netdev = g->ndev_ifindex && if_indextoname(g->ndev_ifindex, netdev)
                                    ? arena_strdup(t->arena, netdev)
                                    : NULL,
                  });
    }
    free(entries);
    return n >= 0;
}

static void add_device(struct topology *t, struct topo_class *c, struct ibv_device *device)
{
    const char *hca = arena_strdup(t->arena, ibv_get_device_name(device));
    int object = verbs_files_nic(t, c, hca), first = c->nports;
    struct ibv_context *context = ibv_open_device(device);
    struct ibv_device_attr attr = {.phys_port_cnt = 1};
    if (!context || ibv_query_device(context, &attr)) {
        build_note(t, c, "verbs: %s cannot be opened: %s", hca, strerror(errno));
        attr.phys_port_cnt = 1;
    }
    for (int port = 1; port <= attr.phys_port_cnt; port++) {
        struct topo_port p = verbs_files_port(t, hca, port);
        p.object = object;
        p.opens = context ? TOPO_NOT_KNOWN : TOPO_NO;
        if (attr.node_guid)
            p.guid = arena_printf(t->arena, "0x%016llx", (unsigned long long)be64toh(attr.node_guid));
        if (context)
            ask_port(t, c, &p, context);
        build_port(t, c, p);
    }
    if (!context || !ask_gids(t, c, context, first))
        for (int port = first; port < c->nports; port++)
            verbs_files_gids(t, c, port);
    if (context)
        ibv_close_device(context);
}

static void ask_library(struct topology *t, struct topo_class *c)
{
    int n = 0;
    struct ibv_device **devices = ibv_get_device_list(&n);
    if (!devices || !n)
        build_note(t, c, "verbs: no RDMA device%s%s", devices ? "" : ": ", devices ? "" : strerror(errno));
    for (int i = 0; devices && i < n; i++)
        add_device(t, c, devices[i]);
    if (devices)
        ibv_free_device_list(devices);
}

static void read_files(struct topology *t, struct topo_class *c)
{
    const char **hcas, **ports;
    int n = sysfs_list(t->arena, &hcas, "/sys/class/infiniband");
    for (int i = 0; i < n; i++) {
        int object = verbs_files_nic(t, c, hcas[i]);
        int nports = sysfs_list(t->arena, &ports, "/sys/class/infiniband/%s/ports", hcas[i]);
        for (int k = 0; k < nports; k++) {
            struct topo_port p = verbs_files_port(t, hcas[i], (int)strtol(ports[k], NULL, 10));
            p.object = object;
            verbs_files_gids(t, c, build_port(t, c, p));
        }
    }
}

static void fill(struct topology *t, struct topo_class *c)
{
    /* Listing devices loads every driver library; there is no need to on a machine without RDMA. */
    if (!sysfs_exists("/sys/class/infiniband"))
        build_note(t, c, "verbs: no RDMA device (/sys/class/infiniband is not there)");
    else if (sysfs_root())
        read_files(t, c);
    else
        ask_library(t, c);
}

const struct probe_source source_verbs = {.name = "verbs", .order = 30, .fill = fill};
