/* What the generations of GPUs and NICs can do by their public specifications: data for machines that are described,
 * and for files that leave things out. Nothing here is measured. */
#ifndef PROBE_HARDWARE_H
#define PROBE_HARDWARE_H

#include <stdint.h>

#include "probe/topology.h"

struct hw_gpu {
    const char *name;  /* "h100-sxm": what users type */
    const char *model; /* "NVIDIA H100 80GB HBM3" */
    int sm;            /* compute capability × 10; 0 AMD */
    const char *arch;  /* "gfx942", NULL NVIDIA */
    uint64_t mem_bytes;
    double mem_GBps;         /* memory bandwidth */
    enum topo_fabric fabric; /* of the links below */
    int links;               /* NVLink or XGMI links of one GPU; 0 none */
    double link_GBps;        /* of one link, one direction, as specified */
    int switched;            /* the usual baseboard puts them on NVSwitches */
    int multicast;           /* those switches reduce and multicast (NVLS) */
    double pcie_GTps;        /* its PCIe link per lane, */
    int pcie_width;          /* lanes */
    const char *source;      /* the document that says so */
};

extern const struct hw_gpu hw_gpus[];               /* ends with a NULL name */
const struct hw_gpu *hw_gpu_find(const char *name); /* exact, any case; NULL unknown */

/* The generation of a GPU in a topology: by its model's words, else by its architecture; NULL unknown. */
const struct hw_gpu *hw_gpu_of(const struct topo_class *c, const struct topo_gpu *gpu);

#endif
