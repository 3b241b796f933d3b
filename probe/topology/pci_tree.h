/* A PCI tree as hwloc shows it (host bridges, every port of every switch) becomes the model's: host bridges, whole
 * switches, GPUs, NICs, NVSwitches. Serves the live machine and hwloc's XML. */
#ifndef PROBE_TOPOLOGY_PCI_TREE_H
#define PROBE_TOPOLOGY_PCI_TREE_H

#include "probe/topology/build.h"

/* A PCI function as read. */
struct pci_function {
    const char *pci;
    const char *model; /* NULL unknown */
    uint32_t class_code;
    uint16_t vendor, device, subsystem_vendor, subsystem_device;
    double link_GBps; /* 0 unknown */
};

/* Where the walk down stands. */
struct pci_place {
    int parent;  /* object that the next one hangs below; -1 none */
    int numa;    /* -1 unknown */
    int bridges; /* PCI-to-PCI bridges passed since the host bridge */
};

/* A root complex on NUMA node `numa` (-1: not known which); `name` as in sysfs: "pci0000:17". */
struct pci_place pci_tree_host_bridge(struct topology *t, struct topo_class *c, int numa, const char *name);

/* One PCI-to-PCI bridge further down. The first is a root port; then upstream and downstream ports alternate, and each
 * upstream port stands for its switch. */
struct pci_place pci_tree_bridge(struct topology *t, struct topo_class *c, struct pci_place at, struct pci_function f);

/* A function that is no bridge: the index of its new object, -1 when it is of no interest here. A GPU gets its record
 * (index -1) too. `claimed` is what a driver made of it, whatever its class: TOPO_GPU, TOPO_NIC, TOPO_NVSWITCH, or
 * TOPO_KIND_COUNT for nothing. */
int pci_tree_device(struct topology *t, struct topo_class *c, struct pci_place at, struct pci_function f,
                    enum topo_kind claimed);

/* Takes out the switches and host bridges below which no device was added. */
void pci_tree_prune(struct topo_class *c);

/* Takes out NICs for which neither an RDMA device nor an interface was found, such as virtual functions that belong to
 * guests, unless no NIC has any; a note tells how many. */
void pci_tree_drop_unused_nics(struct topology *t, struct topo_class *c);

#endif
