/* NUMA nodes, the CPU and the PCI tree, through hwloc. */
#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

int probe_hwloc_load(hwloc_topology_t *h)
{
    /* What the first five find, other sources here find more cheaply: opening CUDA, OpenCL or an X display takes
     * seconds. "pci" adds names out of pci.ids, which libpciaccess reads whole and never frees; the tree itself is
     * Linux's. */
    static const char *const unwanted[] = {"opencl", "gl", "cuda", "nvml", "levelzero", "pci"};
    static const hwloc_obj_type_t unused[] = {HWLOC_OBJ_CORE, HWLOC_OBJ_MISC, HWLOC_OBJ_OS_DEVICE, HWLOC_OBJ_MEMCACHE};
    if (hwloc_topology_init(h))
        return -1;
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        hwloc_topology_set_components(*h, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, unwanted[i]);
    hwloc_topology_set_io_types_filter(*h, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_cache_types_filter(*h, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        hwloc_topology_set_type_filter(*h, unused[i], HWLOC_TYPE_FILTER_KEEP_NONE);
    const char *root = sysfs_root();
    if (root) {
        setenv("HWLOC_FSROOT", root, 1);
        setenv("HWLOC_THISSYSTEM", "0", 1);
        hwloc_topology_set_components(*h, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86"); /* asks this CPU */
    }
    /* Without this a container that may use some cores would see only the devices near them. */
    hwloc_topology_set_flags(*h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    int failed = hwloc_topology_load(*h), error = errno;
    if (root) {
        unsetenv("HWLOC_FSROOT");
        unsetenv("HWLOC_THISSYSTEM");
    }
    if (!failed)
        return 0;
    hwloc_topology_destroy(*h);
    errno = error;
    return -1;
}

static int is_gpu_memory(hwloc_obj_t node)
{
    return node->subtype && !strcmp(node->subtype, "GPUMemory");
}

/* The node that devices below `near` are local to; -1 when several with different cores could be. */
static int numa_of(hwloc_topology_t h, hwloc_obj_t near)
{
    hwloc_obj_t found = NULL;
    for (hwloc_obj_t n = NULL; near && (n = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, n));) {
        if (is_gpu_memory(n) || !hwloc_bitmap_isset(near->nodeset, n->os_index))
            continue;
        if (found && !hwloc_bitmap_isequal(found->cpuset, n->cpuset))
            return -1;
        if (!found)
            found = n;
    }
    return found ? (int)found->os_index : -1;
}

static struct topo_object function_of(struct topology *t, hwloc_obj_t o)
{
    const struct hwloc_pcidev_attr_s *p =
        o->type == HWLOC_OBJ_BRIDGE ? &o->attr->bridge.upstream.pci : &o->attr->pcidev;
    return (struct topo_object){
        .pci = arena_printf(t->arena, "%04x:%02x:%02x.%x", p->domain, p->bus, p->dev, p->func),
        .model = arena_strdup(t->arena, hwloc_obj_get_info_by_name(o, "PCIDevice")),
        .pci_class = (uint32_t)p->class_id << 8,
        .vendor = p->vendor_id,
        .device = p->device_id,
        .subsystem_vendor = p->subvendor_id,
        .subsystem_device = p->subdevice_id,
        .link_GBps = p->linkspeed,
    };
}

/* The node that the kernel's file names for the devices below a host bridge, which is what NCCL reads: hwloc knows
 * their cores alone. -1: the firmware told none; NO_FILE: nor is there a file. */
#define NO_FILE (-2)
static int told_numa(struct topology *t, hwloc_obj_t bridge)
{
    hwloc_obj_t child = bridge->io_first_child;
    if (!child)
        return NO_FILE;
    return (int)sysfs_int(NO_FILE, "/sys/bus/pci/devices/%s/numa_node", function_of(t, child).pci);
}

/* A host bridge of a NUMA node, or, as in NCCL's tree, of the one CPU for all devices whose node is not known. */
static struct pci_place add_host_bridge(struct topology *t, struct topo_class *c, hwloc_topology_t h, hwloc_obj_t b)
{
    const char *name = arena_printf(t->arena, "pci%04x:%02x", b->attr->bridge.downstream.pci.domain,
                                    b->attr->bridge.downstream.pci.secondary_bus);
    int numa = numa_of(h, hwloc_get_non_io_ancestor_obj(h, b)), told = numa < 0 ? told_numa(t, b) : numa;
    int cpu = told == -1 ? build_numa(t, c, -1) : -1;
    struct pci_place place = pci_tree_host_bridge(t, c, told, name);
    if (cpu >= 0)
        c->objects[place.parent].parent = cpu;
    return place;
}

/* What only sysfs has: speed and width apart, also readable without root. */
static void add_link(struct topology *t, struct topo_object *o)
{
    const char *speed = sysfs_line(t->arena, "/sys/bus/pci/devices/%s/current_link_speed", o->pci);
    long width = speed ? sysfs_int(0, "/sys/bus/pci/devices/%s/current_link_width", o->pci) : 0;
    o->link_GTps = pci_GTps(speed);
    o->link_width = width > 0 && width <= 32 ? (int)width : 0;
    if (o->link_GTps > 0 && o->link_width > 0)
        o->link_GBps = pci_GBps(o->link_GTps, o->link_width);
}

static void add_below(struct topology *t, struct topo_class *c, hwloc_obj_t o, struct pci_place at)
{
    for (hwloc_obj_t child = o->io_first_child; child; child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_PCI_DEVICE)
            pci_tree_device(t, c, at, function_of(t, child), TOPO_KIND_COUNT);
        else if (child->type == HWLOC_OBJ_BRIDGE && child->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
            add_below(t, c, child, pci_tree_bridge(t, c, at, function_of(t, child)));
    }
}

static const char *cpu_name(struct topology *t, hwloc_topology_t h)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(h, HWLOC_OBJ_PACKAGE, 0);
    hwloc_obj_t o = package ? package : hwloc_get_root_obj(h);
    const char *vendor = hwloc_obj_get_info_by_name(o, "CPUVendor"), *model = hwloc_obj_get_info_by_name(o, "CPUModel");
    const char *family = hwloc_obj_get_info_by_name(o, "CPUFamilyNumber");
    const char *number = hwloc_obj_get_info_by_name(o, "CPUModelNumber");
    return build_cpu_name(t, vendor, family, number, model);
}

void source_hwloc(struct topology *t, struct topo_class *c)
{
    hwloc_topology_t h;
    if (probe_hwloc_load(&h)) {
        build_note(t, c, "hwloc: the machine's topology cannot be loaded: %s", strerror(errno));
        return;
    }
    c->cpu = cpu_name(t, h);
    for (hwloc_obj_t n = NULL; (n = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, n));)
        if (!is_gpu_memory(n) && !hwloc_bitmap_iszero(n->cpuset)) {
            char *cpus = NULL;
            int numa = build_numa(t, c, (int)n->os_index), length = hwloc_bitmap_list_asprintf(&cpus, n->cpuset);
            c->objects[numa].cpus = length > 0 ? arena_strdup(t->arena, cpus) : NULL;
            free(cpus);
        }
    for (hwloc_obj_t b = NULL; (b = hwloc_get_next_bridge(h, b));) {
        if (b->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_HOST)
            continue;
        add_below(t, c, b, add_host_bridge(t, c, h, b));
    }
    pci_tree_prune(c);
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].pci)
            add_link(t, &c->objects[i]);
    /* The memory of a GPU that the system takes as a NUMA node of its own. */
    for (hwloc_obj_t n = NULL; (n = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, n));) {
        const char *pci = is_gpu_memory(n) ? hwloc_obj_get_info_by_name(n, "PCIBusID") : NULL;
        int gpu = pci ? build_find_gpu(c, build_find_pci(c, pci_address(t->arena, pci))) : -1;
        if (gpu >= 0)
            c->gpus[gpu].memory_numa = arena_printf(t->arena, "%u", n->os_index);
    }
    hwloc_topology_destroy(h);
}
