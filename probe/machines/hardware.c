/* Specifications as tables, and which of them a device of a topology is. Bandwidths are those of the data sheets, one
 * direction; memory in powers of 1024, as the drivers report it, about. PCI devices: the PCI ID database. */

#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/edit_distance.h"
#include "core/json.h"
#include "core/units.h"
#include "probe/machines/machines_internal.h"

#define GIB(n) ((uint64_t)(n) << 30)
#define XGMI   TOPO_XGMI

/* Where a model comes in several sizes, the first row is the one that a bare architecture stands for. */
/* clang-format off */
/* Name, model, PCI device, sm, arch, memory, its GB/s, PCIe GT/s and lanes, source; then the links that it has. */
const struct hw_gpu hw_gpus[] = {
    {"p100-sxm2", "Tesla P100-SXM2-16GB", 0x15f9, 60, NULL, GIB(16), 732, 8, 16,
     "NVIDIA Tesla P100 whitepaper WP-08019", .links = 4, .link_GBps = 20},
    {"p100-pcie", "Tesla P100-PCIE-16GB", 0x15f8, 60, NULL, GIB(16), 732, 8, 16, "NVIDIA Tesla P100 PCIe data sheet"},
    {"v100-sxm2", "Tesla V100-SXM2-16GB", 0x1db1, 70, NULL, GIB(16), 900, 8, 16,
     "NVIDIA V100 data sheet; Volta whitepaper WP-08608", .links = 6, .link_GBps = 25},
    {"v100-sxm2-32", "Tesla V100-SXM2-32GB", 0x1db5, 70, NULL, GIB(32), 900, 8, 16,
     "NVIDIA V100 data sheet; Volta whitepaper WP-08608", .links = 6, .link_GBps = 25},
    {"v100-sxm3", "Tesla V100-SXM3-32GB", 0x1db8, 70, NULL, GIB(32), 900, 8, 16,
     "NVIDIA V100 data sheet; NVSwitch technical overview (DGX-2)", .links = 6, .link_GBps = 25, .switched = 6},
    {"v100-pcie", "Tesla V100-PCIE-16GB", 0x1db4, 70, NULL, GIB(16), 900, 8, 16, "NVIDIA V100 data sheet"},
    {"v100-pcie-32", "Tesla V100-PCIE-32GB", 0x1db6, 70, NULL, GIB(32), 900, 8, 16, "NVIDIA V100 data sheet"},
    {"t4", "Tesla T4", 0x1eb8, 75, NULL, GIB(16), 320, 8, 16, "NVIDIA T4 product brief"},
    {"a100-sxm", "NVIDIA A100-SXM4-40GB", 0x20b0, 80, NULL, GIB(40), 1555, 16, 16,
     "NVIDIA A100 data sheet; Ampere architecture whitepaper", .links = 12, .link_GBps = 25, .switched = 6},
    {"a100-sxm-80", "NVIDIA A100-SXM4-80GB", 0x20b2, 80, NULL, GIB(80), 2039, 16, 16,
     "NVIDIA A100 80GB data sheet; Ampere architecture whitepaper", .links = 12, .link_GBps = 25, .switched = 6},
    {"a800-sxm", "NVIDIA A800-SXM4-80GB", 0x20f3, 80, NULL, GIB(80), 2039, 16, 16,
     "NVIDIA A800 80GB data sheet: an A100 with 400 GB/s of NVLink", .links = 8, .link_GBps = 25, .switched = 6},
    {"a100-pcie", "NVIDIA A100-PCIE-40GB", 0x20f1, 80, NULL, GIB(40), 1555, 16, 16,
     "NVIDIA A100 PCIe product brief PB-10137", .link_GBps = 25},
    {"a100-pcie-80", "NVIDIA A100 80GB PCIe", 0x20b5, 80, NULL, GIB(80), 1935, 16, 16,
     "NVIDIA A100 80GB PCIe product brief PB-10577", .link_GBps = 25},
    {"a10g", "NVIDIA A10G", 0x2237, 86, NULL, GIB(24), 600, 16, 16, "NVIDIA A10 data sheet; AWS EC2 G5 instance page"},
    {"a10", "NVIDIA A10", 0x2236, 86, NULL, GIB(24), 600, 16, 16, "NVIDIA A10 data sheet"},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 0x2204, 86, NULL, GIB(24), 936, 16, 16,
     "NVIDIA Ampere GA102 GPU architecture whitepaper", .link_GBps = 14.0625, .no_p2p = 1},
    {"l40s", "NVIDIA L40S", 0x26b9, 89, NULL, GIB(48), 864, 16, 16, "NVIDIA L40S data sheet"},
    {"l40", "NVIDIA L40", 0x26b5, 89, NULL, GIB(48), 864, 16, 16, "NVIDIA L40 data sheet"},
    {"l4", "NVIDIA L4", 0x27b8, 89, NULL, GIB(24), 300, 16, 16, "NVIDIA L4 data sheet"},
    {"rtx6000ada", "NVIDIA RTX 6000 Ada Generation", 0x26b1, 89, NULL, GIB(48), 960, 16, 16,
     "NVIDIA RTX 6000 Ada Generation data sheet"},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 0x2684, 89, NULL, GIB(24), 1008, 16, 16,
     "NVIDIA Ada GPU architecture whitepaper", .no_p2p = 1},
    {"h100-sxm", "NVIDIA H100 80GB HBM3", 0x2330, 90, NULL, GIB(80), 3350, 32, 16,
     "NVIDIA H100 data sheet; Hopper architecture whitepaper", .links = 18, .link_GBps = 25, .switched = 4},
    {"h800-sxm", "NVIDIA H800", 0x2324, 90, NULL, GIB(80), 3350, 32, 16,
     "NVIDIA H800 data sheet: an H100 with 400 GB/s of NVLink", .links = 8, .link_GBps = 25, .switched = 4},
    {"h20", "NVIDIA H20", 0x2329, 90, NULL, GIB(96), 4000, 32, 16,
     "NVIDIA HGX H20 data sheet", .links = 18, .link_GBps = 25, .switched = 4},
    {"h100-pcie", "NVIDIA H100 PCIe", 0x2331, 90, NULL, GIB(80), 2039, 32, 16,
     "NVIDIA H100 PCIe product brief PB-11133", .link_GBps = 25},
    {"h100-nvl", "NVIDIA H100 NVL", 0x2321, 90, NULL, GIB(94), 3938, 32, 16,
     "NVIDIA H100 NVL product brief PB-11773", .links = 12, .link_GBps = 25, .bridge = 2},
    {"h200-sxm", "NVIDIA H200", 0x2335, 90, NULL, GIB(141), 4800, 32, 16,
     "NVIDIA H200 data sheet", .links = 18, .link_GBps = 25, .switched = 4},
    {"h200-nvl", "NVIDIA H200 NVL", 0x233b, 90, NULL, GIB(141), 4800, 32, 16,
     "NVIDIA H200 NVL product brief", .links = 18, .link_GBps = 25, .bridge = 4},
    {"gh200", "NVIDIA GH200 480GB", 0x2342, 90, NULL, GIB(96), 4000, 32, 16,
     "NVIDIA GH200 Grace Hopper Superchip data sheet", .c2c_GBps = 450},
    {"b200", "NVIDIA B200", 0x2901, 100, NULL, GIB(180), 8000, 32, 16,
     "NVIDIA DGX B200 data sheet; Blackwell architecture technical brief", .links = 18, .link_GBps = 50, .switched = 2},
    {"gb200", "NVIDIA GB200", 0x2941, 100, NULL, GIB(186), 8000, 32, 16,
     "NVIDIA GB200 NVL72 data sheet", .links = 18, .link_GBps = 50, .switched = 1, .domain_gpus = 72, .c2c_GBps = 225},
    {"b300", "NVIDIA B300 SXM6 AC", 0x3182, 103, NULL, GIB(270), 8000, 64, 16,
     "NVIDIA DGX B300 data sheet", .links = 18, .link_GBps = 50, .switched = 2},
    {"gb300", "NVIDIA GB300", 0x31c2, 103, NULL, GIB(279), 8000, 64, 16,
     "NVIDIA GB300 NVL72 data sheet", .links = 18, .link_GBps = 50, .switched = 1, .domain_gpus = 72, .c2c_GBps = 225},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 0x2bb5, 120, NULL, GIB(96), 1597, 32, 16,
     "NVIDIA RTX PRO 6000 Blackwell Server Edition data sheet"},
    {"gb10", "NVIDIA GB10", 0x2e12, 121, NULL, GIB(128), 273, 32, 16,
     "NVIDIA DGX Spark data sheet; assumed: 16 lanes of PCIe 5 to its CPU", .shares_memory = 1},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 0x2b85, 120, NULL, GIB(32), 1792, 32, 16,
     "NVIDIA RTX Blackwell GPU architecture whitepaper", .no_p2p = 1},
    {"mi50", "AMD Instinct MI50", 0x66a1, 0, "gfx906", GIB(32), 1024, 16, 16,
     "AMD Radeon Instinct MI50 data sheet", .link_kind = XGMI, .link_GBps = 46},
    {"mi100", "AMD Instinct MI100", 0x738c, 0, "gfx908", GIB(32), 1229, 16, 16,
     "AMD Instinct MI100 data sheet; CDNA whitepaper", .link_kind = XGMI, .links = 3, .link_GBps = 46, .bridge = 4},
    {"mi250x", "AMD Instinct MI250X", 0x7408, 0, "gfx90a", GIB(64), 1638, 16, 16,
     "AMD Instinct MI250X data sheet and CDNA 2 whitepaper, one of its two dies",
     .link_kind = XGMI, .links = 8, .link_GBps = 50},
    {"mi300x", "AMD Instinct MI300X", 0x74a1, 0, "gfx942", GIB(192), 5300, 32, 16,
     "AMD Instinct MI300X data sheet; CDNA 3 whitepaper", .link_kind = XGMI, .links = 7, .link_GBps = 64},
    {"mi300a", "AMD Instinct MI300A", 0x74a0, 0, "gfx942", GIB(128), 5300, 32, 16,
     "AMD Instinct MI300A data sheet; CDNA 3 whitepaper", .link_kind = XGMI, .links = 6, .link_GBps = 64},
    {"mi325x", "AMD Instinct MI325X", 0x74a5, 0, "gfx942", GIB(256), 6000, 32, 16,
     "AMD Instinct MI325X data sheet", .link_kind = XGMI, .links = 7, .link_GBps = 64},
    {"mi350x", "AMD Instinct MI350X", 0x75a0, 0, "gfx950", GIB(288), 8000, 32, 16,
     "AMD Instinct MI350X data sheet; CDNA 4 whitepaper", .link_kind = XGMI, .links = 7, .link_GBps = 76.8},
    {"mi355x", "AMD Instinct MI355X", 0x75a3, 0, "gfx950", GIB(288), 8000, 32, 16,
     "AMD Instinct MI355X data sheet; CDNA 4 whitepaper", .link_kind = XGMI, .links = 7, .link_GBps = 76.8},
    {.name = NULL},
};
/* clang-format on */

