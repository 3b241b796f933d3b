/* Paths through NCCL's graph, and what NCCL makes of them: GPUs that may not talk to one another directly go over the
 * CPU, so do NICs without GPUDirect RDMA, and a GPU far from a NIC goes over a GPU that is near it (PXN). */
#include <string.h>

#include "model/nccl/graph.h"

#define MOST_HOPS 64 /* what is longer counts as no path */

static float least(float a, float b)
{
    return a < b ? a : b;
}

/* ---- breadth first from one node ---- */

struct reach {
    struct graph_link *hops[MOST_HOPS];
    int count;
    float bw;
    enum path_class type;
};

static struct graph_link *link_back(const struct graph_node *from, const struct graph_node *to, enum path_class type)
{
    for (int i = 0; i < from->nlinks; i++)
        if (from->links[i].to == to && from->links[i].type == type)
            return &from->links[i];
    return NULL;
}

/* What a path becomes that is prolonged by the link from `node` (whose path is `r`) to l->to. */
static enum path_class prolong(const struct reach *r, const struct graph_node *node, const struct graph_link *l)
{
    enum path_class type = l->type;
    if (node->kind == GRAPH_PCI && l->to->kind == GRAPH_PCI)
        type = PATH_PXB;
    if (l->type == PATH_PIX && (node->kind == GRAPH_CPU || l->to->kind == GRAPH_CPU))
        type = PATH_PHB;
    if (node->kind == GRAPH_GPU && r->type == PATH_NVL && type == PATH_NVL && r->count >= 1)
        type = PATH_NVB;
    return type > r->type ? type : r->type;
}

/* Releases before 2.30 take the shorter path if it is wider; since then the kind of the links comes first. */
static int better(const struct graph_system *s, const struct reach *old, const struct reach *via, float bw,
                  enum path_class type)
{
    if (s->version < 23000)
        return (old->bw == 0 || old->count > via->count) && old->bw < bw;
    if (type != old->type)
        return type < old->type;
    return old->bw < bw || (old->bw == bw && old->count > via->count + 1);
}

/* Every node's way to `base`, in `reach` by id. `queue` has room for all nodes twice. */
static void spread(const struct graph_system *s, struct graph_node *base, struct reach *reach,
                   struct graph_node **queue)
{
    struct graph_node **now = queue, **after = queue + s->nall;
    int nnow = 1;

    for (int i = 0; i < s->nall; i++)
        reach[i] = (struct reach){.type = GRAPH_DISCONNECTED};
    reach[base->id].bw = GRAPH_LOCAL_BW;
    reach[base->id].type = PATH_LOC;
    now[0] = base;
    while (nnow) {
        int nafter = 0;
        for (int n = 0; n < nnow; n++) {
            struct graph_node *node = now[n];
            const struct reach *r = &reach[node->id];
            for (int i = 0; i < node->nlinks; i++) {
                const struct graph_link *l = &node->links[i];
                struct reach *to = &reach[l->to->id];
                /* through a GPU only as the one hop between two others */
                if (node != base && node->kind == GRAPH_GPU &&
                    (l->type != PATH_NVL || l->to->kind != GRAPH_GPU || r->count > 1))
                    continue;
                float bw = least(r->bw, l->bw);
                enum path_class type = prolong(r, node, l);
                struct graph_link *back = link_back(l->to, node, l->type);
                if (!back || r->count == MOST_HOPS || !better(s, to, r, bw, type))
                    continue;
                to->hops[0] = back;
                memcpy(to->hops + 1, r->hops, (size_t)r->count * sizeof *r->hops);
                to->count = r->count + 1;
                to->bw = bw;
                to->type = type;
                int k = 0;
                while (k < nafter && after[k] != l->to)
                    k++;
                if (k == nafter)
                    after[nafter++] = l->to;
            }
        }
        struct graph_node **swap = now;
        now = after;
        after = swap;
        nnow = nafter;
    }
}

static const enum graph_kind ends[] = {GRAPH_GPU, GRAPH_NVS, GRAPH_CPU, GRAPH_NET};
#define NENDS (int)(sizeof ends / sizeof *ends)

static void lay_to(struct graph_system *s, struct graph_node *base, struct reach *reach, struct graph_node **queue)
{
    spread(s, base, reach, queue);
    for (int k = 0; k < NENDS; k++)
        for (int i = 0; i < s->n[ends[k]]; i++) {
            struct graph_node *n = s->nodes[ends[k]][i];
            const struct reach *r = &reach[n->id];
            struct graph_path *p = &n->paths[base->kind][base->index];
            *p = (struct graph_path){.count = r->count, .bw = r->bw, .type = r->type};
            p->hops = arena_alloc(s->arena, (size_t)r->count * sizeof *p->hops);
            memcpy(p->hops, r->hops, (size_t)r->count * sizeof *p->hops);
        }
}

