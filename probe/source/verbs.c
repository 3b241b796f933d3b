/* RDMA devices and their ports: the kernel's files say most, libibverbs what they do not (the MTU) or only slowly (the
 * GID table). Of a copied tree there are only the files. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define MOST_GIDS 4096 /* in a device */
#define IB        "/sys/class/infiniband/%s"
#define PORT      IB "/ports/%d"

/* ---- the kernel's files under /sys/class/infiniband -------------------------------------------------------------- */

/* The NIC that the device is or sits on, added if it is missing. */
static int ensure_nic(struct topology *t, struct topo_class *c, const char *hca)
{
    const char *pci = sysfs_pci(t->arena, IB "/device", hca);
    /* A software RDMA device (rxe, siw) names its interface in `parent`; the interface may sit on a PCI function. */
    const char *netdev = pci ? NULL : sysfs_line(t->arena, IB "/parent", hca);
    if (netdev && !strchr(netdev, '/'))
        pci = sysfs_pci(t->arena, "/sys/class/net/%s/device", netdev);
    return build_nic(t, c, pci, hca);
}

/* "400 Gb/sec (4X NDR)": 400; 0 unknown. */
static double read_rate(const char *text)
{
    char *end;
    if (!text)
        return 0;
    double rate = strtod(text, &end);
    return rate > 0 && !strncmp(end, " Gb/sec", 7) ? rate : 0;
}

/* "CA" of "1: CA". */
static const char *read_node_type(struct arena *a, const char *hca)
{
    const char *type = sysfs_line(a, IB "/node_type", hca);
    return type && strstr(type, ": ") ? strstr(type, ": ") + 2 : NULL;
}

/* The interface of a port: of several on one function the one whose dev_port says so. Representors of virtual functions
 * are on the physical function, too, and their dev_port is 0. */
static const char *find_netdev(struct arena *a, const char *hca, int port)
{
    const char **names, *own = sysfs_line(a, PORT "/gid_attrs/ndevs/0", hca, port);
    if (own)
        return own;
    int n = sysfs_list(a, &names, IB "/device/net", hca);
    for (int i = 0; i < n; i++) {
        const char *port_name = sysfs_line(a, "/sys/class/net/%s/phys_port_name", names[i]);
        if (n == 1 ? port == 1
                   : sysfs_int(-1, IB "/device/net/%s/dev_port", hca, names[i]) == port - 1 &&
                         !topo_is_representor(port_name))
            return names[i];
    }
    return sysfs_line(a, IB "/parent", hca);
}

static int read_raw_gid(struct arena *a, const char *hca, int port, int index, unsigned char raw[16])
{
    const char *text = sysfs_line(a, PORT "/gids/%d", hca, port, index);
    return text && inet_pton(AF_INET6, text, raw) == 1;
}

/* A GID of 16 bytes as text; NULL for an empty entry. */
static const char *gid_text(struct arena *a, const unsigned char raw[16])
{
    static const unsigned char none[8];
    char text[INET6_ADDRSTRLEN];
    /* An entry without an interface id is empty: some drivers leave the subnet prefix standing. */
    if (!memcmp(raw + 8, none, 8) || !inet_ntop(AF_INET6, raw, text, sizeof text))
        return NULL;
    return arena_strdup(a, text);
}

/* The upper half of a GID: "0xfe80000000000000". */
static const char *subnet_prefix(struct arena *a, const unsigned char raw[16])
{
    unsigned long long prefix = 0;
    for (int i = 0; i < 8; i++)
        prefix = prefix << 8 | raw[i];
    return prefix ? arena_printf(a, "0x%016llx", prefix) : NULL;
}

/* A port with everything but its MTU and GIDs, which the files do not tell or tell slowly. */
static struct topo_port read_port(struct topology *t, const char *hca, int port)
{
    struct arena *a = t->arena;
    const char *state = sysfs_line(a, PORT "/state", hca, port), *layer = sysfs_line(a, PORT "/link_layer", hca, port);
    long lid = sysfs_int(0, PORT "/lid", hca, port);
    unsigned char gid[16];
    struct topo_port p = {
        .object = -1,
        .hca = hca,
        .port = port,
        .state = !state                    ? TOPO_STATE_UNKNOWN
                 : strncmp(state, "4:", 2) ? TOPO_STATE_DOWN
                                           : TOPO_STATE_ACTIVE,
        .layer = !layer                         ? TOPO_LINK_UNKNOWN
                 : !strcmp(layer, "InfiniBand") ? TOPO_LINK_INFINIBAND
                 : !strcmp(layer, "Ethernet")   ? TOPO_LINK_ETHERNET
                                                : TOPO_LINK_UNKNOWN,
        .rate_Gbps = read_rate(sysfs_line(a, PORT "/rate", hca, port)),
        .guid = build_guid(a, sysfs_line(a, IB "/node_guid", hca)),
        .netdev = find_netdev(a, hca, port),
        .firmware = sysfs_line(a, IB "/fw_ver", hca),
        .board_id = sysfs_line(a, IB "/board_id", hca),
        .node_type = read_node_type(a, hca),
    };
    if (p.layer == TOPO_LINK_INFINIBAND) {
        long sm_lid = sysfs_int(0, PORT "/sm_lid", hca, port);
        p.sm_lid = sm_lid > 0 && sm_lid < 0xffff ? (int)sm_lid : 0;
        p.lid = lid > 0 && lid < 0xffff ? (int)lid : 0;
        p.subnet_prefix = read_raw_gid(a, hca, port, 0, gid) ? subnet_prefix(a, gid) : NULL;
    }
    return p;
}

