/* Sources of knowledge about this machine: one file each, all filling the same class.
 *
 * A source that has nothing to say says why in a note and leaves the class as it is: every one of them is optional. */
#ifndef PROBE_SOURCE_SOURCE_H
#define PROBE_SOURCE_SOURCE_H

#include "probe/topology/build.h"

struct probe_source {
    const char *name;
    void (*fill)(struct topology *t, struct topo_class *c);
    int live; /* asks the running machine, and has nothing to say about a copied tree of its files */
};

extern const struct probe_source source_hwloc; /* NUMA nodes, the PCI tree, GPUs and NICs in it; first: others attach */
extern const struct probe_source source_pci;   /* link speeds, drivers, virtual functions, ACS */
extern const struct probe_source source_verbs; /* RDMA devices and their ports */
extern const struct probe_source source_netdev;   /* network interfaces */
extern const struct probe_source source_kfd;      /* AMD GPUs and XGMI */
extern const struct probe_source source_nvml;     /* NVIDIA GPUs and NVLink */
extern const struct probe_source source_machine;  /* product, hypervisor, container */
extern const struct probe_source source_software; /* libraries, limits, GPUDirect RDMA */

#endif
