/* The numbers of the prediction. bench/MODEL.md says what each does and which were fitted to published results. */
#include "bench/model_constants.h"

#include <string.h>

#include "probe/hardware.h"

/* clang-format off */

/* link_efficiency: NCCL's NVLink bandwidth of the generation over the specification's (SM70_NVLINK_BW … in
 * src/graph/topo.h, 2.28.9: 20 of 25, 20.6 of 25, 40.1 of 50 GB/s). nvls_efficiency: the same times nvlsEfficiency of
 * src/graph/tuning.cc. channel_GBps: perChMaxRingLL128Bws and llMaxBws there. hop_us: hwLatencies there, row NVLINK,
 * LL, LL128, Simple; row PCI where the generation has no links. issue_us, start_us, nvls_us: fitted. */
static const struct model_gpu gpus[] = {
    {"Pascal",    60,  NULL,  0.90,  0,     {2.5, 0,    10}, 18, 45, 7.0, {0.6, 1.9, 3.4}, 0},
    {"Volta",     70,  NULL,  0.80,  0,     {2.5, 20,   22}, 18, 45, 7.0, {0.6, 1.9, 3.4}, 0},
    {"Ampere",    80,  NULL,  0.80,  0,     {4.0, 20,   22}, 28, 50, 7.0, {0.6, 1.9, 3.4}, 0},
    {"Ada",       86,  NULL,  0.80,  0,     {4.0, 20,   22}, 20, 45, 7.0, {1.0, 2.5, 5.7}, 0},
    {"Hopper",    90,  NULL,  0.824, 0.70,  {9.0, 36.7, 44}, 12, 35, 7.0, {0.6, 1.6, 3.4}, 12},
    {"Blackwell", 100, NULL,  0.80,  0.594, {18,  40.0, 60}, 12, 35, 7.0, {0.6, 1.4, 3.4}, 12},
    {"CDNA 2",    0, "gfx90", 0.72,  0,     {4.0, 0,    22}, 20, 50, 9.0, {1.2, 2.5, 5.0}, 0},
    {"CDNA 3",    0, "gfx94", 0.72,  0,     {6.0, 12,   25}, 20, 50, 9.0, {1.2, 2.5, 5.0}, 0},
    {"CDNA 4",    0, "gfx95", 0.72,  0,     {6.0, 12,   25}, 20, 50, 9.0, {1.2, 2.5, 5.0}, 0},
};

const struct model_net model_nets[MODEL_NET_KINDS] = {
    [MODEL_NET_INFINIBAND] = {"InfiniBand",      0.94, 0,   {9,   10,  16},  0.5, 0},
    [MODEL_NET_ROCE]       = {"RoCE",            0.92, 0,   {11,  12,  18},  0.5, 0},
    [MODEL_NET_EFA]        = {"EFA",             0.88, 0,   {70,  72,  80},  1.2, 0},
    [MODEL_NET_EFA_2]      = {"EFA",             0.90, 0,   {27,  28,  34},  1.2, 0},
    [MODEL_NET_TCPX]       = {"GPUDirect-TCPX",  0.76, 0,   {40,  40,  40},  0.1, 940},
    [MODEL_NET_TCPXO]      = {"GPUDirect-TCPXO", 0.92, 0,   {55,  57,  65},  1.2, 0},
    [MODEL_NET_SLINGSHOT]  = {"Slingshot",       0.92, 0,   {12,  13,  20},  0.5, 0},
    [MODEL_NET_SOCKETS]    = {"TCP sockets",     0.90, 3.2, {32,  34,  40},  1.0, 0},
};

const struct model_common model_common = {
    .proto_efficiency = {0.5, 0.92, 1},
    .pcie_efficiency = 0.85,
    .tree_efficiency = 0.92,
    .leave_efficiency = 0.90,
    .host_GBps = 100,
    .host_hop_us = 6,
    .leaf_us = 1.5,
    .node_fill = 0.6,
    .fill_most = 6,
    .peer_us = 0.3,
    .band = 1.5,
    .unknown_band = 1.6,
    .node_band = 1.1,
};
/* clang-format on */

