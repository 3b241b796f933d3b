/* The numbers of the prediction. doc/MODEL.md says what each does and which were fitted to published results. */
#include "model/constants.h"

#include <math.h>

#include <string.h>

#include "probe/machines/hardware.h"

/* clang-format off */

/* Efficiency of links: NCCL's bandwidth of a generation's NVLink over the specification's (SM80_NVLINK_BW and so on in
 * src/graph/topo.h, 2.28.9: 20 of 25 GB/s, 20.6 of 25, 40.1 of 50); Volta and CDNA 3 fitted. Of NVLS: the same times
 * nvlsEfficiency of src/graph/tuning.cc, which was fitted for Hopper (0.70 there). Channels: near perChMaxRingLL128Bws
 * and llMaxBws there. Hops: hwLatencies there, row NVLINK; LL128 of Hopper and Blackwell fitted. The rest was fitted,
 * where there were results: Ampere and Hopper; Pascal, Volta and Ada follow Ampere, Blackwell follows Hopper, RTX
 * PRO, GeForce and GB10 follow Blackwell. */
static const struct model_gpu gpus[] = {
    /*            sm   arch    links  NVLS   GB/s of a channel  peer  start hops              net fill  NVLS,
                               efficiency    LL  LL128 Simple               LL   LL128 Simple           fill */
    {"Pascal",    60,  NULL,   0.90,  0,     {4,   0,    12},   0.9,   7.0,  {0.6, 1.9, 3.4},  0,  0.60, 0,  0, MODEL_FOLLOWS},
    {"Volta",     70,  NULL,   0.86,  0,     {4,   20,   22},   0.9,   7.0,  {0.6, 1.9, 3.4},  0,  0.60, 0,  0, MODEL_FITTED},
    {"Ampere",    80,  NULL,   0.80,  0,     {6,   20,   22},   1.3,   7.0,  {0.6, 1.9, 3.4},  0,  0.60, 0,  0, MODEL_FITTED},
    {"Ada",       86,  NULL,   0.80,  0,     {6,   20,   22},   0.9,   7.0,  {0.6, 1.9, 3.4},  0,  0.60, 0,  0, MODEL_FITTED},
    {"Hopper",    90,  NULL,   0.824, 0.69,  {16,  36.7, 44},   0.5,   7.0,  {0.6, 1.6, 3.4},  0,  0.09, 12, 10, MODEL_FITTED},
    {"Blackwell", 100, NULL,   0.802, 0.594, {18,  40.0, 60},   0.5,   7.0,  {0.6, 1.4, 3.4},  0,  0.10, 12, 10, MODEL_FITTED},
    {"Blackwell RTX", 120, NULL, 0.802, 0, {18,  40.0, 60},   0.5,   7.0,  {0.6, 1.4, 3.4},  0,  0.10, 0,  0, MODEL_FOLLOWS},
    {"CDNA 2",    0, "gfx90",  0.70,  0,     {4,   0,    22},   0.9,   7.0,  {0.5, 1.0, 3.0},  90, 0.22, 0,  0, MODEL_FOLLOWS},
    {"CDNA 3",    0, "gfx94",  0.70,  0,     {10,  30,   40},   0.9,   7.0,  {0.5, 1.0, 3.0},  90, 0.22, 0,  0, MODEL_FITTED},
    {"CDNA 4",    0, "gfx95",  0.70,  0,     {10,  30,   40},   0.9,   7.0,  {0.5, 1.0, 3.0},  90, 0.22, 0,  0, MODEL_FOLLOWS},
};

/* All fitted to published results, of these NICs, but Slingshot, which follows InfiniBand. Bare RoCE waits as InfiniBand
 * does: a number of its own predicts machines that are left out worse. LL128 and Simple wait for one more flag and for
 * one more message than LL. */
const struct model_net model_nets[MODEL_NET_KINDS] = {
    /*                                        efficiency   hops LL, LL128, Simple   idle */
    [MODEL_NET_INFINIBAND]   = {"InfiniBand",      0.95,     {12, 12, 15},            0, MODEL_FITTED,
                                {"connectx-6", "connectx-7"}},
    [MODEL_NET_ROCE]         = {"RoCE",            0.95,     {12, 12, 15},            0, MODEL_FITTED,
                                {"connectx-5-ex", "connectx-7", "thor2"}},
    [MODEL_NET_ROCE_VIRTUAL] = {"RoCE",            0.87,     {37, 38, 41},            0, MODEL_FITTED,
                                {"connectx-7"}},
    [MODEL_NET_EFA]          = {"EFA",             0.86,     {85, 87, 89},            0, MODEL_FITTED, {"efa1"}},
    [MODEL_NET_EFA_2]        = {"EFA",             0.92,     {33, 34, 36},            0, MODEL_FITTED, {"efa2"}},
    [MODEL_NET_TCPX]         = {"GPUDirect-TCPX",  0.73,     {20, 21, 24},            940, MODEL_FITTED, {"gvnic"}},
    [MODEL_NET_TCPXO]        = {"GPUDirect-TCPXO", 0.93,     {54, 56, 57},            0, MODEL_FITTED, {"gvnic"}},
    [MODEL_NET_SLINGSHOT]    = {"Slingshot",       0.92,     {12, 12, 15},            0, MODEL_FOLLOWS, {NULL}},
    [MODEL_NET_SOCKETS]      = {"TCP sockets",     0.90,     {30, 32, 36},            0, MODEL_FITTED, {NULL}},
};

