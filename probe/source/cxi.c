/* HPE Slingshot: its NICs speak no verbs, so that only their interfaces and /sys/class/cxi show them. Each becomes a
 * port that NCCL reaches through an OFI plugin. */
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

enum { CRAY = 0x17db };

/* "cxi0" of the NIC at that address; where the copied tree has no /sys/class/cxi, numbered as its interface "hsn0" is.
 */
static const char *find_device(struct arena *a, const char *pci, const char *netdev)
{
    const char **names;
    int n = sysfs_list(a, &names, "/sys/class/cxi");
    for (int i = 0; i < n && pci; i++) {
        const char *own = sysfs_pci(a, "/sys/class/cxi/%s/device", names[i]);
        if (own && !strcmp(own, pci))
            return names[i];
    }
    return arena_printf(a, "cxi%s", netdev + strcspn(netdev, "0123456789"));
}

void source_cxi(struct topology *t, struct topo_class *c)
{
    for (int i = 0; i < c->nnetdevs; i++) {
        const struct topo_netdev *d = &c->netdevs[i];
        const struct topo_object *o = d->object < 0 ? NULL : &c->objects[d->object];
        if (o && (o->vendor == CRAY || (o->driver && !strncmp(o->driver, "cxi", 3))) &&
            topo_first_port(c, d->object) < 0)
            build_port(t, c,
                       (struct topo_port){.object = d->object,
                                          .hca = find_device(t->arena, o->pci, d->name),
                                          .port = 1,
                                          .state = d->state,
                                          .layer = TOPO_LINK_ETHERNET,
                                          .rate_Gbps = d->speed_Gbps,
                                          .netdev = d->name});
    }
}
