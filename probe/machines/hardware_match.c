/* Which generation a device of a topology is: by its PCI device, by words in its model's name, by its architecture. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "probe/machines/hardware.h"

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de };

/* Further PCI devices of the same silicon: other memory sizes, other markets, virtual functions. */
static const struct {
    uint16_t device;
    const char *name;
} more_devices[] = {
    {0x1db3, "v100-pcie"},    {0x1db7, "v100-sxm2-32"}, {0x20b3, "a100-sxm-80"}, {0x20bd, "a800-sxm"},
    {0x20f5, "a100-pcie-80"}, {0x2322, "h100-pcie"},    {0x2337, "h100-sxm"},    {0x2339, "h100-sxm"},
    {0x2348, "gh200"},        {0x2920, "b200"},         {0x29bc, "b200"},        {0x26ba, "l40s"},
    {0x740c, "mi250x"},       {0x66a0, "mi50"},         {0x738e, "mi100"},       {0x74a9, "mi300x"},
    {0x74b5, "mi300x"},       {0x74bd, "mi300x"},       {0x74b9, "mi325x"},      {0x75b0, "mi350x"},
    {0x75b3, "mi355x"},
};

/* Words in models as NVML, the drivers of AMD and the PCI ID database write them. The first that matches decides:
 * the silicon of an H200 is called GH100. */
static const struct {
    const char *pattern, *name;
} words[] = {
    {"*P100*SXM2*", "p100-sxm2"},
    {"*P100*PCI*", "p100-pcie"},
    {"*V100*SXM3*", "v100-sxm3"},
    {"*V100*SXM2*32*", "v100-sxm2-32"},
    {"*V100*SXM2*", "v100-sxm2"},
    {"*V100*PCI*32*", "v100-pcie-32"},
    {"*V100*PCI*", "v100-pcie"},
    {"*Tesla T4*", "t4"},
    {"*A800*SXM*", "a800-sxm"},
    {"*A100*SXM4*[86]*0GB*", "a100-sxm-80"},
    {"*A100*SXM*", "a100-sxm"},
    {"*A[18]00*80*PCI*", "a100-pcie-80"},
    {"*A[18]00*PCI*80*", "a100-pcie-80"},
    {"*A[18]00*PCI*", "a100-pcie"},
    {"*A10G*", "a10g"},
    {"*L40S*", "l40s"},
    {"* L40", "l40"},
    {"*[[]L40]*", "l40"},
    {"* L4", "l4"},
    {"*[[]L4]*", "l4"},
    {"* A10", "a10"},
    {"*[[]A10]*", "a10"},
    {"*RTX 6000 Ada*", "rtx6000ada"},
    {"*RTX 3090*", "rtx3090"},
    {"*RTX 4090*", "rtx4090"},
    {"*RTX PRO 6000*", "rtxpro6000"},
    {"*RTX 5090*", "rtx5090"},
    {"*GH200*", "gh200"},
    {"*H200*NVL*", "h200-nvl"},
    {"*H200*", "h200-sxm"},
    {"*H100*NVL*", "h100-nvl"},
    {"*H[18]00*PCI*", "h100-pcie"},
    {"*H100*SXM*", "h100-sxm"},
    {"*H100*HBM3*", "h100-sxm"},
    {"*H800*SXM*", "h800-sxm"},
    {"*H800", "h800-sxm"},
    {"*[[]H800]*", "h800-sxm"},
    {"* H20", "h20"},
    {"*[[]H20]*", "h20"},
    {"*GB200*", "gb200"},
    {"*GB300*", "gb300"},
    {"*B200*", "b200"},
    {"*B300*", "b300"},
    {"*MI50*", "mi50"},
    {"*MI100*", "mi100"},
    {"*MI250*", "mi250x"},
    {"*MI300X*", "mi300x"},
    {"*MI300A*", "mi300a"},
    {"*MI325X*", "mi325x"},
    {"*MI350X*", "mi350x"},
    {"*MI355X*", "mi355x"},
};

