/* RDMA devices and ports by the kernel's files. */
#include "probe/source/verbs_files.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/sysfs.h"

#define IB   "/sys/class/infiniband/%s"
#define PORT IB "/ports/%d"

int verbs_files_nic(struct topology *t, struct topo_class *c, const char *hca)
{
    const char *pci = sysfs_pci(t->arena, IB "/device", hca);
    /* A software RDMA device (rxe, siw) names its interface in `parent`; the interface may sit on a PCI function. */
    const char *netdev = pci ? NULL : sysfs_line(t->arena, IB "/parent", hca);
    if (netdev && !strchr(netdev, '/'))
        pci = sysfs_pci(t->arena, "/sys/class/net/%s/device", netdev);
    return build_nic(t, c, pci, hca);
}

/* "400 Gb/sec (4X NDR)": 400; 0 unknown. */
static double rate_of(const char *text)
{
    char *end;
    if (!text)
        return 0;
    double rate = strtod(text, &end);
    return rate > 0 && !strncmp(end, " Gb/sec", 7) ? rate : 0;
}

/* "506b:4b03:00ca:1f2e" as "0x506b4b0300ca1f2e"; NULL when it is zero or something else. */
static const char *guid_of(struct arena *a, const char *text)
{
    char digits[17] = "";
    size_t n = 0;
    for (; text && *text; text++) {
        if (*text == ':')
            continue;
        if (n == 16 || !isxdigit((unsigned char)*text))
            return NULL;
        digits[n++] = *text;
    }
    return n == 16 && strspn(digits, "0") < 16 ? arena_printf(a, "0x%s", digits) : NULL;
}

/* The interface of a port: of several on one function the one whose dev_port says so. */
static const char *netdev_of(struct arena *a, const char *hca, int port)
{
    const char **names, *own = sysfs_line(a, PORT "/gid_attrs/ndevs/0", hca, port);
    if (own)
        return own;
    int n = sysfs_list(a, &names, IB "/device/net", hca);
    for (int i = 0; i < n; i++)
        if (n == 1 || sysfs_int(-1, IB "/device/net/%s/dev_port", hca, names[i]) == port - 1)
            return names[i];
    return sysfs_line(a, IB "/parent", hca);
}

static int raw_gid(struct arena *a, const char *hca, int port, int index, unsigned char raw[16])
{
    const char *text = sysfs_line(a, PORT "/gids/%d", hca, port, index);
    return text && inet_pton(AF_INET6, text, raw) == 1;
}

const char *verbs_gid_text(struct arena *a, const unsigned char raw[16])
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

struct topo_port verbs_files_port(struct topology *t, const char *hca, int port)
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
        .rate_Gbps = rate_of(sysfs_line(a, PORT "/rate", hca, port)),
        .guid = guid_of(a, sysfs_line(a, IB "/node_guid", hca)),
        .netdev = netdev_of(a, hca, port),
        .firmware = sysfs_line(a, IB "/fw_ver", hca),
        .board_id = sysfs_line(a, IB "/board_id", hca),
    };
    if (p.layer == TOPO_LINK_INFINIBAND) {
        p.lid = lid > 0 && lid < 0xffff ? (int)lid : 0;
        p.subnet_prefix = raw_gid(a, hca, port, 0, gid) ? subnet_prefix(a, gid) : NULL;
    }
    return p;
}

void verbs_files_gids(struct topology *t, struct topo_class *c, int port)
{
    const struct topo_port *p = &c->ports[port];
    struct arena *a = t->arena;
    const char **entries;
    unsigned char raw[16];
    int n = sysfs_list(a, &entries, PORT "/gids", p->hca, p->port);
    for (int i = 0; i < n; i++) {
        int index = (int)strtol(entries[i], NULL, 10);
        const char *gid = raw_gid(a, p->hca, p->port, index, raw) ? verbs_gid_text(a, raw) : NULL;
        if (!gid)
            continue;
        const char *type = sysfs_line(a, PORT "/gid_attrs/types/%d", p->hca, p->port, index);
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
