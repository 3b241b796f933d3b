/* The recursion that looks for channels: GPUs in a row, each link with enough bandwidth left, from a net and back to
 * one, channel after channel until there are as many as were asked for or the steps are used up. Which GPU and which
 * net it tries next is in NCCL's order, because the first solution often stays the only one.
 *
 * Source: NCCL src/graph/search.cc (ncclTopoSearchNextGpuSort, ncclTopoSelectNets), v2.18.6-1 … v2.30.7-1. */
#include <math.h>
#include <string.h>

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
static void sort_scores(struct score *scores, int n)
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
static int neighbours(const struct graph_system *s, const struct nccl_graph *g, int gpu, int first[2])
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
static void neighbours_first(const struct graph_system *s, const struct nccl_graph *g, int gpu, int *next, int count)
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
static int neighbours_only(const struct graph_system *s, const struct nccl_graph *g, const struct graph_node *gpu,
                           int *next)
{
    int first[2], n = neighbours(s, g, gpu->index, first), count = 0;
    uint64_t flag = 1ull << g->nchannels;
    for (int f = 0; f < n; f++)
        if (gpu->paths[GRAPH_GPU][first[f]].count && !(s->nodes[GRAPH_GPU][first[f]]->used & flag))
            next[count++] = first[f];
    return count;
}

/* GPUs that may follow `gpu` in the channel, the most promising first, into `next` (room for all). `toward_net`: 1 by
 * their way to the channel's net, 0 not, -1 in reverse where all are alike. */
