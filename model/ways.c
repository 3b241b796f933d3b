/* Ways that copies take through a node, as NCCL takes them: NVLink before PCIe, PCIe between devices as far as switches
 * reach, host memory beyond; towards a far NIC by an NVLink peer that is near it. */
#include "model/links.h"

#include "probe/machines/hardware.h"

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