const struct model_common model_common = {
    .proto_efficiency = {0.5, 0.92, 1}, /* LL: 8 of 16 bytes are flags; LL128: 120 of 128 less NCCL's own 2 % */
    .proto_fill = {0.15, 0.8, 1},       /* fitted */
    .pcie_efficiency = 0.85,            /* headers of 256-byte payloads, as the PCIe specification has them */
    .issue_us = 4.3,                    /* fitted: 8 A100 and 4 L40S, each of one process */
    .issue_channel_us = 0.2,            /* fitted: 8 A100 of one process before 2.14; none with 2.29 */
    .tcp_GBps = 1.7,                    /* fitted: IPoIB, both directions at once */
    .tcp_cloud_GBps = 6.8,              /* assumed: four times that */
    .tree_efficiency = 0.97,            /* fitted */
    .nvls_tree_efficiency = 0.94,       /* fitted */
    .nvls_gpus = 8,                     /* HGX */
    .host_GBps = 58,                    /* assumed: part of a socket's memory channels */
    .pcie_hop_us = {0.7, 2.5, 5.7},     /* LL fitted, LL128 assumed, Simple: hwLatencies, row PCI */
    .shm_us = 0.9,                      /* assumed */
    .bounce_us = 8,                     /* assumed */
    .leaf_us = 1.5,                     /* two more switches and cables */
    .tree_fill = 0.75,                  /* fitted */
    .parts_fill = 0.7,                  /* fitted: A100, V100; over PCIe none: four L40S */
    .ring_fill = 0.15,                  /* fitted */
    .fill_most = 6,                     /* fitted */
    .nccl_part = 0.5,                   /* fitted, as the next */
    .nccl_short = 1.4,
    .peer_us = 0.3,                     /* assumed */
};
/* clang-format on */

/* Judgement: nccl-tests starts one process for all GPUs of a node unless mpirun or srun starts more, which they do on
 * several nodes. */
const double model_launchers[2][MODEL_LAUNCHERS] = {
    {[MODEL_LAUNCH_PROCESS] = 0.80, [MODEL_LAUNCH_NODE] = 0.15, [MODEL_LAUNCH_GRAPH] = 0.05},
    {[MODEL_LAUNCH_PROCESS] = 0.90, [MODEL_LAUNCH_NODE] = 0.07, [MODEL_LAUNCH_GRAPH] = 0.03}};

enum { GPUS = sizeof gpus / sizeof *gpus };

/* The generation that as many links fit: 18 of Hopper, 12 of Ampere, 6 of Volta (its data sheets in hardware.c). */
static const struct model_gpu *assume_by_links(const struct topo_class *c, const char **assumed)
{
    static const struct {
        const char *name, *because;
    } generations[] = {{"CDNA 3", ""},
                       {"Hopper", ", as they have more than 12 NVLinks"},
                       {"Volta", ", as they have 6 NVLinks"},
                       {"Ampere", ""}};
    int most = 0, amd = c->ngpus && c->gpus[0].arch, i = 0;
    for (int k = 0; k < c->ngpus; k++)
        most = topo_count_links(c, k) > most ? topo_count_links(c, k) : most;
    for (int k = 0; k < c->nlinks; k++)
        amd |= c->links[k].link_kind == TOPO_XGMI;
    int g = amd ? 0 : most > 12 ? 1 : most == 6 ? 2 : 3;
    *assumed = generations[g].because;
    while (strcmp(gpus[i].name, generations[g].name) != 0)
        i++;
    return &gpus[i];
}

static int starts(const char *s, const char *with)
{
    return s && with && !strncmp(s, with, strlen(with));
}

/* Where GPUs differ, the oldest counts. */
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
        if (sm ? gpus[i].sm && gpus[i].sm <= sm : starts(arch, gpus[i].arch))
            found = &gpus[i];
    return found ? found : assume_by_links(c, assumed);
}

/* A NIC beside every GPU is what Google calls A3 Mega, with the later of its two transports. */
static enum model_net_kind tcpx_of(const struct topo_class *c, const struct hw_nic *own)
{
    int nics = 0;
    for (int i = 0; i < c->nobjects; i++) {
        int parent = c->objects[i].parent;
        nics += c->objects[i].kind == TOPO_NIC && parent >= 0 && c->objects[parent].kind == TOPO_SWITCH &&
                hw_nic_of(&c->objects[i]) == own;
    }
    return nics >= c->ngpus ? MODEL_NET_TCPXO : MODEL_NET_TCPX;
}