static void lay_all(struct graph_system *s)
{
    struct reach *reach = arena_alloc(s->arena, (size_t)s->nall * sizeof *reach);
    struct graph_node **queue = arena_alloc(s->arena, 2 * (size_t)s->nall * sizeof *queue);

    for (int k = 0; k < NENDS; k++)
        for (int i = 0; i < s->n[ends[k]]; i++)
            for (int to = 0; to < NENDS; to++)
                s->nodes[ends[k]][i]->paths[ends[to]] =
                    arena_alloc(s->arena, (size_t)s->n[ends[to]] * sizeof(struct graph_path));
    for (int k = 0; k < NENDS; k++)
        for (int i = 0; i < s->n[ends[k]]; i++)
            lay_to(s, s->nodes[ends[k]][i], reach, queue);
}

/* ---- near and far ---- */

int graph_nearest(const struct graph_system *s, const struct graph_node *from, enum graph_kind kind, int *found)
{
    enum path_class closest = GRAPH_DISCONNECTED;
    float widest = 0;
    int n = 0;
    for (int i = 0; i < s->n[kind]; i++) {
        const struct graph_path *p = &from->paths[kind][i];
        if (p->bw > widest || (p->bw == widest && p->type < closest)) {
            widest = p->bw;
            closest = p->type;
            n = 0;
        }
        if (p->bw == widest && p->type == closest)
            found[n++] = i;
    }
    return closest == GRAPH_DISCONNECTED ? 0 : n;
}

static int local_cpu(const struct graph_system *s, int gpu)
{
    const struct graph_node *g = s->nodes[GRAPH_GPU][gpu];
    int *found = s->scratch, n = graph_nearest(s, g, GRAPH_CPU, found), best = found[0];
    for (int i = 1; i < n; i++)
        if (g->paths[GRAPH_CPU][found[i]].count < g->paths[GRAPH_CPU][best].count)
            best = found[i];
    return best;
}

/* The bits of `value` below `power`, a power of two, the other way round: spreads GPUs over NICs. */
static int mirror_bits(int value, int power)
{
    int mirrored = 0;
    for (int bit = 1, other = power >> 1; other; bit <<= 1, other >>= 1)
        mirrored |= value & bit ? other : 0;
    return mirrored;
}

int graph_net_of(const struct graph_system *s, int gpu, int channel, int *several)
{
    int *nets = s->scratch + s->n[GRAPH_CPU], *gpus = nets + s->n[GRAPH_NET];
    const struct graph_node *g = s->nodes[GRAPH_GPU][gpu];
    int nnets = graph_nearest(s, g, GRAPH_NET, nets);
    *several = 1;
    if (!nnets)
        return -1;
    int ngpus = graph_nearest(s, s->nodes[GRAPH_NET][nets[0]], GRAPH_GPU, gpus);
    if (!ngpus)
        return nets[0];
    *several = (nnets + ngpus - 1) / ngpus;
    int net = s->version >= 23000 ? g->gpu.number % ngpus : g->gpu.number;
    if (!(nnets & (nnets - 1)))
        net = mirror_bits(net, nnets);
    return nets[(net + channel % *several) % nnets];
}

/* The GPU that a net serves. */
static int gpu_of(const struct graph_system *s, int net)
{
    int *gpus = s->scratch + s->n[GRAPH_CPU] + s->n[GRAPH_NET] + s->n[GRAPH_GPU];
    int n = graph_nearest(s, s->nodes[GRAPH_NET][net], GRAPH_GPU, gpus), most = 1;
    for (int c = 0; c < most; c++)
        for (int i = 0, several; i < n; i++) {
            if (graph_net_of(s, gpus[i], c, &several) == net)
                return gpus[i];
            most = several > most ? several : most;
        }
    return -1;
}

/* ---- detours ---- */

/* From a to b by way of `via`. */
static void divert(struct graph_system *s, struct graph_node *a, struct graph_node *via, struct graph_node *b)
{
    const struct graph_path *first = &a->paths[via->kind][via->index], *second = &via->paths[b->kind][b->index];
    struct graph_path *p = &a->paths[b->kind][b->index], made = {.count = first->count + second->count};
    enum path_class near = first->type < second->type ? first->type : second->type;
    enum path_class far = first->type < second->type ? second->type : first->type;

    made.hops = arena_alloc(s->arena, (size_t)made.count * sizeof *made.hops);
    memcpy(made.hops, first->hops, (size_t)first->count * sizeof *made.hops);
    memcpy(made.hops + first->count, second->hops, (size_t)second->count * sizeof *made.hops);
    made.type = via->kind == GRAPH_GPU ? PATH_PXN : far == PATH_PHB && near == PATH_C2C ? PATH_P2C : far;
    made.bw = least(first->bw, second->bw);
    *p = made;
}

