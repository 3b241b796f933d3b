/* Which GPU and which net the search tries next. The order is NCCL's, because the first solution often stays the only
 * one.
 *
 * Source: NCCL src/graph/search.cc (ncclTopoSearchNextGpuSort, ncclTopoSelectNets), v2.18.6-1 … v2.30.7-1. */
#include "model/nccl/graph.h"

/* ---- which GPU next ---- */

struct score {
    int gpu, start, intra_hops, intra_bw, inter_hops, inter_pci_bw, inter_bw; /* the last counts most */
};

static int is_ahead(const struct score *x, const struct score *y)
{
    if (x->inter_bw != y->inter_bw)
        return x->inter_bw > y->inter_bw;
    if (x->inter_pci_bw != y->inter_pci_bw)
        return x->inter_pci_bw > y->inter_pci_bw;
    if (x->inter_hops != y->inter_hops)
        return x->inter_hops < y->inter_hops;
    if (x->intra_bw != y->intra_bw)
        return x->intra_bw > y->intra_bw;
    if (x->intra_hops != y->intra_hops)
        return x->intra_hops < y->intra_hops;
    return x->start < y->start;
}

/* A handful, a million times. */
static void sort(struct score *scores, int n)
{
    for (int i = 1; i < n; i++) {
        struct score s = scores[i];
        int k = i;
        for (; k > 0 && is_ahead(&s, &scores[k - 1]); k--)
            scores[k] = scores[k - 1];
        scores[k] = s;
    }
}

/* What other channels have left of the GPU's PCI link, of both directions the lesser. */
static int pci_bw_left(const struct graph_node *g)
{
    for (int i = 0; i < g->nlinks; i++) {
        if (g->links[i].type != PATH_PIX)
            continue;
        const struct graph_node *pci = g->links[i].to;
        for (int k = 0; k < pci->nlinks; k++)
            if (pci->links[k].to == g)
                return (int)(g->links[i].bw < pci->links[k].bw ? g->links[i].bw : pci->links[k].bw);
    }
    return -1;
}

/* On NVSwitches a GPU had better have few peers. The order in which its neighbours are tried; returns their number. */
static int neighbours(const struct graph_system *s, const struct graph_search *g, int gpu, int first[2])
{
    int n = s->n[GRAPH_GPU], before = (gpu - 1 + n) % n, after = (gpu + 1) % n;
    int tree = g->pattern == GRAPH_BALANCED_TREE;
    first[0] = tree ? after : before;
    first[1] = tree ? before : after;
    if (g->pattern == GRAPH_RING || tree)
        return before == after ? 1 : 2;
    first[0] = after;
    return 1;
}

/* Moves them to the front of what may follow. */
static void neighbours_first(const struct graph_system *s, const struct graph_search *g, int gpu, int *next, int count)
{
    int first[2];
    for (int f = neighbours(s, g, gpu, first) - 1; f >= 0; f--) {
        int i = 0;
        while (i < count && next[i] != first[f])
            i++;
        for (; i < count && i > 0; i--)
            next[i] = next[i - 1];
        next[0] = i < count ? first[f] : next[0];
    }
}

/* Since 2.21 nobody else is tried. */
static int neighbours_only(const struct graph_system *s, const struct graph_search *g, const struct graph_node *gpu,
                           int *next)
{
    int first[2], n = neighbours(s, g, gpu->index, first), count = 0;
    uint64_t flag = 1ull << g->nchannels;
    for (int f = 0; f < n; f++)
        if (gpu->paths[GRAPH_GPU][first[f]].count && !(s->nodes[GRAPH_GPU][first[f]]->used & flag))
            next[count++] = first[f];
    return count;
}