enum model_net_kind model_net_kind_of(const struct topo_class *c, const struct nccl_net *net, const char **assumed)
{
    *assumed = NULL;
    const struct hw_nic *hw = net->object >= 0 ? hw_nic_of(&c->objects[net->object]) : NULL;
    if (net->port < 0)
        return net->gdr && hw && hw->transport == HW_TCPX ? tcpx_of(c, hw) : MODEL_NET_SOCKETS;
    if (hw && hw->transport == HW_CXI)
        return MODEL_NET_SLINGSHOT;
    if (hw && hw->transport == HW_EFA)
        return strcmp(hw->name, "efa1") ? MODEL_NET_EFA_2 : MODEL_NET_EFA;
    if (c->ports[net->port].layer == TOPO_LINK_ETHERNET)
        return c->hypervisor && strcmp(c->hypervisor, "none") != 0 ? MODEL_NET_ROCE_VIRTUAL : MODEL_NET_ROCE;
    if (c->ports[net->port].layer != TOPO_LINK_INFINIBAND)
        *assumed = "InfiniBand";
    return MODEL_NET_INFINIBAND;
}

/* A NIC that nobody can name counts as those of its kind do. */
enum model_evidence model_net_evidence(enum model_net_kind kind, const struct topo_class *c, const struct nccl_net *net)
{
    const struct model_net *n = &model_nets[kind];
    const struct hw_nic *hw = net->object >= 0 ? hw_nic_of(&c->objects[net->object]) : NULL;
    int known = !n->nics[0] || !hw || !strcmp(hw->name, "mlx5-vf");
    for (int i = 0; i < (int)(sizeof n->nics / sizeof *n->nics) && n->nics[i] && !known; i++)
        known = !strcmp(n->nics[i], hw->name);
    return known ? n->evidence : MODEL_FOLLOWS;
}

/* NCCL opens 16 sockets a connection on Amazon's adapters and 4 on Google's, else one (src/transport/net_socket.cc);
 * Slingshot's large frames cost the kernel half. */
double model_tcp_GBps(const struct topo_class *c, const struct nccl_net *net)
{
    enum { AMAZON = 0x1d0f, GOOGLE = 0x1ae0 };
    const struct hw_nic *hw = net->object >= 0 ? hw_nic_of(&c->objects[net->object]) : NULL;
    int vendor = net->object >= 0 ? c->objects[net->object].vendor : 0;
    return vendor == AMAZON || vendor == GOOGLE ? model_common.tcp_cloud_GBps
           : hw && hw->transport == HW_CXI      ? 2 * model_common.tcp_GBps
                                                : model_common.tcp_GBps;
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

/* ---- doubt ---- */

/* Variance components of the errors against published results, by maximum likelihood under Student's t, of predictions
 * whose constants were fitted without the machine, its maker or its generation of GPUs (refit_doubts in
 * tests/lib/refit.c; doc/MODEL.md has how far each estimate moves), but launch, which one sandbox makes 0.6. What
 * follows relatives or is assumed is wider by judgement: there is little to estimate it from. */
const struct model_doubts model_doubts = {
    .part =
        {/* launch, hops, links, hops between nodes, links between nodes */
         [MODEL_FITTED] = {0.40, 0.46, 0.12, 0.45, 0.11},
         [MODEL_FOLLOWS] = {0.50, 0.60, 0.25, 1.00, 0.25},
         [MODEL_UNKNOWN] = {0.70, 0.90, 0.80, 1.00, 0.80}},
    .pcie_links = 0.50, /* 0.28 of two machines, times Student's quantile (two degrees) over the normal one */
    .socket_links = 0.20,
    .wait = 0.15,
    .socket_wait = 0.50, /* calls through kernels scatter by themselves */
    .carry = 0.07,
    .between = 0.25,
};

const char *const model_part_names[MODEL_PARTS] = {"launch", "hops", "links", "net_hops", "net_links"};

struct model_prior model_prior_of(const struct model_basis *b)
{
    const struct model_doubts *d = &model_doubts;
    struct model_prior p = {.wait = b->sockets ? d->socket_wait : d->wait, .carry = d->carry};
    for (int i = 0; i < MODEL_PARTS; i++) {
        int known = 1u << i & MODEL_NET_PARTS ? b->net : b->gpu;
        p.part[i] = d->part[b->assumed >> i & 1 ? MODEL_UNKNOWN : known][i];
    }
    for (int i = MODEL_LINKS; b->pcie && i <= MODEL_NET_LINKS; i += MODEL_NET_LINKS - MODEL_LINKS)
        p.part[i] = hypot(p.part[i], d->pcie_links); /* what goes to a NIC shares those links */
    if (b->sockets)
        p.part[MODEL_NET_LINKS] = hypot(p.part[MODEL_NET_LINKS], d->socket_links);
    return p;
}

double model_rest(const struct model_prior *p, const double share[MODEL_PARTS])
{
    double carried = share[MODEL_LINKS] + share[MODEL_NET_LINKS];
    return sqrt(carried * p->carry * p->carry + (1 - carried) * p->wait * p->wait);
}

double model_between(const double share[MODEL_PARTS])
{
    double carried = share[MODEL_LINKS] + share[MODEL_NET_LINKS];
    return 2 * sqrt(fmax(carried * (1 - carried), 0));
}
