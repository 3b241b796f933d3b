/* What sysfs tells about the PCI functions that are in the tree: link speeds, driver, virtual functions, ACS, relaxed
 * ordering, ATS, IOMMU. */
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define PCI "/sys/bus/pci/devices/%s"

static int check_lanes(long width)
{
    return width > 0 && width <= 32 ? (int)width : 0;
}

/* What the function, and the port above it, can do at most; what one of them does not tell, the other decides. */
static void add_maximum(struct topology *t, struct topo_object *o)
{
    double own_GTps = pci_GTps(sysfs_line(t->arena, PCI "/max_link_speed", o->pci));
    double port_GTps = pci_GTps(sysfs_line(t->arena, PCI "/../max_link_speed", o->pci));
    int own = check_lanes(sysfs_int(0, PCI "/max_link_width", o->pci));
    int port = check_lanes(sysfs_int(0, PCI "/../max_link_width", o->pci));
    o->link_max_GTps = port_GTps > 0 && port_GTps < own_GTps ? port_GTps : own_GTps;
    o->link_max_width = port > 0 && port < own ? port : own;
}

/* Where the extended capability stands in configuration space; 0: it has none. */
static unsigned find_extended(const unsigned char config[4096], unsigned capability)
{
    enum { FIRST = 0x100, LAST = 4096 - 8 };
    unsigned at = FIRST;
    for (int caps = 0; at >= FIRST && at <= LAST && caps < 64; caps++) {
        unsigned header = config[at] | config[at + 1] << 8 | config[at + 2] << 16 | (unsigned)config[at + 3] << 24;
        if ((header & 0xffff) == capability)
            return at;
        at = header >> 20;
    }
    return 0;
}

/* Whether the port above the function sends requests between peers up to the root: bit 2 (P2P Request Redirect) of the
 * control register of extended capability 0x000d (PCI Express Base Specification, 7.7.11). Without privileges only the
 * first 64 bytes can be read. */
static enum topo_known acs_of(const char *pci)
{
    enum { ACS = 0x000d, CONTROL = 6, REDIRECT = 4 };
    unsigned char config[4096];
    if (sysfs_bytes(config, sizeof config, PCI "/../config", pci) < sizeof config)
        return TOPO_NOT_KNOWN;
    unsigned at = find_extended(config, ACS);
    return at && config[at + CONTROL] & REDIRECT ? TOPO_YES : TOPO_NO;
}

/* Whether the function's own writes may pass one another (bit 4, Enable Relaxed Ordering, of the Device Control
 * register in capability 0x10), and whether it translates addresses itself (bit 15 of the control register of extended
 * capability 0x000f): PCI Express Base Specification 7.5.3.4 and 10.5.1.3. Root only. */
static void add_abilities(struct topo_object *o)
{
    enum { CAPABILITIES = 0x34, PCIE = 0x10, DEVICE_CONTROL = 8, RELAXED = 0x10, ATS = 0x000f, ATS_CONTROL = 7 };
    unsigned char config[4096];
    size_t n = sysfs_bytes(config, sizeof config, PCI "/config", o->pci);
    if (n < sizeof config)
        return;
    unsigned at = config[CAPABILITIES];
    for (int caps = 0; at >= 0x40 && at < 0xf4 && caps < 48 && config[at] != PCIE; caps++)
        at = config[at + 1];
    if (at >= 0x40 && at < 0xf4 && config[at] == PCIE)
        o->relaxed_ordering = config[at + DEVICE_CONTROL] & RELAXED ? TOPO_YES : TOPO_NO;
    at = find_extended(config, ATS);
    if (at)
        o->ats = config[at + ATS_CONTROL] & 0x80 ? TOPO_YES : TOPO_NO;
}

/* HCAs through which a subnet manager runs NVLink switches carry "SW_MNG" in their vital product data (NVIDIA Fabric
 * Manager User Guide, fourth-generation NVSwitch). Only InfiniBand functions of Mellanox are asked: reading takes
 * milliseconds. */
static enum topo_known manages_nvlink(const struct topo_object *o)
{
    enum { MELLANOX = 0x15b3 };
    unsigned char data[1024];
    if (o->vendor != MELLANOX || !topo_is_infiniband(o))
        return TOPO_NOT_KNOWN;
    size_t n = sysfs_bytes(data, sizeof data, PCI "/vpd", o->pci);
    return !n ? TOPO_NOT_KNOWN : memmem(data, n, "SW_MNG", 6) ? TOPO_YES : TOPO_NO;
}

/* "off", "passthrough" or "translated" by the kernel's IOMMU group of a device; NULL unknown. */
static const char *iommu_of(struct topology *t, const struct topo_class *c)
{
    const char **units;
    if (!sysfs_exists("/sys/class/iommu"))
        return NULL;
    if (!sysfs_list(t->arena, &units, "/sys/class/iommu"))
        return "off";
    for (int i = 0; i < c->nobjects; i++) {
        const char *type = c->objects[i].pci ? sysfs_line(t->arena, PCI "/iommu_group/type", c->objects[i].pci) : NULL;
        if (type)
            return strcmp(type, "identity") ? "translated" : "passthrough";
    }
    return NULL;
}

/* NVSwitches, which hwloc leaves out and NVML tells of where it is asked: of a copied tree it is not. */
static void add_nvswitches(struct topology *t, struct topo_class *c)
{
    const char **functions;
    int n = sysfs_list(t->arena, &functions, "/sys/bus/pci/devices");
    for (int i = 0; i < n; i++) {
        const char *pci = pci_address(t->arena, functions[i]);
        long class_ = sysfs_int(0, PCI "/class", functions[i]), vendor = sysfs_int(0, PCI "/vendor", functions[i]);
        if (pci && vendor && pci_is_nvswitch((uint32_t)class_, (uint16_t)vendor))
            build_nvswitch(t, c, pci);
    }
}

void source_pci(struct topology *t, struct topo_class *c)
{
    if (sysfs_root())
        add_nvswitches(t, c);
    for (int i = 0; i < c->nobjects; i++) {
        struct topo_object *o = &c->objects[i];
        if (!o->pci || !sysfs_exists(PCI, o->pci))
            continue;
        add_maximum(t, o);
        o->driver = sysfs_link(t->arena, PCI "/driver", o->pci);
        const char *pf = sysfs_link(t->arena, PCI "/physfn", o->pci);
        long vfs = sysfs_int(0, PCI "/sriov_numvfs", o->pci);
        o->pf = pci_address(t->arena, pf);
        o->vfs = vfs > 0 && vfs < 65536 ? (int)vfs : 0;
        if (o->kind == TOPO_GPU || o->kind == TOPO_NIC)
            o->acs = acs_of(o->pci);
        if (o->kind == TOPO_NIC)
            add_abilities(o);
        o->nvlink_management = manages_nvlink(o);
    }
    c->iommu = iommu_of(t, c);
}
