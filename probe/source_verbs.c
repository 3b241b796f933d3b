/* RDMA devices and their ports, through libibverbs; where each sits, from sysfs. */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "probe/source.h"
#include "probe/sysfs.h"

#define IB "/sys/class/infiniband/%s"

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

/* The kernel's own words say it for speeds that this header does not know: "400 Gb/sec (4X NDR)". */
static double sysfs_rate_Gbps(struct arena *a, const char *hca, int port)
{
    const char *text = sysfs_line(a, IB "/ports/%d/rate", hca, port);
    char *end;
    double rate = text ? strtod(text, &end) : 0;
    return rate > 0 && !strncmp(end, " Gb/sec", 7) ? rate : 0;
}

static enum topo_link_layer layer_of(const struct ibv_port_attr *p)
{
    return p->link_layer == IBV_LINK_LAYER_INFINIBAND ? TOPO_LINK_INFINIBAND
           : p->link_layer == IBV_LINK_LAYER_ETHERNET ? TOPO_LINK_ETHERNET
                                                      : TOPO_LINK_UNKNOWN;
}

/* A software RDMA device (rxe, siw) names its interface in `parent`; the interface may sit on a PCI function. */
static const char *pci_of(struct arena *a, const char *hca)
{
    const char *pci = sysfs_pci(a, IB "/device", hca);
    const char *netdev = pci ? NULL : sysfs_line(a, IB "/parent", hca);
    return netdev && !strchr(netdev, '/') ? sysfs_pci(a, "/sys/class/net/%s/device", netdev) : pci;
}

static void add_port(struct topology *t, struct topo_class *c, struct topo_port p, struct ibv_context *context)
{
    struct ibv_port_attr attr;
    if (ibv_query_port(context, (uint8_t)p.port, &attr)) {
        build_note(t, c, "verbs: %s port %d: %s", p.hca, p.port, strerror(errno));
    } else {
        double rate = sysfs_rate_Gbps(t->arena, p.hca, p.port);
        p.state = attr.state == IBV_PORT_ACTIVE ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
        p.layer = layer_of(&attr);
        p.rate_Gbps = rate > 0 ? rate : rate_Gbps(&attr);
        p.mtu_bytes = attr.active_mtu >= IBV_MTU_256 && attr.active_mtu <= IBV_MTU_4096 ? 128 << attr.active_mtu : 0;
    }
    build_port(t, c, p);
}

static void add_device(struct topology *t, struct topo_class *c, struct ibv_device *device)
{
    const char *hca = arena_strdup(t->arena, ibv_get_device_name(device));
    int object = build_nic(t, c, pci_of(t->arena, hca), hca);
    struct ibv_context *context = ibv_open_device(device);
    struct ibv_device_attr attr;
    if (!context || ibv_query_device(context, &attr)) {
        build_note(t, c, "verbs: %s cannot be opened: %s", hca, strerror(errno));
        build_port(t, c, (struct topo_port){.object = object, .hca = hca, .port = 1});
    } else {
        const char *guid = arena_printf(t->arena, "0x%016llx", (unsigned long long)be64toh(attr.node_guid));
        for (int port = 1; port <= attr.phys_port_cnt; port++)
            add_port(t, c, (struct topo_port){.object = object, .hca = hca, .port = port, .guid = guid}, context);
    }
    if (context)
        ibv_close_device(context);
}

static void fill(struct topology *t, struct topo_class *c)
{
    /* Listing devices loads every driver library; there is no need to on a machine without RDMA. */
    if (!sysfs_exists("/sys/class/infiniband")) {
        build_note(t, c, "verbs: no RDMA device (/sys/class/infiniband is not there)");
        return;
    }
    int n = 0;
    struct ibv_device **devices = ibv_get_device_list(&n);
    if (!devices || !n)
        build_note(t, c, "verbs: no RDMA device%s%s", devices ? "" : ": ", devices ? "" : strerror(errno));
    for (int i = 0; devices && i < n; i++)
        add_device(t, c, devices[i]);
    if (devices)
        ibv_free_device_list(devices);
}

const struct probe_source source_verbs = {"verbs", fill};