int graph_next_gpus(const struct graph_system *s, const struct graph_search *g, const struct graph_node *gpu, int *next,
                    int toward_net)
{
    struct score scores[GRAPH_MOST_GPUS];
    const struct graph_path *net_paths = NULL;
    uint64_t flag = 1ull << g->nchannels;
    int count = 0, alike = 1, n = s->n[GRAPH_GPU];

    if (s->n[GRAPH_NVS] && s->version >= 22100)
        return neighbours_only(s, g, gpu, next);
    if (toward_net)
        net_paths = s->nodes[GRAPH_NET][g->nets[g->nchannels * 2]]->paths[GRAPH_GPU];
    for (int i = 1; i < n; i++) {
        int k = (gpu->index + i) % n;
        const struct graph_path *p = &gpu->paths[GRAPH_GPU][k];
        if (p->count == 0 || s->nodes[GRAPH_GPU][k]->used & flag)
            continue;
        struct score *sc = &scores[count++];
        *sc = (struct score){.gpu = k, .start = i, .intra_hops = p->count, .intra_bw = (int)p->bw};
        if (net_paths) {
            sc->inter_hops = net_paths[k].count;
            sc->inter_pci_bw = pci_bw_left(s->nodes[GRAPH_GPU][k]);
            sc->inter_bw = (int)net_paths[k].bw;
        }
    }
    sort(scores, count);
    for (int i = 1; i < count; i++)
        alike &= scores[i].intra_bw == scores[0].intra_bw && scores[i].intra_hops == scores[0].intra_hops;
    for (int i = 0; i < count; i++)
        next[i] = scores[toward_net == -1 && alike ? count - 1 - i : i].gpu;
    if (s->n[GRAPH_NVS] && s->version >= 21900)
        neighbours_first(s, g, gpu->index, next, count);
    return count;
}

/* ---- which net ---- */

static int add_once(int *list, int n, int net)
{
    for (int i = 0; i < n; i++)
        if (list[i] == net)
            return n;
    list[n] = net;
    return n + 1;
}

static void list_nets(const struct graph_system *s, enum path_class far, int gpu, struct graph_nets *l)
{
    int from = gpu < 0 ? 0 : gpu, to = gpu < 0 ? s->n[GRAPH_GPU] : gpu + 1;

    l->nets = arena_alloc(s->arena, (size_t)s->n[GRAPH_NET] * sizeof *l->nets);
    for (int g = from; g < to; g++)
        for (int c = 0, several = 1; c < several; c++) {
            int net = graph_net_of(s, g, c, &several);
            l->n = net >= 0 ? add_once(l->nets, l->n, net) : l->n;
        }
    for (enum path_class t = PATH_LOC; t <= far; t++)
        for (int g = from; g < to; g++)
            for (int i = 0; i < s->n[GRAPH_NET]; i++)
                if (s->nodes[GRAPH_GPU][g]->paths[GRAPH_NET][i].type == t)
                    l->n = add_once(l->nets, l->n, i);
}

const struct graph_nets *graph_nets_to_try(const struct graph_system *s, const struct graph_search *g, int gpu)
{
    struct graph_nets *l = &s->near_nets[(int)g->type_inter * (s->n[GRAPH_GPU] + 1) + gpu + 1];
    if (!l->nets)
        list_nets(s, g->type_inter, gpu, l);
    return l;
}

int graph_is_paired(const struct graph_system *s, const struct graph_search *g)
{
    if (s->version >= 22300)
        return g->pattern == GRAPH_RING && g->cross_nic == 2;
    return s->version >= 22000 && g->cross_nic;
}

int graph_may_leave_by(const struct graph_system *s, const struct graph_search *g, int first, int net, int step)
{
    if (g->pattern == GRAPH_TREE && net != first)
        return 0;
    if (graph_is_paired(s, g)) {
        if (g->nchannels & 1 && net != g->nets[(g->nchannels - 1) * 2])
            return 0;
    } else if (g->cross_nic == 0 && net != first) {
        return 0;
    }
    return g->pattern != GRAPH_BALANCED_TREE || step == 0 || net == g->nets[g->nchannels * 2 + 1];
}
