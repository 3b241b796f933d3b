/* From hwloc's view of PCI to the model's. */
#include "probe/topology/pci_tree.h"

#include <stdlib.h>

#include "probe/topology/pci.h"

static struct topo_object object_of(struct pci_function f, enum topo_kind kind, struct pci_place at)
{
    return (struct topo_object){
        .kind = kind,
        .parent = at.parent,
        .numa = at.numa,
        .pci = f.pci,
        .model = f.model,
        .pci_class = f.class_code,
        .vendor = f.vendor,
        .device = f.device,
        .subsystem_vendor = f.subsystem_vendor,
        .subsystem_device = f.subsystem_device,
        .link_GBps = f.link_GBps,
    };
}

struct pci_place pci_tree_host_bridge(struct topology *t, struct topo_class *c, int numa, const char *name)
{
    struct topo_object o = {.kind = TOPO_HOST_BRIDGE, .parent = -1, .numa = numa, .name = name};
    if (numa >= 0)
        o.parent = build_numa(t, c, numa);
    return (struct pci_place){build_object(t, c, o), numa, 0};
}

struct pci_place pci_tree_bridge(struct topology *t, struct topo_class *c, struct pci_place at, struct pci_function f)
{
    at.bridges++;
    if (at.bridges % 2 == 0)
        at.parent = build_object(t, c, object_of(f, TOPO_SWITCH, at));
    return at;
}

int pci_tree_device(struct topology *t, struct topo_class *c, struct pci_place at, struct pci_function f,
                    enum topo_kind claimed)
{
    if (claimed == TOPO_NVSWITCH || (f.vendor && pci_is_nvswitch(f.class_code, f.vendor)))
        return build_object(t, c, object_of(f, TOPO_NVSWITCH, at));
    if (claimed == TOPO_NIC || (claimed != TOPO_GPU && pci_is_nic(f.class_code)))
        return build_object(t, c, object_of(f, TOPO_NIC, at));
    if (claimed != TOPO_GPU && !pci_is_gpu(f.class_code, f.vendor, f.device))
        return -1;
    int object = build_object(t, c, object_of(f, TOPO_GPU, at));
    build_gpu(t, c, (struct topo_gpu){.object = object, .index = -1, .gdr = -1});
    return object;
}

/* Takes out the objects that are not in `keep`; every index follows. */
static void compact(struct topo_class *c, const unsigned char *keep)
{
    int *where = malloc((size_t)c->nobjects * sizeof *where), n = 0;
    if (!where)
        abort();
    for (int i = 0; i < c->nobjects; i++) {
        where[i] = keep[i] ? n : -1;
        if (keep[i])
            c->objects[n++] = c->objects[i];
    }
    c->nobjects = n;
    for (int i = 0; i < n; i++)
        if (c->objects[i].parent >= 0)
            c->objects[i].parent = where[c->objects[i].parent];
    build_renumber(c, where);
    free(where);
}

void pci_tree_prune(struct topo_class *c)
{
    unsigned char *keep = calloc((size_t)c->nobjects + 1, 1);
    if (!keep)
        abort();
    /* Children come behind their parents. */
    for (int i = c->nobjects - 1; i >= 0; i--) {
        enum topo_kind kind = c->objects[i].kind;
        keep[i] |= kind != TOPO_SWITCH && kind != TOPO_HOST_BRIDGE;
        if (keep[i] && c->objects[i].parent >= 0)
            keep[c->objects[i].parent] = 1;
    }
    compact(c, keep);
    free(keep);
}

void pci_tree_drop_unused_nics(struct topology *t, struct topo_class *c)
{
    unsigned char *keep = calloc((size_t)c->nobjects + 1, 1);
    int dropped = 0;
    const char *example = NULL;
    if (!keep)
        abort();
    for (int i = 0; i < c->nobjects; i++)
        keep[i] = c->objects[i].kind != TOPO_NIC;
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object >= 0)
            keep[c->ports[i].object] = 1;
    for (int i = 0; i < c->nnetdevs; i++)
        if (c->netdevs[i].object >= 0)
            keep[c->netdevs[i].object] = 1;
    for (int i = 0; i < c->nobjects; i++)
        if (!keep[i]) {
            dropped++;
            example = example ? example : c->objects[i].pci;
        }
    if (dropped && (c->nports || c->nnetdevs)) {
        build_note(t, c, "PCI: %d network function%s without a driver left out (%s%s)", dropped,
                   dropped == 1 ? "" : "s", example, dropped == 1 ? "" : ", ...");
        compact(c, keep);
    }
    free(keep);
}
