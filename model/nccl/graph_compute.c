/* What NCCL asks its search for, in which order, and when it is content.
 *
 * Source: NCCL src/graph/search.cc (ncclTopoCompute), v2.18.6-1 … v2.30.7-1. */
#include <limits.h>

#include "model/nccl/graph.h"

/* ---- bandwidths that are tried, GB/s, by release ---- */

struct speeds {
    int since, sm; /* the first release and GPU that they are for */
    int n;
    float GBps[20];
};

#define SPEEDS(since, sm, ...)                                            \
    {                                                                     \
        since, sm, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), \
        {                                                                 \
            __VA_ARGS__                                                   \
        }                                                                 \
    }

/* Of the rows that fit, the last counts. */
static const struct speeds within[] = {
    SPEEDS(0, 0, 40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3),
    SPEEDS(0, 90, 60, 40, 30, 24, 20, 15, 12, 6, 3),
    SPEEDS(21900, 90, 60, 50, 40, 30, 24, 20, 15, 12, 6, 3),
    SPEEDS(22100, 90, 60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3),
    SPEEDS(22500, 100, 90, 80, 70, 60, 50, 40, 30, 24, 20, 19),
    SPEEDS(22700, 100, 90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18),
    SPEEDS(22900, 100, 90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18),
};

static const struct speeds between[] = {
    SPEEDS(0, 0, 48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(0, 90, 48, 45, 42, 40, 30, 24, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(21900, 90, 48, 45, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(22500, 100, 48, 45, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(22700, 100, 96, 48, 45.1f, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(22900, 100, 96, 80, 48, 45.1f, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
    SPEEDS(23000, 100, 96, 86, 80, 48, 45.1f, 42, 40, 30, 24, 22, 20, 17.5f, 15, 12, 6, 3, 2.4f, 1.2f, 0.24f, 0.12f),
};

static const struct speeds *speeds_for(const struct graph_system *s)
{
    const struct speeds *table = s->inter ? between : within, *found = table;
    size_t n = s->inter ? sizeof between / sizeof *between : sizeof within / sizeof *within;
    for (size_t i = 0; i < n; i++)
        if (table[i].since <= s->version && table[i].sm <= s->sm)
            found = &table[i];
    return found;
}

/* ---- how long it may take ---- */

#define STEPS      (1 << 14)
#define STEPS_SAME (1 << 8)  /* with copies of one channel there is little to try */
#define STEPS_ALL  (1 << 20) /* NCCL goes on for seconds where nothing fits */
#define STEPS_AMD  (1 << 9)  /* RCCL looks its machines up in tables instead */

/* ---- distances ---- */

static void distances(const struct graph_system *s, enum graph_kind to, enum path_class *least, enum path_class *most)
{
    *least = PATH_SYS;
    *most = PATH_LOC;
    for (int g = 0; g < s->n[GRAPH_GPU]; g++)
        for (int i = 0; i < s->n[to]; i++) {
            enum path_class t = s->nodes[GRAPH_GPU][g]->paths[to][i].type;
            if (to == GRAPH_GPU && i == g)
                continue;
            *least = t < *least ? t : *least;
            *most = t > *most ? t : *most;
        }
}

struct range {
    enum path_class intra, inter;           /* to start with */
    enum path_class most_intra, most_inter; /* and no further than */
};

static struct range range_of(const struct graph_system *s)
{
    struct range r = {PATH_LOC, PATH_PIX, PATH_SYS, PATH_SYS};
    if (s->version < 22500) {
        r.intra = s->n[GRAPH_GPU] > 1 ? PATH_NVL : PATH_LOC;
        return r;
    }
    if (s->n[GRAPH_GPU] > 1)
        distances(s, GRAPH_GPU, &r.intra, &r.most_intra);
    if (s->inter) {
        distances(s, GRAPH_NET, &r.inter, &r.most_inter);
        r.most_inter = r.most_inter < PATH_SYS ? r.most_inter : PATH_SYS; /* a tray does not reach others' NICs */
        r.most_intra = r.most_inter;
    }
    if (s->version >= 22900 && s->sm < 90)
        r.most_inter = PATH_SYS;
    return r;
}

/* Two groups of GPUs with NVLink inside, and something slower in between: trees will want two channels. */
static int split_nvlink(const struct graph_system *s)
{
    int n = s->n[GRAPH_GPU], domains = 0;
    int *domain = arena_alloc(s->arena, 2 * (size_t)n * sizeof *domain), *members = domain + n;
    for (int g = 0; g < n; g++)
        domain[g] = g;
    for (int g = 0; g < n; g++)
        for (int p = g + 1; p < n; p++)
            if (s->nodes[GRAPH_GPU][g]->paths[GRAPH_GPU][p].type == PATH_NVL)
                domain[p] = domain[g];
    for (int g = 0; g < n; g++)
        members[domain[g]]++;
    for (int g = 0; g < n; g++)
        domains += members[g] > 1;
    return domains == 2;
}

/* ---- after a search ---- */

/* A fast link needs more than one channel to be used. */
static void duplicate(struct nccl_graph *g, const struct graph_system *s)
{
    int n = s->n[GRAPH_GPU], found = g->nchannels;
    if (!found || g->pattern == GRAPH_NVLS || g->bw_intra < 25.0f || (s->sm > 80 && g->bw_intra < 50.0f && found > 4))
        return;
    int wanted = found * 2 < g->max_channels ? found * 2 : g->max_channels;
    for (int c = found; c < wanted; c++) {
        for (int i = 0; i < n; i++)
            g->gpus[c * n + i] = g->gpus[(c - found) * n + i];
        g->nets[c * 2] = g->nets[(c - found) * 2];
        g->nets[c * 2 + 1] = g->nets[(c - found) * 2 + 1];
    }
    int times = (wanted + found - 1) / found;
    g->bw_intra /= (float)times;
    g->bw_inter /= (float)times;
    g->nchannels = wanted;
}

/* Nothing was found: all GPUs in a row, as slow as can be. */
static void give_up(struct nccl_graph *g, const struct graph_system *s)
{
    int several;
    g->nchannels = 1;
    for (int i = 0; i < s->n[GRAPH_GPU]; i++)
        g->gpus[i] = i;
    g->bw_intra = g->bw_inter = 0.1f;
    g->type_intra = g->type_inter = PATH_SYS;
    g->nets[0] = g->nets[1] = 0;
    if (!s->inter || s->version < 22900)
        return;
    g->nets[0] = graph_net_of(s, 0, 0, &several);
    g->nets[1] = graph_net_of(s, s->n[GRAPH_GPU] - 1, 0, &several);
    if (g->nets[0] < 0 || g->nets[1] < 0)
        g->nets[0] = g->nets[1] = 0;
}

/* ---- the first pass: down until something is found ---- */

struct quest {
    struct graph_system *s;
    struct nccl_graph *found, wanted;
    struct range range;
    const struct speeds *speeds;
    int speed; /* index */
    int cross_nic;
    int same;   /* channels may be copies of one another */
    long spent; /* steps, all together */
};

/* The fewest links of a channel of the pattern. */
static int least_hops(const struct graph_system *s, enum graph_pattern pattern)
{
    int n = s->n[GRAPH_GPU], intra = INT_MAX, in = INT_MAX, out = INT_MAX;
    for (int g = 0; g < n; g++) {
        const struct graph_node *gpu = s->nodes[GRAPH_GPU][g];
        for (int p = 0; p < n; p++)
            if (p != g && gpu->paths[GRAPH_GPU][p].count < intra)
                intra = gpu->paths[GRAPH_GPU][p].count;
        for (int i = 0; i < s->n[GRAPH_NET]; i++) {
            int to = gpu->paths[GRAPH_NET][i].count, from = s->nodes[GRAPH_NET][i]->paths[GRAPH_GPU][g].count;
            out = to < out ? to : out;
            in = from < in ? from : in;
        }
    }
    int outs = pattern == GRAPH_BALANCED_TREE ? 2 : 1;
    return (n > 1 ? (n - 1) * intra : 0) + (s->inter ? in + outs * out : 0);
}

/* Whether the wanted cannot lead to anything better than what was found, so that all its steps would be in vain. NCCL
 * takes them. */
static int is_vain(const struct quest *q)
{
    const struct nccl_graph *w = &q->wanted, *f = q->found;
    const struct graph_system *s = q->s;
    int most = w->max_channels, bw = (int)w->bw_inter, nets = 0;

    if (w->pattern == GRAPH_NVLS || s->version < 22000)
        return 0;
    for (int i = 0; s->inter && bw && i < s->n[GRAPH_NET]; i++)
        nets += (int)(s->nodes[GRAPH_NET][i]->net.bw / (float)bw);
    if (s->inter && bw && nets < most)
        most = nets;
    if (most < w->min_channels)
        return 1;
    float best = (float)most * w->bw_intra, found = (float)f->nchannels * f->bw_intra;
    if (best != found)
        return best < found;
    return w->pattern != f->pattern || w->cross_nic != f->cross_nic || f->hops <= most * least_hops(s, w->pattern);
}

static void search_wanted(struct quest *q, int *steps)
{
    int most = q->wanted.same_channels || q->spent > STEPS_ALL ? STEPS_SAME : q->s->amd ? STEPS_AMD : STEPS;
    *steps = most;
    if (is_vain(q))
        return;
    graph_search_run(q->s, &q->wanted, q->found, steps);
    q->spent += *steps > 0 ? most - *steps : most;
}

static void at_speed(struct quest *q, int speed)
{
    q->speed = speed;
    q->wanted.bw_intra = q->wanted.bw_inter = q->speeds->GBps[speed];
}

/* The next distance that the release knows: C2C came with 2.26, P2C with 2.27. */
static enum path_class further(enum path_class type, int version)
{
    type++;
    if (type == PATH_C2C && version < 22600)
        type++;
    if (type == PATH_P2C && version < 22700)
        type++;
    return type;
}

/* Makes the wanted more modest after a search that was not good enough; whether there is anything left to ask for. */
static int relent(struct quest *q)
{
    struct nccl_graph *w = &q->wanted, *f = q->found;
    const struct graph_system *s = q->s;

    if (s->sm >= 90 && w->pattern == GRAPH_BALANCED_TREE) {
        w->pattern = GRAPH_TREE;
        return 1;
    }
    w->pattern = q->found->pattern;
    enum path_class most_intra = s->inter ? w->type_inter : q->range.most_intra;
    if (w->type_intra < most_intra && (!f->nchannels || w->type_intra < f->type_intra)) {
        w->type_intra = further(w->type_intra, s->version);
        return 1;
    }
    w->type_intra = q->range.intra;
    if (s->inter && w->type_inter < q->range.most_inter &&
        (!f->nchannels || w->type_inter < f->type_inter || w->type_inter < PATH_PXN)) {
        w->type_inter = further(w->type_inter, s->version);
        return 1;
    }
    w->type_inter = q->range.inter;
    int crossing = f->pattern == GRAPH_RING || f->pattern == GRAPH_BALANCED_TREE;
    if (q->cross_nic == 2 && w->cross_nic == 0 && crossing) {
        w->cross_nic = s->version >= 22300 ? 2 : 1;
        return 1;
    }
    w->cross_nic = q->cross_nic == 1;
    if (q->speed < q->speeds->n - 1 && (!f->nchannels || q->speeds->GBps[q->speed + 1] / f->bw_inter > .49f)) {
        at_speed(q, q->speed + 1);
        return 1;
    }
    return 0;
}

static void descend(struct quest *q)
{
    const struct graph_system *s = q->s;
    long left = s->version >= 21900 ? 1 << 19 : 5 << 16;

    for (;;) {
        int steps;
        search_wanted(q, &steps);
        left -= q->wanted.same_channels ? STEPS_SAME : STEPS;
        if (steps == -1 || (float)q->found->nchannels * q->found->bw_inter >= s->total_bw)
            return;
        int far_on_amd = s->version >= 21900 && s->cpu == NCCL_CPU_AMD && q->wanted.type_intra == PATH_SYS;
        if (q->wanted.same_channels && !far_on_amd) {
            q->wanted.same_channels = 0;
            continue;
        }
        q->wanted.same_channels = q->same;
        left += steps;
        if (left < 0 && q->found->nchannels)
            return;
        if (!relent(q))
            return;
    }
}

/* ---- the second: up as far as it goes with as many channels ---- */

static void climb(struct quest *q)
{
    struct nccl_graph *w = &q->wanted, *f = q->found;
    int steps = -1, speed = 0;

    graph_search_copy(w, f, q->s);
    while (speed < q->speeds->n - 1 && q->speeds->GBps[speed] > f->bw_inter)
        speed++;
    at_speed(q, speed);
    w->min_channels = f->nchannels;
    while (steps != 0 && q->speed > 0) {
        if (f->pattern == GRAPH_RING) {
            if (q->s->version < 21900)
                return;
            at_speed(q, q->speed - 1);
        } else if (f->pattern == GRAPH_NVLS && q->s->version >= 21900 && w->bw_inter == f->bw_inter &&
                   w->bw_inter < w->bw_intra * 2) {
            w->min_channels = w->max_channels = f->nchannels;
            w->bw_inter = q->speeds->GBps[--q->speed];
        } else if (w->bw_intra == f->bw_intra && w->bw_intra < w->bw_inter * 2) {
            w->bw_intra = q->speeds->GBps[--q->speed];
        } else {
            return;
        }
        search_wanted(q, &steps);
    }
}

/* ---- public ---- */

void graph_compute(struct graph_system *s, struct nccl_graph *g)
{
    int gpus = s->n[GRAPH_GPU];
    int crossing = g->pattern == GRAPH_RING || g->pattern == GRAPH_BALANCED_TREE;
    struct quest q = {.s = s, .found = g, .range = range_of(s), .speeds = speeds_for(s)};

    if (g->pattern == GRAPH_NVLS && (!s->n[GRAPH_NVS] || s->sm < 90))
        return;
    q.cross_nic = s->n[GRAPH_NET] > 1 && crossing ? s->cross_nic : 0;
    g->cross_nic = q.cross_nic == 1;
    g->type_intra = q.range.intra;
    g->type_inter = q.range.inter;
    g->same_channels = q.same = g->pattern != GRAPH_NVLS;
    if (g->pattern == GRAPH_NVLS) {
        int most = s->version >= 22500 && gpus > 32 ? 32 : gpus;
        g->max_channels = most;
        if (!s->inter)
            g->min_channels = most;
    }
    if (gpus == 1 && g->pattern != GRAPH_RING)
        g->pattern = GRAPH_TREE;
    if (g->pattern == GRAPH_RING && s->version >= 22600 && split_nvlink(s))
        g->min_channels = 2;

    graph_search_init(&q.wanted, s, g->pattern, g->min_channels, g->max_channels);
    graph_search_copy(&q.wanted, g, s);
    float total = s->total_bw;
    if (gpus > 1 && g->pattern != GRAPH_RING) /* other patterns need not come back to where they started */
        total *= (float)(gpus * 1.0 / (gpus - 1));
    int speed = 0;
    while (speed < q.speeds->n - 1 &&
           (q.speeds->GBps[speed] > s->max_bw || q.speeds->GBps[speed] * (float)g->min_channels > total))
        speed++;
    at_speed(&q, speed);
    descend(&q);
    if (s->version >= 21900)
        duplicate(g, s);
    if (g->nchannels)
        climb(&q);
    if (s->version < 21900)
        duplicate(g, s);
    if (!g->nchannels && g->pattern != GRAPH_NVLS)
        give_up(g, s);
}
