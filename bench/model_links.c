/* Links are the specification's, reduced to payload by the constants. What is not known does not limit, unless the
 * generation's specification helps out: a wrong limit misleads more than none. */
#include "bench/model_links.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/hardware.h"
#include "probe/pci.h"

void model_note(struct model_notes *n, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (int i = 0; i < n->n; i++)
        if (!strcmp(n->texts[i], text))
            return;
    if (n->n < MODEL_MOST_NOTES)
        n->texts[n->n++] = arena_strdup(n->arena, text);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

static int *indices(struct arena *a, int n)
{
    int *p = arena_alloc(a, (size_t)(n ? n : 1) * sizeof *p);
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
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object == object)
            return c->ports[i].hca;
    const struct topo_object *o = &c->objects[object];
    return o->name ? o->name : o->pci ? o->pci : "a switch";
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
            l->memory[i] = add_link(l, model_common.host_GBps, "host memory", NULL);
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
    model_note(notes, "the bandwidth of %s is not known: %g GB/s a link was assumed",
               k->fabric == TOPO_FABRIC_XGMI ? "XGMI" : "NVLink", each);
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
        const char *what = k->fabric == TOPO_FABRIC_XGMI ? "XGMI of " : "NVLink of ";
        const char *whose = name_of(c, c->gpus[k->gpu].object);
        if (k->fabric == TOPO_FABRIC_C2C)
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
    l->kinds = arena_alloc(a, (size_t)(m->nnets ? m->nnets : 1) * sizeof *l->kinds);
    for (int i = 0; i < m->nnets; i++) {
        const struct nccl_net *net = &m->nets[i];
        const char *assumed = NULL;
        l->kinds[i] = m->setup.sockets ? MODEL_NET_SOCKETS : model_net_kind_of(l->c, net->object, net->port, &assumed);
        if (assumed)
            model_note(notes, "%s: %s", net->name, assumed);
        double GBps =
            net->port >= 0 && l->c->ports[net->port].rate_Gbps > 0 ? l->c->ports[net->port].rate_Gbps / 8 : net->GBps;
        if (!(GBps > 0)) {
            GBps = 12.5;
            model_note(notes, "the rate of %s is not known: 100 Gb/s was assumed", net->name);
        }
        const struct model_net *kind = &model_nets[l->kinds[i]];
        GBps *= kind->efficiency;
        if (kind->most_GBps > 0 && GBps > kind->most_GBps)
            GBps = kind->most_GBps;
        l->nic_out[i] = add_link(l, GBps, "NIC ", net->name);
        l->nic_in[i] = add_link(l, GBps, "NIC ", net->name);
        l->links[l->nic_out[i]].between_nodes = l->links[l->nic_in[i]].between_nodes = 1;
    }
}

struct model_links *model_links_new(const struct nccl_model *nccl, const struct model_gpu *gpu, struct arena *a,
                                    struct model_notes *notes)
{
    struct model_links *l = ARENA_NEW(a, struct model_links);
    l->nccl = nccl;
    l->c = &nccl->setup.topology->classes[nccl->setup.class_index];
    l->gpu = gpu;
    l->paths = path_matrix(l->c, a);
    size_t most =
        (size_t)l->c->nobjects * 5 + (size_t)l->c->ngpus * 2 + (size_t)l->c->nlinks * 2 + (size_t)nccl->nnets * 2;
    l->links = arena_alloc(a, (most ? most : 1) * sizeof *l->links);
    add_pcie(l, a);
    add_gpu_links(l, a, notes);
    add_nets(l, a, notes);
    return l;
}

double model_links_spec_GBps(const struct model_links *l, int gpu)
{
    double sum = 0;
    if (l->nvlink_out[gpu] >= 0)
        sum = l->links[l->nvlink_out[gpu]].GBps;
    for (int i = 0; i < l->c->ngpus; i++)
        if (l->direct[gpu * l->c->ngpus + i] >= 0)
            sum += l->links[l->direct[gpu * l->c->ngpus + i]].GBps;
    return sum / l->gpu->link_efficiency;
}

/* ---- ways ------------------------------------------------------------------------------------------------------ */

static void pass(double *loads, int link, double load)
{
    if (link >= 0)
        loads[link] += load;
}

static int root_of(const struct topo_class *c, int object)
{
    while (object >= 0 && c->objects[object].parent >= 0)
        object = c->objects[object].parent;
    return object;
}

static int is_above(const struct topo_class *c, int above, int object)
{
    while (object >= 0 && object != above)
        object = c->objects[object].parent;
    return object == above;
}