uint16_t hw_gpu_vendor(const struct hw_gpu *g)
{
    return g->arch ? VENDOR_AMD : VENDOR_NVIDIA;
}

static const struct hw_gpu *by_device(uint16_t vendor, uint16_t device)
{
    for (const struct hw_gpu *g = hw_gpus; g->name; g++)
        if (device && g->device == device && hw_gpu_vendor(g) == vendor)
            return g;
    for (size_t i = 0; i < sizeof more_devices / sizeof *more_devices; i++) {
        const struct hw_gpu *g = more_devices[i].device == device ? hw_gpu_find(more_devices[i].name) : NULL;
        if (g && hw_gpu_vendor(g) == vendor)
            return g;
    }
    return NULL;
}

static const struct hw_gpu *by_words(const char *model)
{
    for (size_t i = 0; model && i < sizeof words / sizeof *words; i++)
        if (!fnmatch(words[i].pattern, model, FNM_CASEFOLD))
            return hw_gpu_find(words[i].name);
    return NULL;
}

/* How far the memory of two GPUs is apart, as a share; 0 when it is not known. */
static double memory_apart(const struct topo_gpu *gpu, const struct hw_gpu *g)
{
    return gpu->mem_bytes ? fabs((double)gpu->mem_bytes / (double)g->mem_bytes - 1) : 0;
}

/* The one with that much memory, about; the first where it is not known. */
static const struct hw_gpu *by_architecture(const struct topo_gpu *gpu)
{
    const double counted_otherwise = 0.05;
    /* gfx940 was what MI300 called itself before it was sold. */
    const char *arch = gpu->arch && !strncmp(gpu->arch, "gfx94", 5) ? "gfx942" : gpu->arch;
    const struct hw_gpu *best = NULL;
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        int same = arch ? g->arch && !strcmp(g->arch, arch) : gpu->sm > 0 && g->sm == gpu->sm;
        if (same && (!best || memory_apart(gpu, g) + counted_otherwise < memory_apart(gpu, best)))
            best = g;
    }
    return best;
}

const struct hw_gpu *hw_gpu_named(const struct topo_class *c, const struct topo_gpu *gpu)
{
    const struct topo_object *o = &c->objects[gpu->object];
    const struct hw_gpu *found = by_device(o->vendor, o->device);
    return found ? found : by_words(o->model);
}

const struct hw_gpu *hw_gpu_of(const struct topo_class *c, const struct topo_gpu *gpu)
{
    const struct hw_gpu *found = hw_gpu_named(c, gpu);
    return found ? found : by_architecture(gpu);
}

const struct hw_nic *hw_nic_of(const struct topo_object *nic)
{
    for (const struct hw_nic *n = hw_nics; n->name; n++)
        if (nic->vendor == n->vendor && nic->device == n->device)
            return n;
    for (const struct hw_nic *n = hw_nics; n->name && nic->model; n++) {
        const char *bracket = strchr(n->model, '[');
        if (!strcmp(n->model, nic->model) || (bracket && strstr(nic->model, bracket)))
            return n;
    }
    return NULL;
}

static int has_port(const struct topo_class *c, int object)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object == object)
            return 1;
    return 0;
}

static int beside_gpu(const struct topo_class *c, int object)
{
    int parent = c->objects[object].parent;
    for (int i = 0; i < c->ngpus && parent >= 0 && c->objects[parent].kind == TOPO_SWITCH; i++)
        if (c->objects[c->gpus[i].object].parent == parent)
            return 1;
    return 0;
}

enum hw_transport hw_transport_of(const struct topo_class *c, int object)
{
    const struct hw_nic *hw = hw_nic_of(&c->objects[object]);
    if (has_port(c, object))
        return hw && (hw->transport == HW_EFA || hw->transport == HW_CXI) ? hw->transport : HW_VERBS;
    return hw && hw->transport == HW_TCPX && beside_gpu(c, object) ? HW_TCPX : HW_SOCKETS;
}
