/* Links are the specification's, reduced to payload by the constants. What is not known does not limit, unless the
 * generation's specification helps out: a wrong limit misleads more than none. Copies take the ways that NCCL gives
 * them: NVLink before PCIe, PCIe between devices as far as switches reach, host memory beyond; towards a far NIC by an
 * NVLink peer that is near it. */
#include "model/links.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/machines/hardware.h"
#include "probe/topology/topology.h"

void model_note(struct model_notes *n, unsigned parts, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    n->parts |= parts;
    for (int i = 0; i < n->n; i++)
        if (!strcmp(n->texts[i], text))
            return;
    if (n->n < MODEL_MOST_NOTES)
        n->texts[n->n++] = arena_strdup(n->arena, text);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

static int *indices(struct arena *a, int n)
{
    int *p = arena_alloc(a, (size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = -1;
    return p;
}

static int add_link(struct model_links *l, double GBps, const char *what, const char *whose)
{
    struct model_link *k = &l->links[l->n];
    snprintf(k->name, sizeof k->name, "%s%s", what, whose ? whose : "");
    k->GBps = GBps;
    return l->n++;
}

static const char *name_of(const struct topo_class *c, int object)
{
    int port = topo_first_port(c, object);
    const struct topo_object *o = &c->objects[object];
    return port >= 0 ? c->ports[port].hca : o->name ? o->name : o->pci ? o->pci : "a switch";
}

/* Below it are virtual bridges, which show 2.5 GT/s with one lane whatever they pass. */
#define MADE_UP_GBps 0.25

/* A link that is slower than it could be is taken as it is when lanes are missing; its speed falls when it is idle. */
static double object_GBps(const struct topo_class *c, int object, const struct topo_gpu *gpu)
{
    const struct topo_object *o = &c->objects[object];
    if (o->link_max_GTps > 0 && o->link_width > 0 && o->link_GTps > 0 && o->link_GTps < o->link_max_GTps &&
        o->kind == TOPO_GPU)
        return pci_GBps(o->link_max_GTps, o->link_width);
    if (o->link_GBps > MADE_UP_GBps)
        return o->link_GBps;
    const struct hw_gpu *hw = gpu ? hw_gpu_of(c, gpu) : NULL;
    return hw ? pci_GBps(hw->pcie_GTps, hw->pcie_width) : 0;
}

static void add_pcie(struct model_links *l, struct arena *a)
{
    const struct topo_class *c = l->c;
    l->pcie_up = indices(a, c->nobjects);
    l->pcie_down = indices(a, c->nobjects);
    l->memory = indices(a, c->nobjects);
    l->socket_out = indices(a, c->nobjects);
    l->socket_in = indices(a, c->nobjects);
    double socket = model_socket_GBps(c);
    const struct hw_gpu *hw = c->ngpus ? hw_gpu_of(c, &c->gpus[0]) : NULL;
    double memory = hw && hw->shares_memory ? hw->mem_GBps : model_common.host_GBps;
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_gpu *gpu = NULL;
        for (int k = 0; k < c->ngpus; k++)
            if (c->gpus[k].object == i)
                gpu = &c->gpus[k];
        double GBps = object_GBps(c, i, gpu) * model_common.pcie_efficiency;
        if (GBps > 0) {
            l->pcie_up[i] = add_link(l, GBps, "PCIe of ", name_of(c, i));
            l->pcie_down[i] = add_link(l, GBps, "PCIe of ", name_of(c, i));
        }
        if (c->objects[i].parent < 0) {
            l->memory[i] = add_link(l, memory, "host memory", NULL);
            l->socket_out[i] = add_link(l, socket, "the link between sockets", NULL);
            l->socket_in[i] = add_link(l, socket, "the link between sockets", NULL);
        }
    }
}

static double link_GBps(const struct model_links *l, const struct topo_link *k, struct model_notes *notes)
{
    if (k->GBps > 0)
        return k->GBps;
    const struct hw_gpu *hw = hw_gpu_of(l->c, &l->c->gpus[k->gpu]);
    double each = hw && hw->link_GBps > 0 ? hw->link_GBps : 25;
    model_note(notes, 1u << MODEL_LINKS, "the bandwidth of %s is unknown: %g GB/s per link was assumed",
               k->link_kind == TOPO_XGMI ? "XGMI" : "NVLink", each);
    return each * (k->count > 0 ? k->count : 1);
}

static void add_gpu_links(struct model_links *l, struct arena *a, struct model_notes *notes)
{
    const struct topo_class *c = l->c;
    l->nvlink_out = indices(a, c->ngpus);
    l->nvlink_in = indices(a, c->ngpus);
    l->direct = indices(a, c->ngpus * c->ngpus);
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *k = &c->links[i];
        const char *what = k->link_kind == TOPO_XGMI ? "XGMI of " : "NVLink of ";
        const char *whose = name_of(c, c->gpus[k->gpu].object);
        if (k->link_kind == TOPO_C2C)
            continue;
        double GBps = link_GBps(l, k, notes) * l->gpu->link_efficiency;
        if (k->peer_gpu >= 0) {
            int *forth = &l->direct[k->gpu * c->ngpus + k->peer_gpu];
            int *back = &l->direct[k->peer_gpu * c->ngpus + k->gpu];
            if (*forth < 0)
                *forth = add_link(l, GBps, what, whose);
            else if (l->links[*forth].GBps < GBps)
                l->links[*forth].GBps = GBps;
            if (*back < 0)
                *back = add_link(l, GBps, what, whose);
        } else if (k->peer_object >= 0 && c->objects[k->peer_object].kind == TOPO_NVSWITCH) {
            if (l->nvlink_out[k->gpu] < 0) {
                l->nvlink_out[k->gpu] = add_link(l, 0, what, whose);
                l->nvlink_in[k->gpu] = add_link(l, 0, what, whose);
            }
            l->links[l->nvlink_out[k->gpu]].GBps += GBps;
            l->links[l->nvlink_in[k->gpu]].GBps += GBps;
        }
    }
}

static void add_nets(struct model_links *l, struct arena *a, struct model_notes *notes)
{
    const struct nccl_model *m = l->nccl;
    l->nic_out = indices(a, m->nnets);
    l->nic_in = indices(a, m->nnets);
    l->kinds = arena_alloc(a, (size_t)m->nnets * sizeof *l->kinds);
    double tcp_GBps = model_common.tcp_GBps;
    const char *first_unknown = NULL, *first_kind = NULL, *kind = NULL;
    int unknown = 0, unknown_kinds = 0;
    for (int i = 0; i < m->nnets; i++) {
        const struct nccl_net *net = &m->nets[i];
        const char *assumed = NULL;
        l->kinds[i] = m->setup.sockets ? MODEL_NET_SOCKETS : model_net_kind_of(l->c, net, &assumed);
        tcp_GBps = fmax(tcp_GBps, model_tcp_GBps(l->c, net));
        if (assumed) {
            first_kind = unknown_kinds++ ? first_kind : net->name;
            kind = assumed;
        }
        double GBps = net->GBps;
        if (!(GBps > 0) || (net->port >= 0 && !(l->c->ports[net->port].rate_Gbps > 0))) {
            GBps = 12.5;
            first_unknown = unknown++ ? first_unknown : net->name;
        }
        GBps *= model_nets[l->kinds[i]].efficiency;
        l->nic_out[i] = add_link(l, GBps, "NIC ", net->name);
        l->nic_in[i] = add_link(l, GBps, "NIC ", net->name);
        l->links[l->nic_out[i]].between_nodes = l->links[l->nic_in[i]].between_nodes = 1;
    }
    if (unknown_kinds)
        model_note(notes, MODEL_NET_PARTS,
                   "the kind of network of %s%s is unknown: %s was assumed (ibstat with --merge tells it)", first_kind,
                   unknown_kinds > 1 ? arena_printf(a, " and %d more", unknown_kinds - 1) : "", kind);
    if (unknown)
        model_note(notes, 1u << MODEL_NET_LINKS,
                   "the rate of %s%s is unknown: 100 Gb/s was assumed (--link-rate sets it)", first_unknown,
                   unknown > 1 ? arena_printf(a, " and %d more", unknown - 1) : "");
    l->tcp_out = add_link(l, tcp_GBps * m->trays, "TCP of the host", NULL);
    l->tcp_in = add_link(l, tcp_GBps * m->trays, "TCP of the host", NULL);
    l->links[l->tcp_out].between_nodes = l->links[l->tcp_in].between_nodes = 1;
}

/* RCCL lays its rings over known machines by hand (src/graph/rome_models.cc), so that a mesh is used evenly. */
static int is_even_mesh(const struct model_links *l)
{
    int n = l->c->ngpus;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (i != k && l->direct[i * n + k] < 0)
                return 0;
    return n > 2 && l->nccl->ranks_per_node == n && l->gpu->arch;
}

/* RCCL's rings by hand begin and end at GPUs that have a NIC beside them. In a virtual machine of Azure's that holds of
 * NICs which the PCI tree that the guest sees does not show there (rcclPathOverride in src/graph/paths.cc). */
static void add_gates(struct model_links *l, struct arena *a)
{
    if (!l->even_mesh || l->nccl->nodes < 2)
        return;
    int is_azure = l->c->hypervisor && !strcmp(l->c->hypervisor, "Hyper-V");
    l->gates = arena_alloc(a, (size_t)l->c->ngpus * sizeof *l->gates);
    for (int i = 0; i < l->c->ngpus; i++) {
        int own = -1;
        enum path_class nearest = is_azure ? PATH_PHB : PATH_PXB;
        for (int k = l->nccl->nnets - 1; k >= 0; k--) {
            enum path_class class_ = model_class_to_net(l, i, k);
            int taken = 0;
            for (int gate = 0; gate < l->ngates; gate++)
                taken |= l->gates[gate].net == k;
            if (class_ <= nearest && !taken) {
                own = k;
                nearest = class_;
            }
        }
        if (own >= 0)
            l->gates[l->ngates++] = (struct model_gate){i, own};
    }
    l->ngates = l->ngates > 1 ? l->ngates : 0;
}

/* GPUs that nothing is known to join are taken to meet in host memory. */
static void note_unjoined(const struct model_links *l, struct model_notes *notes)
{
    const int *gpus = l->nccl->gpus;
    for (int i = 0; i < l->nccl->ranks_per_node; i++)
        for (int k = 0; k < i; k++)
            if (path_between(l->paths, gpus[i], gpus[k])->class_ == PATH_UNKNOWN) {
                model_note(notes, 1u << MODEL_HOPS | 1u << MODEL_LINKS,
                           "no way between %s and %s is known: host memory was assumed", l->paths->ends[gpus[k]].label,
                           l->paths->ends[gpus[i]].label);
                return;
            }
}

struct model_links *model_links_new(const struct nccl_model *nccl, const struct model_gpu *gpu, struct arena *a,
                                    struct model_notes *notes)
{
    struct model_links *l = ARENA_NEW(a, struct model_links);
    l->nccl = nccl;
    l->c = nccl->c;
    l->gpu = gpu;
    l->paths = path_matrix(l->c, a);
    size_t most =
        (size_t)l->c->nobjects * 5 + (size_t)l->c->ngpus * 2 + (size_t)l->c->nlinks * 2 + (size_t)nccl->nnets * 2 + 2;
    l->links = arena_alloc(a, most * sizeof *l->links);
    add_pcie(l, a);
    add_gpu_links(l, a, notes);
    add_nets(l, a, notes);
    l->even_mesh = is_even_mesh(l);
    add_gates(l, a);
    note_unjoined(l, notes);
    return l;
}

enum path_class model_class_to_net(const struct model_links *l, int gpu, int net)
{
    int object = l->nccl->nets[net].object;
    for (int i = l->paths->ngpus; i < l->paths->n && object >= 0; i++)
        if (l->paths->ends[i].object == object)
            return path_between(l->paths, gpu, i)->class_;
    return PATH_UNKNOWN;
}

/* ---- ways ------------------------------------------------------------------------------------------------------ */

static void pass(double *loads, int link, double load)
{
    if (link >= 0)
        loads[link] += load;
}

/* Over PCIe from one object to another; by way of memory, all the way up to the roots. -1: an object whose place is
 * not known. */
static void pass_pcie(const struct model_links *l, int from, int to, int by_memory, double load, double *loads)
{
    const struct topo_class *c = l->c;
    int top = -1;
    if (!by_memory && from >= 0 && to >= 0)
        for (top = from; top >= 0 && !topo_is_below(c, to, top);)
            top = c->objects[top].parent;
    for (int i = from; i >= 0 && i != top; i = c->objects[i].parent)
        pass(loads, l->pcie_up[i], load);
    for (int i = to; i >= 0 && i != top; i = c->objects[i].parent)
        pass(loads, l->pcie_down[i], load);
    int out = topo_root(c, from), in = topo_root(c, to);
    if (out >= 0 && in >= 0 && out != in) {
        pass(loads, l->socket_out[out], load);
        pass(loads, l->socket_in[in], load);
    }
    /* Written once and read once. */
    if (by_memory && (out >= 0 || in >= 0))
        pass(loads, l->memory[out >= 0 ? out : in], 2 * load);
}

/* A GPU that both are joined to; -1 none. */
static int between(const struct model_links *l, int from, int to)
{
    int n = l->c->ngpus;
    for (int i = 0; i < n; i++)
        if (l->direct[from * n + i] >= 0 && l->direct[i * n + to] >= 0)
            return i;
    return -1;
}

/* Whether GPUs may copy over a way of that class. NCCL's default is PXB (ncclTopoCheckP2p in src/graph/paths.cc). */
static int peers_over(const struct model_links *l, enum path_class class_)
{
    int within = l->nccl->setup.p2p_within;
    return class_ <= (within ? (enum path_class)(within - 1) : PATH_PXB);
}

/* Over NVLink or XGMI; 0: not joined by it. */
static int pass_links(const struct model_links *l, int from, int to, double load, double *loads)
{
    int n = l->c->ngpus;
    if (l->direct[from * n + to] >= 0) {
        pass(loads, l->direct[from * n + to], load);
        return 1;
    }
    if (l->nvlink_out[from] >= 0 && l->nvlink_in[to] >= 0) {
        pass(loads, l->nvlink_out[from], load);
        pass(loads, l->nvlink_in[to], load);
        return 1;
    }
    int third = path_between(l->paths, from, to)->class_ == PATH_NVB ? between(l, from, to) : -1;
    if (third >= 0) {
        pass(loads, l->direct[from * n + third], load);
        pass(loads, l->direct[third * n + to], load);
    }
    return third >= 0;
}

enum model_way model_way_gpus(const struct model_links *l, int from, int to, double load, double *loads)
{
    if (peers_over(l, PATH_NVL) && pass_links(l, from, to, load, loads))
        return MODEL_WAY_LINKS;
    const struct hw_gpu *hw = hw_gpu_of(l->c, &l->c->gpus[from]);
    int by_memory = !peers_over(l, path_between(l->paths, from, to)->class_) || (hw && hw->no_p2p);
    pass_pcie(l, l->c->gpus[from].object, l->c->gpus[to].object, by_memory, load, loads);
    return by_memory ? MODEL_WAY_MEMORY : MODEL_WAY_PCIE;
}

enum model_way model_way_mesh(const struct model_links *l, int from, double load, double *loads)
{
    int n = l->c->ngpus;
    enum model_way way = MODEL_WAY_LINKS;
    for (int i = 0; i < n; i++)
        if (i != from)
            way = model_way_gpus(l, from, i, load / (n - 1), loads);
    return way;
}

/* GPUDirect as NCCL uses it by default: up to PXB, and over C2C (ncclTopoCheckGdr in src/graph/paths.cc). */
static int direct_to_gpu(const struct model_links *l, int gpu, int net)
{
    const struct topo_gpu *g = &l->c->gpus[gpu];
    const struct hw_gpu *hw = hw_gpu_of(l->c, g);
    if (l->kinds[net] == MODEL_NET_SOCKETS || !l->nccl->nets[net].gdr || g->gdr == 0 || (hw && hw->no_p2p))
        return 0;
    for (int i = 0; i < l->ngates && !l->nccl->setup.gdr_within; i++)
        if (l->gates[i].gpu == gpu && l->gates[i].net == net)
            return 1;
    enum path_class class_ = model_class_to_net(l, gpu, net);
    int within = l->nccl->setup.gdr_within;
    return within ? class_ < (enum path_class)within : class_ <= PATH_PXB || class_ == PATH_P2C;
}

/* The NVLink peer that is near the NIC, when NCCL would go by it (PXN); -1: straight. */
static int proxy_of(const struct model_links *l, int gpu, int net)
{
    if (l->nccl->setup.no_pxn || !peers_over(l, PATH_NVL) || direct_to_gpu(l, gpu, net))
        return -1;
    for (int i = 0; i < l->nccl->ranks_per_node; i++) {
        int peer = l->nccl->gpus[i];
        const struct topo_path *p = path_between(l->paths, gpu, peer);
        if (p->class_ == PATH_NVL && p->link_kind == TOPO_NVLINK && direct_to_gpu(l, peer, net))
            return peer;
    }
    return -1;
}

/* To a net's NIC, or from it, which can be several cards that carry equal parts. */
static enum model_way pass_nic(const struct model_links *l, int gpu, int net, int out, double load, double *loads)
{
    const struct nccl_net *n = &l->nccl->nets[net];
    int own = l->c->gpus[gpu].object, cards = l->kinds[net] == MODEL_NET_EFA_2 && n->object >= 0 ? n->devices : 1;
    int by_memory = !direct_to_gpu(l, gpu, net);
    pass_pcie(l, out ? own : n->object, out ? n->object : own, by_memory, load, loads);
    if (cards > 1)
        pass(loads, (out ? l->pcie_down : l->pcie_up)[n->object], load / cards - load);
    pass(loads, (out ? l->nic_out : l->nic_in)[net], load);
    if (l->kinds[net] == MODEL_NET_SOCKETS)
        pass(loads, out ? l->tcp_out : l->tcp_in, load);
    return by_memory ? MODEL_WAY_MEMORY : MODEL_WAY_PCIE;
}

enum model_way model_way_out(const struct model_links *l, int gpu, int net, double load, double *loads)
{
    int proxy = proxy_of(l, gpu, net);
    if (proxy >= 0)
        model_way_gpus(l, gpu, proxy, load, loads);
    return pass_nic(l, proxy >= 0 ? proxy : gpu, net, 1, load, loads);
}

enum model_way model_way_in(const struct model_links *l, int net, int gpu, double load, double *loads)
{
    return pass_nic(l, gpu, net, 0, load, loads);
}