static void divert_gpus(struct graph_system *s)
{
    int n = s->n[GRAPH_GPU];
    for (int g = 0; g < n; g++)
        for (int p = 0; p < n; p++) {
            enum path_class type = s->nodes[GRAPH_GPU][p]->paths[GRAPH_GPU][g].type;
            if (p != g && (type > s->p2p_within || (type > PATH_NVB && s->no_p2p[p * n + g])))
                divert(s, s->nodes[GRAPH_GPU][p], s->nodes[GRAPH_CPU][local_cpu(s, g)], s->nodes[GRAPH_GPU][g]);
        }
}

/* The widest way to a NIC that is as near as PXB, GB/s. */
static float near_net_bw(const struct graph_system *s, const struct graph_node *g)
{
    float most = 0;
    for (int n = 0; n < s->n[GRAPH_NET]; n++) {
        const struct graph_path *p = &g->paths[GRAPH_NET][n];
        most = p->type <= PATH_PXB && p->bw > most ? p->bw : most;
    }
    return most;
}

/* GPUs that both reach a NIC faster than one another have neither P2P nor SHM between them. Where that leaves parts of
 * a node apart, each is a node to NCCL. */
static void find_parts(struct graph_system *s)
{
    int n = s->n[GRAPH_GPU];
    s->part = arena_alloc(s->arena, (size_t)n * sizeof *s->part);
    for (int g = 0; g < n; g++) {
        const struct graph_node *gpu = s->nodes[GRAPH_GPU][g];
        s->part[g] = g;
        for (int p = 0; p < g; p++) {
            const struct graph_path *way = &gpu->paths[GRAPH_GPU][p];
            int by_net = way->type != PATH_NVB && near_net_bw(s, gpu) > way->bw &&
                         near_net_bw(s, s->nodes[GRAPH_GPU][p]) > way->bw;
            if (!by_net && s->part[p] < s->part[g])
                s->part[g] = s->part[p];
        }
    }
}

static int has_nvlink_peer(const struct graph_system *s, const struct graph_node *g)
{
    for (int i = 0; i < s->n[GRAPH_GPU]; i++)
        if (i != g->index && g->paths[GRAPH_GPU][i].type == PATH_NVL)
            return 1;
    return s->n[GRAPH_GPU] == 1;
}

/* GPUDirect RDMA between a GPU and a net that is `distance` away. Sends read GPU memory, which older GPUs do slowly. */
static int has_gdr(const struct graph_system *s, const struct graph_node *g, const struct graph_node *net,
                   enum path_class distance, int sends)
{
    if (!net->net.gdr || !g->gpu.gdr || (sends && g->gpu.sm < 80 && g->gpu.sm && !has_nvlink_peer(s, g)))
        return 0;
    return distance <= s->gdr_within || (distance == PATH_P2C && s->gdr_within == PATH_PXB && s->version >= 22700);
}

/* NICs behind the CPU that the GPU reaches over C2C; since 2.29 only those that are the nearest. */
static void divert_c2c(struct graph_system *s, int *nets)
{
    for (int i = 0; i < s->n[GRAPH_GPU]; i++) {
        struct graph_node *g = s->nodes[GRAPH_GPU][i];
        int cpu = local_cpu(s, i), all = s->version < 22900;
        int n = all ? s->n[GRAPH_NET] : graph_nearest(s, g, GRAPH_NET, nets);
        for (int k = 0; k < n; k++) {
            struct graph_node *net = s->nodes[GRAPH_NET][all ? k : nets[k]];
            if (g->paths[GRAPH_CPU][cpu].type != PATH_C2C || net->paths[GRAPH_CPU][cpu].type != PATH_PHB)
                continue;
            struct graph_path *to = &g->paths[GRAPH_NET][net->index], *from = &net->paths[GRAPH_GPU][i];
            to->type = to->type < PATH_P2C ? to->type : PATH_P2C;
            from->type = from->type < PATH_P2C ? from->type : PATH_P2C;
        }
    }
}

/* Whether `g` may reach `net` over `peer`, a GPU near it. */
static int wants_pxn(const struct graph_system *s, const struct graph_node *g, const struct graph_node *peer,
                     const struct graph_node *net)
{
    const struct graph_path *own = &g->paths[GRAPH_NET][net->index], *its = &peer->paths[GRAPH_NET][net->index];
    return its->type <= (s->version >= 22700 ? PATH_P2C : PATH_PXB) && has_gdr(s, peer, net, its->type, 1) &&
           peer->paths[GRAPH_GPU][g->index].type <= PATH_NVL && peer->tray == g->tray &&
           (its->bw > own->bw || own->type > PATH_PXN);
}