enum { GPUS = sizeof gpus / sizeof *gpus };

const struct model_gpu *model_gpu_at(int i)
{
    return i >= 0 && i < GPUS ? &gpus[i] : NULL;
}

const struct model_gpu *model_gpu_of(const struct topo_class *c, const char **assumed)
{
    int sm = 0;
    const char *arch = NULL;
    *assumed = NULL;
    for (int i = 0; i < c->ngpus; i++) {
        const struct hw_gpu *hw = hw_gpu_of(c, &c->gpus[i]);
        int own = c->gpus[i].sm ? c->gpus[i].sm : hw ? hw->sm : 0;
        sm = own && (!sm || own < sm) ? own : sm;
        arch = c->gpus[i].arch ? c->gpus[i].arch : hw && hw->arch ? hw->arch : arch;
    }
    const struct model_gpu *found = NULL;
    for (int i = 0; i < GPUS; i++)
        if (sm ? gpus[i].sm && gpus[i].sm <= sm
               : arch && gpus[i].arch && !strncmp(arch, gpus[i].arch, strlen(gpus[i].arch)))
            found = &gpus[i];
    if (found)
        return found;
    if (arch) {
        *assumed = "the generation of its GPUs is not known: CDNA 3 was assumed";
        return &gpus[GPUS - 2];
    }
    *assumed = "the generation of its GPUs is not known: Ampere was assumed";
    return &gpus[2];
}

/* A NIC for every GPU is what Google calls A3 Mega, with the later of its two transports. */
static enum model_net_kind tcpx_of(const struct topo_class *c, const struct hw_nic *own)
{
    int nics = 0;
    for (int i = 0; i < c->nobjects; i++)
        nics += c->objects[i].kind == TOPO_NIC && hw_nic_of(&c->objects[i]) == own;
    return nics >= c->ngpus ? MODEL_NET_TCPXO : MODEL_NET_TCPX;
}

enum model_net_kind model_net_kind_of(const struct topo_class *c, int object, int port, const char **assumed)
{
    *assumed = NULL;
    const struct hw_nic *hw = object >= 0 ? hw_nic_of(&c->objects[object]) : NULL;
    if (hw && hw->transport == HW_TCPX)
        return tcpx_of(c, hw);
    if (hw && hw->transport == HW_CXI)
        return MODEL_NET_SLINGSHOT;
    if (hw && hw->transport == HW_EFA)
        return strcmp(hw->name, "efa1") ? MODEL_NET_EFA_2 : MODEL_NET_EFA;
    if (port < 0)
        return MODEL_NET_SOCKETS;
    if (c->ports[port].layer == TOPO_LINK_ETHERNET)
        return MODEL_NET_ROCE;
    if (c->ports[port].layer != TOPO_LINK_INFINIBAND)
        *assumed = "what kind of network it is on is not known: InfiniBand was assumed";
    return MODEL_NET_INFINIBAND;
}

/* NCCL's SKL_QPI_BW, SRP_QPI_BW, AMD_BW and the rest in src/graph/topo.h: about what copies through the CPUs reach,
 * far below what the links are specified for. */
double model_socket_GBps(const struct topo_class *c)
{
    static const struct {
        const char *vendor;
        int model; /* Intel family 6: from that model on */
        double GBps;
    } sockets[] = {{"", 0, 6},
                   {"GenuineIntel", 0, 6},
                   {"GenuineIntel", 85, 10},
                   {"GenuineIntel", 143, 22},
                   {"GenuineIntel", 207, 40},
                   {"AuthenticAMD", 0, 16}};
    int model = 0;
    const char *slash = c->cpu ? strchr(c->cpu, '/') : NULL;
    for (const char *p = slash ? slash + 1 : ""; *p >= '0' && *p <= '9' && model < 1000; p++)
        model = model * 10 + *p - '0';
    double GBps = 0;
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        if (strstr(c->cpu ? c->cpu : "", sockets[i].vendor) && model >= sockets[i].model)
            GBps = sockets[i].GBps;
    return GBps;
}