const struct hw_nic hw_nics[] = {
    {"connectx-4", "MT27700 Family [ConnectX-4]", 0x15b3, 0x1013, HW_VERBS, 200, 8, 16,
     "NVIDIA ConnectX-4 VPI product brief"},
    {"connectx-5", "MT27800 Family [ConnectX-5]", 0x15b3, 0x1017, HW_VERBS, 100, 8, 16,
     "NVIDIA ConnectX-5 VPI product brief"},
    {"connectx-5-ex", "MT28800 Family [ConnectX-5 Ex]", 0x15b3, 0x1019, HW_VERBS, 200, 16, 16,
     "NVIDIA ConnectX-5 VPI product brief"},
    {"connectx-6", "MT28908 Family [ConnectX-6]", 0x15b3, 0x101b, HW_VERBS, 200, 16, 16,
     "NVIDIA ConnectX-6 VPI data sheet"},
    {"connectx-6-dx", "MT2892 Family [ConnectX-6 Dx]", 0x15b3, 0x101d, HW_VERBS, 200, 16, 16,
     "NVIDIA ConnectX-6 Dx data sheet"},
    {"connectx-7", "MT2910 Family [ConnectX-7]", 0x15b3, 0x1021, HW_VERBS, 400, 32, 16, "NVIDIA ConnectX-7 data sheet"},
    {"connectx-8", "CX8 Family [ConnectX-8]", 0x15b3, 0x1023, HW_VERBS, 800, 64, 16,
     "NVIDIA ConnectX-8 SuperNIC data sheet"},
    {"bluefield-3", "MT43244 BlueField-3 integrated ConnectX-7 network controller", 0x15b3, 0xa2dc, HW_VERBS, 400, 32,
     16, "NVIDIA BlueField-3 DPU data sheet"},
    {"mlx5-vf", "ConnectX Family mlx5Gen Virtual Function", 0x15b3, 0x101e, HW_VERBS, 400, 32, 16,
     "PCI ID database: its card is not named"},
    {"thor2", "BCM57608 NetXtreme-E Ethernet", 0x14e4, 0x1760, HW_VERBS, 400, 32, 16,
     "Broadcom BCM57608 product brief"},
    {"efa1", "Elastic Fabric Adapter (EFA)", 0x1d0f, 0xefa0, HW_EFA, 100, 8, 16, "AWS EC2 P3dn and P4d instance pages"},
    {"efa2", "Elastic Fabric Adapter (EFA)", 0x1d0f, 0xefa1, HW_EFA, 100, 16, 8, "AWS EC2 P5 instance page"},
    {"efa3", "Elastic Fabric Adapter (EFA)", 0x1d0f, 0xefa2, HW_EFA, 200, 32, 8, "AWS EC2 P5en instance page"},
    {"efa4", "Elastic Fabric Adapter (EFA)", 0x1d0f, 0xefa3, HW_EFA, 400, 32, 16, "AWS EC2 P6 instance page"},
    {"cassini", "Slingshot 11 NIC", 0x17db, 0x0501, HW_CXI, 200, 16, 16, "HPE Slingshot interconnect data sheet"},
    {"gvnic", "Compute Engine Virtual Ethernet [gVNIC]", 0x1ae0, 0x0042, HW_TCPX, 200, 16, 16,
     "Google Cloud accelerator-optimized machine family"},
    {"ena", "Elastic Network Adapter (ENA)", 0x1d0f, 0xec20, HW_SOCKETS, 100, 8, 16, "AWS EC2 instance pages"},
    {"x550", "Ethernet Controller X550", 0x8086, 0x1563, HW_SOCKETS, 20, 8, 4,
     "Intel Ethernet Controller X550 data sheet"},
    {"e810", "Ethernet Controller E810-C for QSFP", 0x8086, 0x1592, HW_SOCKETS, 100, 16, 16,
     "Intel Ethernet Controller E810 data sheet"},
    {.name = NULL},
};

