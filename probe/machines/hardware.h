/* Generations of GPUs and NICs by their public specifications: data for machines that are described,
 * and for files that leave things out. Nothing here is measured. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "probe/topology/topology.h"

struct hw_gpu {
    const char *name;  /* "h100-sxm": what users type */
    const char *model; /* "NVIDIA H100 80GB HBM3" */
    uint16_t device;   /* PCI device of the vendor that `arch` tells; 0 not known */
    int sm;            /* compute capability × 10; 0 AMD */
    const char *arch;  /* "gfx942", NULL NVIDIA */
    uint64_t mem_bytes;
    double mem_GBps;               /* memory bandwidth */
    double pcie_GTps;              /* its PCIe link per lane, */
    int pcie_width;                /* lanes */
    const char *source;            /* the document that says so */
    enum topo_link_kind link_kind; /* of the links below */
    int links;                     /* NVLink or XGMI links of one GPU; 0 none, or only with bridges that few have */
    double link_GBps;              /* of one link, one direction, as specified; also of the bridges that few have */
    int switched;      /* NVSwitches that the usual baseboard puts them on, the links spread evenly; 0 none */
    int bridge;        /* that many neighbours are joined by a bridge; 0: all GPUs of a board */
    int domain_gpus;   /* GPUs of several nodes that share the NVSwitches; 0: those of a node */
    double c2c_GBps;   /* to its own CPU, one direction: two GPUs of one CPU have half of its links each; 0 none */
    int shares_memory; /* its memory is the CPU's */
    int no_p2p;        /* the driver refuses peer-to-peer traffic over PCIe, and GPUDirect RDMA */
};

extern const struct hw_gpu hw_gpus[];               /* ends with a NULL name */
const struct hw_gpu *hw_gpu_find(const char *name); /* any case, or the only one of that family;
                                                     * NULL unknown */

/* Set the error for a name that hw_gpu_find does not know, with its family or the nearest name; return its code. */
int hw_gpu_unknown(const char *name, struct err *e);

/* Print all GPUs as a table, or as an array of JSON. */
void hw_gpu_list(int json, FILE *out);

/* Return the generation of a GPU in a topology: by its PCI device or its model's words, else by its architecture; NULL
 * unknown. */
const struct hw_gpu *hw_gpu_of(const struct topo_class *c, const struct topo_gpu *gpu);

/* NCCL's transport for a NIC: its own, or a plugin of the vendor. */
enum hw_transport { HW_VERBS, HW_SOCKETS, HW_EFA, HW_TCPX, HW_CXI };

struct hw_nic {
    const char *name;  /* "connectx-7" */
    const char *model; /* as the PCI ID database has it, about */
    uint16_t vendor, device;
    enum hw_transport transport;
    double most_Gbps; /* of all its ports together */
    double pcie_GTps;
    int pcie_width;
    const char *source;
};

extern const struct hw_nic hw_nics[];               /* ends with a NULL name */
const struct hw_nic *hw_nic_find(const char *name); /* exact, any case; NULL unknown */

/* Return the generation of a NIC in a topology: by its PCI device, else by its model's words; NULL unknown. */
const struct hw_nic *hw_nic_of(const struct topo_object *nic);
