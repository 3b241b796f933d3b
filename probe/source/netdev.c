/* Network interfaces of this network namespace: getifaddrs says which there are, /sys/class/net what they are. A copied
 * tree has no addresses. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define NET "/sys/class/net/%s"

static enum topo_net_kind kind_of(struct arena *a, const char *name, unsigned flags)
{
    const char *driver = sysfs_link(a, NET "/device/driver", name);
    if (flags & IFF_LOOPBACK)
        return TOPO_NET_LOOPBACK;
    if (!sysfs_exists(NET, name))
        return TOPO_NET_UNKNOWN;
    if (sysfs_exists(NET "/bridge", name))
        return TOPO_NET_BRIDGE;
    if (sysfs_exists(NET "/bonding", name))
        return TOPO_NET_BOND;
    if (!sysfs_exists(NET "/device", name) || (driver && !strcmp(driver, "virtio_net")))
        return TOPO_NET_VIRTUAL;
    return TOPO_NET_PHYSICAL;
}

static struct topo_netdev *add_netdev(struct topology *t, struct topo_class *c, const char *name, unsigned flags)
{
    struct arena *a = t->arena;
    long speed_Mbps = sysfs_int(-1, NET "/speed", name), mtu = sysfs_int(0, NET "/mtu", name);
    const char *pci = sysfs_pci(a, NET "/device", name);
    int up = (flags & IFF_UP) && (flags & IFF_RUNNING);
    struct topo_netdev d = {
        .object = pci ? build_nic(t, c, pci, name) : -1,
        .name = arena_strdup(a, name),
        .kind = kind_of(a, name, flags),
        .state = up ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN,
        .speed_Gbps = speed_Mbps > 0 ? (double)speed_Mbps / 1000 : 0,
        .mtu_bytes = mtu > 0 && mtu <= 65536 ? (int)mtu : 0,
        .master = sysfs_link(a, NET "/master", name),
        .port_name = sysfs_line(a, NET "/phys_port_name", name),
    };
    const int at = build_netdev(t, c, d); /* which may move them */
    return &c->netdevs[at];
}

static int prefix_length(const unsigned char *mask, size_t bytes)
{
    int bits = 0;
    for (size_t i = 0; i < bytes; i++)
        bits += __builtin_popcount(mask[i]);
    return bits;
}

static void add_address(struct topology *t, struct topo_netdev *d, const struct ifaddrs *i)
{
    char text[INET6_ADDRSTRLEN];
    int family = i->ifa_addr->sa_family;
    const void *address = family == AF_INET ? (const void *)&((const struct sockaddr_in *)i->ifa_addr)->sin_addr
                                            : &((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
    const void *mask = !i->ifa_netmask     ? NULL
                       : family == AF_INET ? (const void *)&((const struct sockaddr_in *)i->ifa_netmask)->sin_addr
                                           : &((const struct sockaddr_in6 *)i->ifa_netmask)->sin6_addr;
    if (!inet_ntop(family, address, text, sizeof text))
        return;
    int bits = mask ? prefix_length(mask, family == AF_INET ? 4 : 16) : family == AF_INET ? 32 : 128;
    ARENA_ADD(t->arena, d->addresses, d->naddresses) = arena_printf(t->arena, "%s/%d", text, bits);
}

static void read_files(struct topology *t, struct topo_class *c)
{
    const char **names;
    int n = sysfs_list(t->arena, &names, "/sys/class/net");
    for (int i = 0; i < n; i++) {
        const char *operation = sysfs_line(t->arena, NET "/operstate", names[i]);
        long flags = sysfs_int(0, NET "/flags", names[i]);
        unsigned running = operation && !strcmp(operation, "up") ? IFF_UP | IFF_RUNNING : 0;
        if (sysfs_exists(NET "/ifindex", names[i])) /* bonding_masters is a file beside the interfaces */
            add_netdev(t, c, names[i], ((unsigned)flags & IFF_LOOPBACK) | running);
    }
}

void source_netdev(struct topology *t, struct topo_class *c)
{
    if (sysfs_root()) {
        read_files(t, c);
        return;
    }
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all)) {
        build_note(t, c, "network: getifaddrs: %s", strerror(errno));
        return;
    }
    if (!sysfs_exists("/sys/class/net"))
        build_note(t, c, "network: /sys/class/net is not there (hidden in this container?): kinds and speeds unknown");
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct topo_netdev *known = topo_find_netdev(c, i->ifa_name);
        struct topo_netdev *d = known ? known : add_netdev(t, c, i->ifa_name, i->ifa_flags);
        if (i->ifa_addr && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
            add_address(t, d, i);
    }
    freeifaddrs(all);
}