static int next_gpus(const struct graph_system *s, const struct nccl_graph *g, const struct graph_node *gpu, int *next,
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
    sort_scores(scores, count);
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

/* Nets to try for a GPU (-1: for any): its own ones, then those that are near enough. */
static const struct graph_nets *nets_to_try(const struct graph_system *s, const struct nccl_graph *g, int gpu)
{
    struct graph_nets *l = &s->near_nets[(int)g->type_inter * (s->n[GRAPH_GPU] + 1) + gpu + 1];
    if (!l->nets)
        list_nets(s, g->type_inter, gpu, l);
    return l;
}

/* Channels that cross from one net to another do so in pairs: the second comes in where the first went out, and the
 * other way round. */
static int is_paired(const struct graph_system *s, const struct nccl_graph *g)
{
    if (s->version >= 22300)
        return g->pattern == GRAPH_RING && g->cross_nic == 2;
    return s->version >= 22000 && g->cross_nic;
}

/* Whether a channel that came in by `first` may go out by `net` from the GPU at position `step`. */
static int may_leave_by(const struct graph_system *s, const struct nccl_graph *g, int first, int net, int step)
{
    if (g->pattern == GRAPH_TREE && net != first)
        return 0;
    if (is_paired(s, g)) {
        if (g->nchannels & 1 && net != g->nets[(g->nchannels - 1) * 2])
            return 0;
    } else if (g->cross_nic == 0 && net != first) {
        return 0;
    }
    return g->pattern != GRAPH_BALANCED_TREE || step == 0 || net == g->nets[g->nchannels * 2 + 1];
}

/* ---- one run ---- */

enum order { ORDER_FREE, ORDER_PCI, ORDER_REPLAY };

/* One run, and what its recursion shares. */
struct run {
    struct graph_system *s;
    struct nccl_graph *now, *best;
    int *steps;
    int back_to_net;   /* position of the GPU that goes out to the net; -1 none */
    int back_to_first; /* … that closes the ring; -1 none */
};

/* ---- bandwidth taken and given back ---- */

/* Rounded, or what is given back would not fit what was taken. */
static float less(float bw, float taken)
{
    return roundf((bw - taken) * 1000) / 1000;
}

/* Takes `bw` along the path, at most `hops` links of it; returns how many had enough. Negative gives back. */
static int take_path(const struct graph_system *s, struct graph_path *p, struct graph_node *start, int hops, float bw)
{
    struct graph_node *node = start;
    float pci_bw = bw;

    if (p->type == PATH_PHB && start->kind == GRAPH_GPU && s->cpu == NCCL_CPU_INTEL)
        for (int i = 0; i < p->count; i++)
            if (p->hops[i]->to->kind == GRAPH_CPU)
                pci_bw = bw * 6 / 5; /* Intel's root complex cuts packets between GPUs small */
    for (int i = 0; i < hops; i++) {
        struct graph_link *l = p->hops[i], *back = NULL;
        float forth_bw = l->type == PATH_PIX ? pci_bw : bw, back_bw = 0;
        if (l->to->kind == GRAPH_GPU && l->to->gpu.sm < 80 && start->kind != GRAPH_GPU)
            back_bw += forth_bw / 8;
        if (l->to->kind == GRAPH_CPU && s->cpu == NCCL_CPU_POWER && l->type == PATH_NVL)
            back_bw += forth_bw;
        for (int k = 0; back_bw != 0 && k < l->to->nlinks; k++)
            if (l->to->links[k].to == node && l->to->links[k].type == l->type)
                back = &l->to->links[k];
        if (l->bw < forth_bw || (back && back->bw < back_bw))
            return i;
        l->bw = less(l->bw, forth_bw);
        if (back)
            back->bw = less(back->bw, back_bw);
        node = l->to;
    }
    return hops;
}

static int local(const struct graph_node *n)
{
    return n->kind == GRAPH_GPU || n->kind == GRAPH_NVS;
}

/* Takes (mult > 0) the channel's bandwidth from `a` to `b`, or gives it back; whether there was enough of it. */
static int follow(struct run *r, struct graph_node *a, struct graph_node *b, float mult)
{
    struct nccl_graph *g = r->now;
    if (!a)
        return 1;
    struct graph_path *p = &a->paths[b->kind][b->index];
    int intra = local(a) && local(b);
    enum path_class far = intra ? g->type_intra : g->type_inter;
    float bw = (intra ? g->bw_intra : g->bw_inter) * mult;

    if (p->type >= GRAPH_DISCONNECTED || (mult == 1 && p->type > far))
        return 0;
    int tree = g->pattern == GRAPH_BALANCED_TREE || g->pattern == GRAPH_TREE;
    if (mult == 1 && tree && b->paths[a->kind][a->index].type > far)
        return 0;
    int hops = take_path(r->s, p, a, p->count, bw);
    if (hops < p->count) {
        take_path(r->s, p, a, hops, -bw);
        return 0;
    }
    g->hops += (int)(mult * (float)p->count);
    return 1;
}

/* ---- the recursion ---- */

static void search_channel(struct run *r);
static void search_gpu(struct run *r, struct graph_node *gpu, int step, int back_to_net, int back_to_first,
                       enum order order);

static int is_better(const struct run *r)
{
    const struct nccl_graph *g = r->now, *old = r->best;
    if (g->nchannels < g->min_channels)
        return 0;
    if (g->pattern == GRAPH_NVLS)
        return g->nchannels > old->nchannels ||
               (r->s->version >= 21900 && (float)g->nchannels * g->bw_inter > (float)old->nchannels * old->bw_inter);
    float bw = (float)g->nchannels * g->bw_intra, old_bw = (float)old->nchannels * old->bw_intra;
    if (r->s->version < 22000) /* not to cross nets was worth 15 % once */
        old_bw *= 1.0f - (float)(old->cross_nic - g->cross_nic) * .15f;
    if (bw != old_bw)
        return bw > old_bw;
    return g->pattern == old->pattern && g->cross_nic == old->cross_nic && g->hops < old->hops;
}

/* A channel is complete. */
static void keep_channel(struct run *r)
{
    r->now->nchannels++;
    if (is_better(r)) {
        graph_search_copy(r->best, r->now, r->s);
        if (r->now->nchannels == r->now->max_channels)
            *r->steps = -1;
    }
    if (r->now->nchannels < r->now->max_channels)
        search_channel(r);
    r->now->nchannels--;
}

static void try_gpu(struct run *r, struct graph_node *from, int gpu, int step, int back_to_net, int back_to_first,
                    enum order order)
{
    struct graph_node *g = r->s->nodes[GRAPH_GPU][gpu];
    uint64_t flag = 1ull << r->now->nchannels;
    if (!follow(r, from, g, 1))
        return;
    g->used ^= flag;
    search_gpu(r, g, step, back_to_net, back_to_first, order);
    g->used ^= flag;
    follow(r, from, g, -1);
}

/* NVLS: every GPU sends to the switches and gets from them, the head twice as much. */
static void try_nvls(struct run *r, struct graph_node *head)
{
    struct graph_node **gpus = r->s->nodes[GRAPH_GPU], *nvs = r->s->nodes[GRAPH_NVS][0];
    int n = r->s->n[GRAPH_GPU], down = 0, up = 0;
    while (down < n && follow(r, nvs, gpus[down], gpus[down] == head ? 2 : 1))
        down++;
    if (down == n) {
        while (up < n && follow(r, gpus[up], nvs, gpus[up] == head ? 2 : 1))
            up++;
        if (up == n)
            keep_channel(r);
    }
    while (up-- > 0)
        follow(r, gpus[up], nvs, gpus[up] == head ? -2 : -1);
    while (down-- > 0)
        follow(r, nvs, gpus[down], gpus[down] == head ? -2 : -1);
}

static void leave_by_net(struct run *r, struct graph_node *gpu, int step, int back_to_first, enum order order)
{
    struct nccl_graph *g = r->now;
    const struct graph_nets *l = nets_to_try(r->s, r->now, gpu->index);
    int first = g->nets[g->nchannels * 2];
    /* a balanced tree has half of the traffic at each of its first two GPUs */
    int balanced = g->pattern == GRAPH_BALANCED_TREE;
    int again = balanced && step == 0 ? 1 : -1;
    float whole = g->bw_inter;

    for (int i = 0; i<l->n && * r->steps> 0; i++) {
        struct graph_node *net = r->s->nodes[GRAPH_NET][l->nets[i]];
        if (!may_leave_by(r->s, g, first, net->index, step))
            continue;
        g->bw_inter = balanced ? whole / 2 : whole;
        int enough = follow(r, gpu, net, 1);
        g->bw_inter = whole;
        if (!enough)
            continue;
        g->nets[g->nchannels * 2 + 1] = net->index;
        search_gpu(r, gpu, step, again, back_to_first, order);
        g->bw_inter = balanced ? whole / 2 : whole;
        follow(r, gpu, net, -1);
        g->bw_inter = whole;
    }
}

/* The GPU at the same place of the last channel; -1 none. */
static int replayed(const struct run *r, int step)
{
    return r->now->gpus[(r->now->nchannels - 1) * r->s->n[GRAPH_GPU] + step];
}

/* `gpu` is at position `step` of the channel; what now? */
static void search_gpu(struct run *r, struct graph_node *gpu, int step, int back_to_net, int back_to_first,
                       enum order order)
{
    struct nccl_graph *g = r->now;
    int n = r->s->n[GRAPH_GPU];
    if (*r->steps <= 0)
        return;
    (*r->steps)--;
    if (step == n) {
        keep_channel(r);
        return;
    }
    g->gpus[g->nchannels * n + step] = gpu->index;
    if (step == back_to_net) {
        leave_by_net(r, gpu, step, back_to_first, order);
    } else if (g->pattern == GRAPH_NVLS) {
        try_nvls(r, gpu);
    } else if (step < n - 1) {
        int next[GRAPH_MOST_GPUS], count = 1;
        if (order == ORDER_PCI)
            next[0] = step + 1;
        else if (order == ORDER_REPLAY)
            next[0] = replayed(r, step + 1);
        else
            count = next_gpus(r->s, g, gpu, next, back_to_net == -1 ? 0 : back_to_net == step + 1 ? 1 : -1);
        for (int i = 0; i<count && * r->steps> 0; i++)
            try_gpu(r, gpu, next[i], step + 1, back_to_net, back_to_first, order);
    } else if (step == back_to_first) {
        struct graph_node *first = r->s->nodes[GRAPH_GPU][g->gpus[g->nchannels * n]];
        if (follow(r, gpu, first, 1)) {
            search_gpu(r, first, step + 1, back_to_net, -1, order);
            follow(r, gpu, first, -1);
        }
    } else {
        search_gpu(r, gpu, n, -1, -1, order);
    }
}

/* The GPU that is tried first on a net, and the others that are as near. */
static void try_local_gpus(struct run *r, struct graph_node *net)
{
    int gpus[GRAPH_MOST_GPUS], n = graph_nearest(r->s, net, GRAPH_GPU, gpus), first = net->net.local;
    if (r->s->version >= 22700) {
        if (first >= 0)
            try_gpu(r, net, first, 0, r->back_to_net, r->back_to_first, ORDER_FREE);
        for (int i = 0; i<n && * r->steps> 0; i++)
            if (gpus[i] != first)
                try_gpu(r, net, gpus[i], 0, r->back_to_net, r->back_to_first, ORDER_FREE);
        return;
    }
    /* older releases: the widest and shortest ways, from another GPU for each channel */
    const struct graph_path *paths = net->paths[GRAPH_GPU];
    float widest = 0;
    int hops = 0, all = r->s->n[GRAPH_GPU];
    for (int g = 0; g < all; g++)
        if (paths[g].bw > widest || (paths[g].bw == widest && paths[g].count > 0 && paths[g].count < hops)) {
            widest = paths[g].bw;
            hops = paths[g].count;
        }
    for (int i = 0; i<all && * r->steps> 0 && widest >= (float)(int)r->now->bw_inter; i++) {
        int g = r->s->version >= 21900 ? (r->now->nchannels + i) % all : i;
        if (paths[g].bw == widest && paths[g].count == hops)
            try_gpu(r, net, g, 0, r->back_to_net, r->back_to_first, ORDER_FREE);
    }
}

static int is_head(const struct run *r, int gpu)
{
    for (int c = 0; c < r->now->nchannels; c++)
        if (r->now->gpus[c * r->s->n[GRAPH_GPU]] == gpu)
            return 1;
    return 0;
}

static void enter_by_net(struct run *r, struct graph_node *net)
{
    struct nccl_graph *g = r->now;
    if (g->pattern == GRAPH_NVLS) {
        if (net->net.local >= 0)
            try_gpu(r, net, net->net.local, 0, r->back_to_net, r->back_to_first, ORDER_FREE);
        return;
    }
    if (g->nchannels > 0 && g->same_channels) {
        try_gpu(r, net, replayed(r, 0), 0, r->back_to_net, r->back_to_first, ORDER_REPLAY);
        return;
    }
    if (g->nchannels > 0 && r->s->version < 22700)
        try_gpu(r, net, replayed(r, 0), 0, r->back_to_net, r->back_to_first, ORDER_REPLAY);
    if (g->nchannels == 0 && (!r->s->n[GRAPH_NVS] || r->s->version < 21900)) {
        /* the order of PCI addresses as a mark to beat, outside the count of steps */
        int few = r->s->amd ? 1 << 8 : 1 << 10, *steps = r->steps;
        r->steps = &few;
        try_gpu(r, net, 0, 0, r->back_to_net, r->back_to_first, ORDER_PCI);
        r->steps = steps;
        if (few == -1)
            *steps = -1;
    }
    try_local_gpus(r, net);
}

static void search_nets(struct run *r)
{
    struct nccl_graph *g = r->now;
    const struct graph_nets *l = nets_to_try(r->s, r->now, -1);
    int n = l->n, bw = (int)g->bw_inter;

    for (int i = 0; i < n && (*r->steps > 0 || g->nchannels == 0); i++) {
        int at = l->nets[((r->s->version >= 21900 ? g->nchannels : 0) + i) % n];
        struct graph_node *net = r->s->nodes[GRAPH_NET][at];
        if (net->net.bw < (float)bw)
            continue;
        if (is_paired(r->s, g) && g->nchannels & 1 && at != g->nets[(g->nchannels - 1) * 2 + 1])
            continue;
        int nvls = g->pattern == GRAPH_NVLS;
        int head = nvls && g->nchannels < n && net->net.local >= 0 && !is_head(r, net->net.local);
        if (nvls && !head && r->s->version >= 22200) /* it looks for one that is none yet */
            continue;
        g->nets[g->nchannels * 2] = at;
        g->latency_inter = net->net.latency;
        net->net.bw -= (float)bw;
        enter_by_net(r, net);
        net->net.bw += (float)bw;
        if (nvls)
            break;
    }
}

static void search_channel(struct run *r)
{
    struct nccl_graph *g = r->now;
    if (r->s->inter) {
        search_nets(r);
        return;
    }
    if (g->pattern == GRAPH_NVLS) {
        try_gpu(r, NULL, g->nchannels, 0, r->back_to_net, r->back_to_first, ORDER_FREE);
        return;
    }
    if (g->nchannels == 0)
        try_gpu(r, NULL, 0, 0, r->back_to_net, r->back_to_first, ORDER_PCI);
    else
        try_gpu(r, NULL, replayed(r, 0), 0, r->back_to_net, r->back_to_first, ORDER_REPLAY);
    for (int i = 0; i < r->s->n[GRAPH_GPU] && (!g->same_channels || g->nchannels == 0); i++)
        try_gpu(r, NULL, i, 0, r->back_to_net, r->back_to_first, ORDER_FREE);
}

/* ---- public ---- */

void graph_search_init(struct nccl_graph *g, const struct graph_system *s, enum graph_pattern pattern, int least,
                       int most)
{
    *g = (struct nccl_graph){.pattern = pattern, .min_channels = least, .max_channels = most};
    g->gpus = arena_alloc(s->arena, (size_t)GRAPH_MOST_CHANNELS * (size_t)s->n[GRAPH_GPU] * sizeof *g->gpus);
    g->nets = arena_alloc(s->arena, (size_t)GRAPH_MOST_CHANNELS * 2 * sizeof *g->nets);
}

void graph_search_copy(struct nccl_graph *to, const struct nccl_graph *from, const struct graph_system *s)
{
    int *gpus = to->gpus, *nets = to->nets;
    memcpy(gpus, from->gpus, (size_t)from->nchannels * (size_t)s->n[GRAPH_GPU] * sizeof *gpus);
    memcpy(nets, from->nets, (size_t)from->nchannels * 2 * sizeof *nets);
    *to = *from;
    to->gpus = gpus;
    to->nets = nets;
}

void graph_search_run(struct graph_system *s, struct nccl_graph *wanted, struct nccl_graph *best, int *steps)
{
    struct run r = {.s = s, .now = wanted, .best = best, .steps = steps, .back_to_net = -1, .back_to_first = -1};
    int last = s->n[GRAPH_GPU] - 1;
    if (s->inter)
        r.back_to_net = wanted->pattern == GRAPH_RING ? last : 0;
    else if (wanted->pattern == GRAPH_RING)
        r.back_to_first = last;
    wanted->nchannels = 0;
    search_channel(&r);
}