/* How far the net is for GPUDirect RDMA: over PXN, as far as from the GPU on the way. */
static enum path_class rdma_distance(const struct graph_system *s, const struct graph_node *g,
                                     const struct graph_node *net)
{
    const struct graph_path *p = &g->paths[GRAPH_NET][net->index];
    if (p->type != PATH_PXN)
        return p->type;
    int i = 0;
    while (p->hops[i]->to->kind != GRAPH_GPU)
        i++;
    return s->nodes[GRAPH_GPU][p->hops[i]->to->index]->paths[GRAPH_NET][net->index].type;
}

static void divert_nets(struct graph_system *s)
{
    for (int n = 0; n < s->n[GRAPH_NET]; n++) {
        struct graph_node *net = s->nodes[GRAPH_NET][n];
        for (int i = 0; i < s->n[GRAPH_GPU]; i++) {
            struct graph_node *g = s->nodes[GRAPH_GPU][i];
            int near = s->no_pxn ? -1 : gpu_of(s, n);
            if (near >= 0 && near != i && wants_pxn(s, g, s->nodes[GRAPH_GPU][near], net))
                divert(s, g, s->nodes[GRAPH_GPU][near], net);
            if (g->paths[GRAPH_NET][n].type < PATH_PHB && !has_gdr(s, g, net, rdma_distance(s, g, net), 0)) {
                struct graph_node *cpu = s->nodes[GRAPH_CPU][local_cpu(s, i)];
                divert(s, net, cpu, g);
                divert(s, g, cpu, net);
            }
        }
    }
    for (int n = 0; n < s->n[GRAPH_NET]; n++)
        s->nodes[GRAPH_NET][n]->net.local = gpu_of(s, n);
}

/* ---- public ---- */

int graph_parts(const struct graph_system *s)
{
    int n = s->n[GRAPH_GPU], parts = 1, first = s->nodes[GRAPH_GPU][0]->gpu.number;
    for (int g = 1; g < n; g++) {
        int number = s->nodes[GRAPH_GPU][g]->gpu.number;
        parts += s->part[g] == g;
        first = number < first ? number : first;
    }
    int size = n / parts, alike = size * parts == n;
    for (int g = 0; g < n && alike; g++)
        alike = s->part[g] == g / size * size && (s->nodes[GRAPH_GPU][g]->gpu.number - first) / size == g / size;
    return alike ? parts : 1;
}

/* The most that one channel, and one GPU, can do. */
static void find_most_bandwidth(struct graph_system *s)
{
    s->max_bw = s->total_bw = 0;
    if (!s->inter && s->n[GRAPH_GPU] == 1) {
        s->max_bw = s->total_bw = GRAPH_LOCAL_BW;
        return;
    }
    enum graph_kind far = s->inter ? GRAPH_NET : GRAPH_GPU;
    for (int i = 0; i < s->n[GRAPH_GPU]; i++) {
        const struct graph_node *g = s->nodes[GRAPH_GPU][i];
        float nvlink = 0, pci = 0;
        for (int k = 0; k < s->n[far]; k++)
            if (g->paths[far][k].count && g->paths[far][k].bw > s->max_bw)
                s->max_bw = g->paths[far][k].bw;
        for (int l = 0; l < g->nlinks; l++) {
            nvlink += g->links[l].type == PATH_NVL ? g->links[l].bw : 0;
            pci = g->links[l].type == PATH_PIX ? g->links[l].bw : pci;
        }
        float own = nvlink > pci ? nvlink : pci;
        s->total_bw = own > s->total_bw ? own : s->total_bw;
    }
}

void graph_paths(struct graph_system *s)
{
    size_t room = (size_t)s->n[GRAPH_CPU] + 2 * (size_t)s->n[GRAPH_NET] + 2 * (size_t)s->n[GRAPH_GPU];
    s->scratch = arena_alloc(s->arena, room * sizeof *s->scratch);
    lay_all(s);
    divert_gpus(s);
    find_parts(s);
    if (s->version >= 22700)
        divert_c2c(s, s->scratch + s->n[GRAPH_CPU] + s->n[GRAPH_NET] + 2 * s->n[GRAPH_GPU]);
    divert_nets(s);
    size_t lists = ((size_t)GRAPH_DISCONNECTED + 1) * ((size_t)s->n[GRAPH_GPU] + 1);
    s->near_nets = arena_alloc(s->arena, lists * sizeof *s->near_nets);
    find_most_bandwidth(s);
}