static int is_of_family(const struct hw_gpu *g, const char *family)
{
    size_t n = strlen(family);
    return !strncasecmp(g->name, family, n) && g->name[n] == '-';
}

const struct hw_gpu *hw_gpu_find(const char *name)
{
    const struct hw_gpu *only = NULL;
    int n = 0;
    for (const struct hw_gpu *g = hw_gpus; g->name; g++)
        if (!strcasecmp(g->name, name))
            return g;
        else if (is_of_family(g, name) && !n++)
            only = g;
    return n == 1 ? only : NULL;
}

const struct hw_nic *hw_nic_find(const char *name)
{
    for (const struct hw_nic *n = hw_nics; n->name; n++)
        if (!strcasecmp(n->name, name))
            return n;
    return NULL;
}

/* ---- which generation a device is: by its PCI device, by words in its model's name, by its architecture ---------- */

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
    {"* GB10", "gb10"},
    {"*[[]GB10]*", "gb10"},
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

static const struct hw_gpu *find_by_device(uint16_t vendor, uint16_t device)
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

static const struct hw_gpu *find_by_words(const char *model)
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
static const struct hw_gpu *find_by_architecture(const struct topo_gpu *gpu)
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
    const struct hw_gpu *found = find_by_device(o->vendor, o->device);
    return found ? found : find_by_words(o->model);
}

