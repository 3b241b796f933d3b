/* Shared by the files of this directory: the record of a bundled machine, and how GPUs are joined. */
#pragma once

#include "probe/machines/hardware.h"
#include "probe/topology/build.h"

/* Common properties of all NICs of one purpose. */
struct machine_nic {
    const char *hw;     /* a name of hw_nics; NULL: the machine has none */
    double Gbps;        /* of one port */
    const char *rdma;   /* "mlx5_%d": its RDMA device; NULL: it has none. NICs with the same pattern are numbered on */
    const char *netdev; /* "eth%d": the same for its interface */
    enum topo_link_layer layer;
    int lanes; /* of PCIe; 0: the card's */
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

/* Devices found on a machine. */
struct machine_size {
    int gpus;
    int ports;     /* for compute */
    int first_nic; /* the object of the first of them; -1 none */
};

/* Build the topology of `nodes` nodes of a machine; `size` may be NULL. */
struct topology *machine_build(const struct machine *m, int nodes, struct machine_size *size);

/* Return the PCI vendor of a GPU: NVIDIA or AMD. */
uint16_t hw_gpu_vendor(const struct hw_gpu *g);

/* As hw_gpu_of, but without the guess by architecture, which takes the SXM board where there are several. */
const struct hw_gpu *hw_gpu_named(const struct topo_class *c, const struct topo_gpu *gpu);

/* Return how NCCL reaches the network through that NIC: sockets if it has no RDMA device, unless Google's NIC hangs on
 * a GPU's switch. */
enum hw_transport hw_transport_of(const struct topo_class *c, int object);

/* Add to a class without links those that its GPUs, all of the kind `hw`, have on the board that is usual for their
 * number: NVSwitches; a mesh; the hybrid cube of eight V100; the four modules of eight MI250X dies; bridges. */
void wiring_usual(struct topology *t, struct topo_class *c, const struct hw_gpu *hw);
