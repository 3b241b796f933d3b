/* The recursion that looks for channels: GPUs in a row, each link with enough bandwidth left, from a net and back to
 * one, channel after channel until there are as many as were asked for or the steps are used up. */
#include <math.h>
#include <string.h>

#include "model/nccl/graph.h"

enum order { ORDER_FREE, ORDER_PCI, ORDER_REPLAY };

/* One run, and what its recursion shares. */
struct run {
    struct graph_system *s;
    struct graph_search *now, *best;
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
    struct graph_search *g = r->now;
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
    const struct graph_search *g = r->now, *old = r->best;
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
    struct graph_search *g = r->now;
    const struct graph_nets *l = graph_nets_to_try(r->s, r->now, gpu->index);
    int first = g->nets[g->nchannels * 2];
    /* a balanced tree has half of the traffic at each of its first two GPUs */
    int balanced = g->pattern == GRAPH_BALANCED_TREE;
    int again = balanced && step == 0 ? 1 : -1;
    float whole = g->bw_inter;

    for (int i = 0; i<l->n && * r->steps> 0; i++) {
        struct graph_node *net = r->s->nodes[GRAPH_NET][l->nets[i]];
        if (!graph_may_leave_by(r->s, g, first, net->index, step))
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
    struct graph_search *g = r->now;
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
            count = graph_next_gpus(r->s, g, gpu, next, back_to_net == -1 ? 0 : back_to_net == step + 1 ? 1 : -1);
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
    struct graph_search *g = r->now;
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
    struct graph_search *g = r->now;
    const struct graph_nets *l = graph_nets_to_try(r->s, r->now, -1);
    int n = l->n, bw = (int)g->bw_inter;

    for (int i = 0; i < n && (*r->steps > 0 || g->nchannels == 0); i++) {
        int at = l->nets[((r->s->version >= 21900 ? g->nchannels : 0) + i) % n];
        struct graph_node *net = r->s->nodes[GRAPH_NET][at];
        if (net->net.bw < (float)bw)
            continue;
        if (graph_is_paired(r->s, g) && g->nchannels & 1 && at != g->nets[(g->nchannels - 1) * 2 + 1])
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
    struct graph_search *g = r->now;
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

void graph_search_init(struct graph_search *g, const struct graph_system *s, enum graph_pattern pattern, int least,
                       int most)
{
    *g = (struct graph_search){.pattern = pattern, .min_channels = least, .max_channels = most};
    g->gpus = arena_alloc(s->arena, (size_t)GRAPH_MOST_CHANNELS * (size_t)s->n[GRAPH_GPU] * sizeof *g->gpus);
    g->nets = arena_alloc(s->arena, (size_t)GRAPH_MOST_CHANNELS * 2 * sizeof *g->nets);
}

void graph_search_copy(struct graph_search *to, const struct graph_search *from, const struct graph_system *s)
{
    int *gpus = to->gpus, *nets = to->nets;
    memcpy(gpus, from->gpus, (size_t)from->nchannels * (size_t)s->n[GRAPH_GPU] * sizeof *gpus);
    memcpy(nets, from->nets, (size_t)from->nchannels * 2 * sizeof *nets);
    *to = *from;
    to->gpus = gpus;
    to->nets = nets;
}

void graph_search_run(struct graph_system *s, struct graph_search *wanted, struct graph_search *best, int *steps)
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