const struct hw_gpu *hw_gpu_of(const struct topo_class *c, const struct topo_gpu *gpu)
{
    const struct hw_gpu *found = hw_gpu_named(c, gpu);
    return found ? found : find_by_architecture(gpu);
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

static int is_beside_gpu(const struct topo_class *c, int object)
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
    if (topo_first_port(c, object) >= 0)
        return hw && (hw->transport == HW_EFA || hw->transport == HW_CXI) ? hw->transport : HW_VERBS;
    return hw && hw->transport == HW_TCPX && is_beside_gpu(c, object) ? HW_TCPX : HW_SOCKETS;
}

/* ---- the table of GPUs, for people ------------------------------------------------------------------------------- */

static const char *gpu_name_at(int i)
{
    return hw_gpus[i].name;
}

int hw_gpu_unknown(const char *name, struct err *e)
{
    const char *near = edit_distance_nearest(name, gpu_name_at, NULL);
    char family[256] = "";
    size_t used = 0;
    for (const struct hw_gpu *g = hw_gpus; g->name; g++)
        if (is_of_family(g, name) && used + strlen(g->name) + 3 < sizeof family)
            used += (size_t)snprintf(family + used, sizeof family - used, "%s%s", used ? ", " : "", g->name);
    if (*family)
        return err_set(e, ERR_USAGE, "'%.80s' can be any of %s", name, family);
    return err_set(e, ERR_USAGE, "'%.80s' is not a GPU known here%s%s%s; nccltune probe --list-gpus lists them", name,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static const char *name_link(const struct hw_gpu *g)
{
    return g->link_kind == TOPO_XGMI ? "XGMI" : "NVLink";
}

static void list_as_json(FILE *out)
{
    cJSON *all = cJSON_CreateArray();
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        cJSON *o = json_append(all);
        json_add_str(o, "name", g->name);
        json_add_str(o, "arch", g->arch);
        cJSON_AddNumberToObject(o, "mem_bytes", (double)g->mem_bytes);
        cJSON_AddNumberToObject(o, "mem_GBps", g->mem_GBps);
        if (g->links) {
            cJSON_AddNumberToObject(o, "links", g->links);
            json_add_str(o, "link", name_link(g));
            cJSON_AddNumberToObject(o, "link_GBps", g->link_GBps);
        }
        json_add_str(o, "source", g->source);
    }
    json_print(all, out);
}

void hw_gpu_list(int json, FILE *out)
{
    char size[UNIT_TEXT];
    if (json) {
        list_as_json(out);
        return;
    }
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        fprintf(out, "%-14s %-8s %8s  %5.0f GB/s", g->name, g->arch ? g->arch : "", unit_bytes(size, g->mem_bytes),
                g->mem_GBps);
        if (g->links)
            fprintf(out, "  %2d %s of %g GB/s", g->links, name_link(g), g->link_GBps);
        fputc('\n', out);
        fprintf(out, "%15s%s\n", "", g->source);
    }
}
