/* The record of a bundled machine, for this directory: what machines_table.c holds and machines.c builds. */
#ifndef PROBE_MACHINES_MACHINES_TABLE_H
#define PROBE_MACHINES_MACHINES_TABLE_H

#include "probe/topology/topology.h"

/* What all NICs of one purpose have in common. */
struct machine_nic {
    const char *hw;     /* a name of hw_nics; NULL: the machine has none */
    double Gbps;        /* of one port */
    const char *rdma;   /* "mlx5_%d": its RDMA device; NULL: it has none. NICs with the same pattern are numbered on */
    const char *netdev; /* "eth%d": the same for its interface */
    enum topo_link_layer layer;
};

/* The layout is a line of NUMA nodes, "0: … 1: …", with what hangs on each:
 *     (…)  a host bridge        G        a GPU
 *     […]  a PCI switch         N S M    a NIC for compute, storage, management
 *     4(…) the same four times  n s m    one more port of the card before
 * Devices are numbered in the order of the line. */
struct machine {
    const char *name;
    const char *product; /* as DMI would tell, about */
    const char *cpu;     /* as topo_class has it */
    const char *arch;    /* NULL: x86_64 */
    const char *hypervisor;
    const char *gpu; /* a name of hw_gpus */
    const char *layout;
    double GTps;        /* of PCIe at the CPU, and */
    double switch_GTps; /* below its switches; 0: the same */
    struct machine_nic compute, storage, management;
    const char *source;
};

extern const struct machine machines[]; /* ends with a NULL name */

/* What a machine turned out to have. */
struct machine_size {
    int gpus;
    int ports;     /* for compute */
    int first_nic; /* the object of the first of them; -1 none */
};

/* Its topology; `size` may be NULL. */
struct topology *machine_build(const struct machine *m, int nodes, struct machine_size *size);

#endif