/* Over PCIe from one object to another; by way of memory, all the way up to the roots. -1: an object whose place is
 * not known. */
static void pass_pcie(const struct model_links *l, int from, int to, int by_memory, double load, double *loads)
{
    const struct topo_class *c = l->c;
    int top = -1;
    if (!by_memory && from >= 0 && to >= 0)
        for (top = from; top >= 0 && !is_above(c, top, to);)
            top = c->objects[top].parent;
    for (int i = from; i >= 0 && i != top; i = c->objects[i].parent)
        pass(loads, l->pcie_up[i], load);
    for (int i = to; i >= 0 && i != top; i = c->objects[i].parent)
        pass(loads, l->pcie_down[i], load);
    int out = root_of(c, from), in = root_of(c, to);
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

int model_way_gpus(const struct model_links *l, int from, int to, double load, double *loads)
{
    int n = l->c->ngpus;
    const struct path *p = path_between(l->paths, from, to);
    if (l->direct[from * n + to] >= 0) {
        pass(loads, l->direct[from * n + to], load);
        return 0;
    }
    if (l->nvlink_out[from] >= 0 && l->nvlink_in[to] >= 0) {
        pass(loads, l->nvlink_out[from], load);
        pass(loads, l->nvlink_in[to], load);
        return 0;
    }
    int third = p->class_ == PATH_NVB ? between(l, from, to) : -1;
    if (third >= 0) {
        pass(loads, l->direct[from * n + third], load);
        pass(loads, l->direct[third * n + to], load);
        return 0;
    }
    /* NCCL's default for peer-to-peer over PCIe is PXB (ncclTopoCheckP2p in src/graph/paths.cc). */
    const struct hw_gpu *hw = hw_gpu_of(l->c, &l->c->gpus[from]);
    int by_memory = p->class_ > PATH_PXB || (hw && hw->no_p2p);
    pass_pcie(l, l->c->gpus[from].object, l->c->gpus[to].object, by_memory, load, loads);
    return by_memory;
}

/* GPUDirect RDMA as NCCL uses it by default: up to PXB, and over C2C (ncclTopoCheckGdr in src/graph/paths.cc). */
static int direct_to_gpu(const struct model_links *l, int gpu, int net)
{
    const struct topo_gpu *g = &l->c->gpus[gpu];
    const struct hw_gpu *hw = hw_gpu_of(l->c, g);
    int port = l->nccl->nets[net].port;
    if (l->kinds[net] == MODEL_NET_SOCKETS || g->gdr == 0 || (hw && hw->no_p2p) || port < 0)
        return 0;
    int end = path_end_of(l->paths, l->c->ports[port].hca);
    if (end < 0)
        return 0;
    enum path_class class_ = path_between(l->paths, gpu, end)->class_;
    return class_ <= PATH_PXB || class_ == PATH_P2C;
}

/* The NVLink peer that is near the NIC, when NCCL would go by it (PXN); -1: straight. */
static int proxy_of(const struct model_links *l, int gpu, int net)
{
    int port = l->nccl->nets[net].port;
    int end = port < 0 ? -1 : path_end_of(l->paths, l->c->ports[port].hca);
    if (end < 0 || l->nccl->setup.no_pxn || l->kinds[net] == MODEL_NET_SOCKETS ||
        path_class_nccl(l->paths, gpu, end) != PATH_PXN)
        return -1;
    for (int i = 0; i < l->nccl->ranks_per_node && i < l->c->ngpus; i++)
        if (path_between(l->paths, gpu, i)->class_ == PATH_NVL && direct_to_gpu(l, i, net))
            return i;
    return -1;
}

int model_way_out(const struct model_links *l, int gpu, int net, double load, double *loads)
{
    int proxy = proxy_of(l, gpu, net);
    if (proxy >= 0) {
        model_way_gpus(l, gpu, proxy, load, loads);
        gpu = proxy;
    }
    int by_memory = !direct_to_gpu(l, gpu, net);
    pass_pcie(l, l->c->gpus[gpu].object, l->nccl->nets[net].object, by_memory, load, loads);
    pass(loads, l->nic_out[net], load);
    return by_memory;
}

int model_way_in(const struct model_links *l, int net, int gpu, double load, double *loads)
{
    int by_memory = !direct_to_gpu(l, gpu, net);
    pass(loads, l->nic_in[net], load);
    pass_pcie(l, l->nccl->nets[net].object, l->c->gpus[gpu].object, by_memory, load, loads);
    return by_memory;
}