/* Add the GID table of ports[port], entry by entry. */
static void read_gids(struct topology *t, struct topo_class *c, int port)
{
    struct topo_port *p = &c->ports[port];
    struct arena *a = t->arena;
    const char **entries;
    unsigned char raw[16];
    int n = sysfs_list(a, &entries, PORT "/gids", p->hca, p->port);
    p->no_gids = n > 0 ? TOPO_YES : TOPO_NOT_KNOWN;
    for (int i = 0; i < n; i++) {
        int index = (int)strtol(entries[i], NULL, 10);
        const char *gid = read_raw_gid(a, p->hca, p->port, index, raw) ? gid_text(a, raw) : NULL;
        if (!gid)
            continue;
        const char *type = sysfs_line(a, PORT "/gid_attrs/types/%d", p->hca, p->port, index);
        p->no_gids = TOPO_NOT_KNOWN;
        build_gid(t, c,
                  (struct topo_gid){
                      .port = port,
                      .index = index,
                      .type = !type                            ? TOPO_GID_UNKNOWN
                              : !strcmp(type, "RoCE v2")       ? TOPO_GID_ROCE_V2
                              : p->layer == TOPO_LINK_ETHERNET ? TOPO_GID_ROCE_V1
                                                               : TOPO_GID_IB,
                      .gid = gid,
                      .netdev = sysfs_line(a, PORT "/gid_attrs/ndevs/%d", p->hca, p->port, index),
                  });
    }
}

/* ---- libibverbs -------------------------------------------------------------------------------------------------- */

/* Lane counts and Gb/s a lane, by the bits of ibv_port_attr (InfiniBand Architecture Specification 1.7, PortInfo). */
static const struct {
    unsigned bit;
    double value;
} widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}},
  speeds[] = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}, {256, 200}};

static double compute_rate_Gbps(const struct ibv_port_attr *p)
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
    p->layer = attr.link_layer == IBV_LINK_LAYER_INFINIBAND ? TOPO_LINK_INFINIBAND
               : attr.link_layer == IBV_LINK_LAYER_ETHERNET ? TOPO_LINK_ETHERNET
                                                            : TOPO_LINK_UNKNOWN;
    if (!(p->rate_Gbps > 0))
        p->rate_Gbps = compute_rate_Gbps(&attr);
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
    for (int port = first; port < c->nports && n >= 0; port++)
        c->ports[port].no_gids = TOPO_YES;
    for (ssize_t i = 0; i < n; i++) {
        const struct ibv_gid_entry *g = &entries[i];
        int port = first + (int)g->port_num - 1;
        const char *text = gid_text(t->arena, g->gid.raw);
        char netdev[IF_NAMESIZE];
        if (!text || g->port_num < 1 || port >= c->nports)
            continue;
        c->ports[port].no_gids = TOPO_NOT_KNOWN;
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
    int object = ensure_nic(t, c, hca), first = c->nports;
    struct ibv_context *context = ibv_open_device(device);
    struct ibv_device_attr attr = {.phys_port_cnt = 1};
    if (!context || ibv_query_device(context, &attr)) {
        build_note(t, c, "verbs: %s cannot be opened: %s", hca, strerror(errno));
        attr.phys_port_cnt = 1;
    }
    for (int port = 1; port <= attr.phys_port_cnt; port++) {
        struct topo_port p = read_port(t, hca, port);
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
            read_gids(t, c, port);
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

static void read_files_of_all(struct topology *t, struct topo_class *c)
{
    const char **hcas, **ports;
    int n = sysfs_list(t->arena, &hcas, "/sys/class/infiniband");
    for (int i = 0; i < n; i++) {
        int object = ensure_nic(t, c, hcas[i]);
        int nports = sysfs_list(t->arena, &ports, IB "/ports", hcas[i]);
        for (int k = 0; k < nports; k++) {
            struct topo_port p = read_port(t, hcas[i], (int)strtol(ports[k], NULL, 10));
            p.object = object;
            read_gids(t, c, build_port(t, c, p));
        }
    }
}

void source_verbs(struct topology *t, struct topo_class *c)
{
    /* Listing devices loads every driver library; there is no need to on a machine without RDMA. */
    if (!sysfs_exists("/sys/class/infiniband"))
        build_note(t, c, "verbs: no RDMA device (/sys/class/infiniband is not there)");
    else if (sysfs_root())
        read_files_of_all(t, c);
    else
        ask_library(t, c);
}
