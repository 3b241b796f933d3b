/* The cost model: what NCCL believes a call takes. Follows the order and the rounding of NCCL's own code (float, with
 * doubles in between), so that close calls fall to the same side. */
#include "model/nccl/model.h"

#include <float.h>

#include "model/nccl/cost_constants.h"
#include "model/nccl/rccl.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static int log2_floor(uint64_t n)
{
    return n ? 63 - __builtin_clzll(n) : -1;
}

/* ---- the situation ---- */

/* What all cells share. */
struct view {
    const struct nccl_model *m;
    struct nccl_constants c;
    int version;
    enum nccl_generation generation;
    enum nccl_scale scale;
    float per_node; /* ranks, as a fraction where nodes differ */
    float net_overhead_us;
};

/* RCCL's own constants of hops and calls, the same in all its releases for a call. */
static void take_rccl(struct view *v)
{
    static const float base[PROTO_COUNT] = {12, 12, 17};
    for (int p = 0; p < PROTO_COUNT; p++) {
        v->c.base[ALGO_TREE][p] = v->c.base[ALGO_RING][p] = base[p];
        for (int l = 0; l < NCCL_LINK_COUNT; l++) {
            v->c.hop[l][ALGO_TREE][p] = v->m->rccl->hop_us[l][0][p];
            v->c.hop[l][ALGO_RING][p] = v->m->rccl->hop_us[l][1][p];
        }
    }
}

static struct view view_of(const struct nccl_model *m)
{
    struct view v = {
        .m = m,
        .c = nccl_constants_of(m->version),
        .version = m->version,
        .generation = m->sm >= 100  ? NCCL_BLACKWELL
                      : m->sm >= 90 ? NCCL_HOPPER
                      : m->sm >= 80 ? NCCL_AMPERE
                                    : NCCL_VOLTA,
        .scale = m->nodes == 1   ? NCCL_ONE_NODE
                 : m->nodes == 2 ? NCCL_TWO_NODES
                                 : NCCL_MORE_NODES,
        .per_node = (float)m->ranks / (float)m->nodes,
        .net_overhead_us = m->cpu == NCCL_CPU_AMD ? 2.0f : 1.0f,
    };
    if (m->rccl)
        take_rccl(&v);
    if (m->cpu == NCCL_CPU_POWER)
        v.c.hop[NCCL_LINK_PCI][ALGO_TREE][PROTO_SIMPLE] = v.c.hop[NCCL_LINK_PCI][ALGO_RING][PROTO_SIMPLE];
    return v;
}

static const struct nccl_graph *graph_of(const struct nccl_model *m, int algo)
{
    switch (algo) {
    case ALGO_TREE:
    case ALGO_PAT: /* PAT has no graph of its own: NCCL gives it the tree's */
        return &m->tree;
    case ALGO_NVLS:
    case ALGO_NVLS_TREE:
        return &m->nvls;
    default:
        return &m->ring;
    }
}

static int gathers(int coll)
{
    return coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER;
}

/* ---- which cells exist ---- */

static int exists(const struct nccl_model *m, int coll, int algo, int proto)
{
    if (m->rccl) {
        int slow = m->nodes == 1 && rccl_is_cdna3(m) && proto == PROTO_SIMPLE; /* trees there */
        return algo == ALGO_RING || (algo == ALGO_TREE && coll == COLL_ALLREDUCE && !slow);
    }
    switch (algo) {
    case ALGO_RING:
        return 1;
    case ALGO_TREE:
        return coll == COLL_ALLREDUCE;
    case ALGO_NVLS: /* across nodes only with CollNet */
        return proto == PROTO_SIMPLE && m->nodes == 1 && m->nvls.nchannels &&
               (coll == COLL_ALLREDUCE || (gathers(coll) && m->version >= 21900 && m->ranks_per_node <= 32));
    case ALGO_NVLS_TREE:
        return proto == PROTO_SIMPLE && m->nodes > 1 && m->nvls.nchannels && coll == COLL_ALLREDUCE;
    case ALGO_PAT:
        return proto == PROTO_SIMPLE && gathers(coll) && m->version >= 22300 && m->sm >= 60 && m->nodes == m->ranks;
    default:
        return 0;
    }
}

/* LL128 relies on 128-byte stores that arrive whole, which not every path keeps. NCCL_PROTO takes the check away: with
 * LL128 left on its list, LL128 is used anyway. */
static int ll128_enabled(const struct nccl_model *m, const struct nccl_graph *g, int coll)
{
    static const int proven[] = {70, 80, 90, 100, 120};

    if (m->rccl)
        return rccl_ll128(m);
    if (m->setup.protos[coll] & 1u << PROTO_LL128)
        return 1;
    if (g->type_intra > PATH_NVB || g->type_inter > (m->sm >= 90 ? PATH_PXN : PATH_PXB))
        return 0;
    if (m->sm != m->sm_most && !(m->version >= 23000 && m->sm >= 90))
        return 0;
    if (m->version >= 22700)
        return m->sm >= 70;
    for (size_t i = 0; i < sizeof proven / sizeof *proven; i++)
        if (m->sm == proven[i])
            return m->sm < 100 || m->version >= 22500;
    return 0;
}

/* ---- bandwidth ---- */

/* NVLS: a channel pulls and pushes at the switches, and its bandwidth has another meaning. */
static float nvls_bw(const struct view *v, const struct nccl_graph *g, int coll, int algo)
{
    float intra = g->bw_intra, inter = g->bw_inter;
    if (v->version < 21900)
        return v->scale == NCCL_MORE_NODES ? inter : intra;
    if (v->version < 22800) {
        if (algo == ALGO_NVLS_TREE)
            return MIN(intra, v->scale == NCCL_MORE_NODES ? inter / 2 : inter);
        if (v->version < 22700 || coll == COLL_ALLREDUCE)
            return MIN(intra, inter);
        return MIN(intra * (v->per_node - 1.0f) / v->per_node, inter * 0.9f);
    }
    intra = intra * nccl_nvls_efficiency[v->generation] * (float)(g->nchannels - 1) / (float)g->nchannels;
    if (coll == COLL_ALLREDUCE)
        intra *= 2.0f;
    else
        intra *= (v->per_node - 1) / v->per_node;
    if (v->scale != NCCL_MORE_NODES && algo == ALGO_NVLS_TREE)
        inter *= 2;
    float most = algo == ALGO_NVLS_TREE ? (float)(*v->c.nvls_tree)[v->generation][v->scale] : FLT_MAX;
    return MIN(MIN(intra, inter), most);
}

static float ring_bw(const struct view *v, int channels, int coll, int proto, float bus, double ll_most)
{
    if (proto == PROTO_LL) {
        double part = 0.5;
        if (v->version < 22100)
            part = v->m->nodes > 1 || coll == COLL_ALLREDUCE || coll == COLL_REDUCE ? 1.0 / 4.0 : 1.0 / 3.0;
        return (float)MIN(ll_most, bus * part);
    }
    if (proto == PROTO_LL128) {
        double part = v->version < 22300 && v->per_node < 2 ? 0.7 : 0.92;
        return (float)MIN(bus * part, channels * (*v->c.ring_ll128)[v->generation][v->scale]);
    }
    return bus;
}

static float tree_bw(const struct view *v, int channels, int plain, int proto, float bus, double ll_most)
{
    bus = (float)MIN(bus * .92, channels * (*v->c.tree)[v->generation][v->scale]);
    if (proto == PROTO_LL)
        bus = (float)MIN(bus * 1.0 / 3.8, ll_most);
    if (proto == PROTO_LL128)
        bus = (float)MIN(bus * (v->scale == NCCL_ONE_NODE ? 7.0 / 9.0 : 120.0 / 128.0),
                         channels * (*v->c.tree_ll128)[v->generation][v->scale]);
    return plain ? (float)(bus * .85) : bus;
}

/* From what flows on the wires to what the caller gets. */
static float algorithm_bw(const struct view *v, int coll, int algo, float bus, double steps)
{
    const struct nccl_model *m = v->m;

    if (gathers(coll) && algo != ALGO_RING && v->version >= 22300)
        return bus;
    if (algo == ALGO_TREE)
        return bus * .5f;
    if (algo == ALGO_RING || v->version >= 22800)
        return bus * (float)(1.0 * m->ranks / steps);
    if (v->version < 21900 && algo == ALGO_NVLS_TREE)
        return bus * (float)(.70 * m->nodes / (2 * (m->nodes - 1)));
    return bus * (float)(5.0 / 6.0);
}

/* RCCL: a part of what the graph carries. Rings by hand carry all that a GPU can. */
static float rccl_bw(const struct view *v, const struct nccl_graph *g, int coll, int algo, int proto)
{
    const struct nccl_model *m = v->m;
    double bw = v->scale == NCCL_MORE_NODES ? g->bw_inter : g->bw_intra;
    double bus = m->rccl_rings ? m->total_bw : g->nchannels * bw;
    bus *= v->m->rccl->part[v->scale == NCCL_MORE_NODES][algo == ALGO_RING][proto];
    int doubled = algo == ALGO_RING && proto == PROTO_LL && (coll == COLL_BROADCAST || coll == COLL_REDUCE);
    return (float)(doubled && m->nodes == 1 && rccl_is_cdna3(m) ? bus * 1.65 : bus);
}

static float bandwidth_of(const struct view *v, int coll, int algo, int proto, double steps)
{
    const struct nccl_graph *g = graph_of(v->m, algo);
    int nvls = algo == ALGO_NVLS || algo == ALGO_NVLS_TREE;

    if (v->m->rccl)
        return algorithm_bw(v, coll, algo, rccl_bw(v, g, coll, algo, proto), steps);
    if (nvls && v->version >= 22800 && g->nchannels < 2)
        return 0;
    float bw = v->scale == NCCL_MORE_NODES ? g->bw_inter : g->bw_intra;
    if (nvls)
        bw = nvls_bw(v, g, coll, algo);
    float bus = (float)g->nchannels * bw;
    /* across nodes the processor decides, and only AMD's has a row of its own */
    int row = v->scale == NCCL_ONE_NODE ? (int)v->generation : v->m->cpu == NCCL_CPU_AMD;
    double ll_most = (*v->c.ll)[row][v->scale];
    if (algo == ALGO_RING)
        bus = ring_bw(v, g->nchannels, coll, proto, bus, ll_most);
    else if (algo == ALGO_TREE)
        bus = tree_bw(v, g->nchannels, g->pattern == GRAPH_TREE, proto, bus, ll_most);
    else if (algo == ALGO_PAT)
        bus = (float)(bus * (v->version >= 22400 ? .75 : .85));
    return algorithm_bw(v, coll, algo, bus, steps);
}

/* ---- latency ---- */

static float ring_us(const struct view *v, const struct nccl_graph *g, int coll, int proto, enum nccl_link local,
                     float inter_us, double steps)
{
    const struct nccl_model *m = v->m;

    if (coll == COLL_BROADCAST || coll == COLL_REDUCE) {
        enum nccl_link link = m->nodes == 1 ? local : NCCL_LINK_NET;
        if (g->same_channels)
            return v->c.hop[link][ALGO_RING][proto];
        return (float)steps * v->c.hop[link][proto == PROTO_SIMPLE ? ALGO_TREE : ALGO_RING][proto];
    }
    float overhead = m->nodes > 1 ? v->net_overhead_us * (proto == PROTO_SIMPLE ? 3 : 1) : 0;
    float intra_us = MAX(v->c.hop[local][ALGO_RING][proto], overhead);
    double between = m->nodes == 1 ? 0 : coll == COLL_ALLREDUCE ? 2.0 * (m->nodes - 1) : m->nodes - 1;
    if (v->version < 22300 && m->nodes > 1 && coll == COLL_ALLREDUCE)
        between = 2.0 * m->nodes;
    return (float)(steps - between) * intra_us + (float)between * inter_us;
}

static float latency_of(const struct view *v, int coll, int algo, int proto, double steps)
{
    const struct nccl_model *m = v->m;
    const struct nccl_graph *g = graph_of(m, algo);
    enum nccl_link local = g->type_intra == PATH_NVL ? NCCL_LINK_NVLINK : NCCL_LINK_PCI;
    float base = v->c.base[algo][proto], intra_us = v->c.hop[local][algo][proto];
    /* with one rank a node nothing hides the network: the tree's latency, for all */
    int exposed = v->per_node == 1 && v->version >= 22300;
    float inter_us = v->c.hop[NCCL_LINK_NET][exposed ? ALGO_TREE : algo][proto] + g->latency_inter;
    if (proto == PROTO_SIMPLE)
        inter_us += g->latency_inter; /* of the flush */
    float depth = (float)log2_floor((uint64_t)m->nodes);
    int others = m->ranks / m->nodes - 1; /* on the node */

    switch (algo) {
    case ALGO_RING:
        return base + ring_us(v, g, coll, proto, local, inter_us, steps);
    case ALGO_TREE:
        return base + 2 * ((float)others * intra_us + depth * inter_us);
    case ALGO_NVLS:
        return v->version < 21900 ? base : intra_us;
    case ALGO_NVLS_TREE:
        if (v->version < 21900)
            return base + 2.0f * (float)(m->nodes - 1) * v->c.hop[NCCL_LINK_NET][algo][proto];
        return base + intra_us + 2 * depth * inter_us;
    default: /* PAT */
        return base + depth * (inter_us / 3.5f) + (float)m->ranks * 2.8f;
    }
}

/* ---- public ---- */

static int may(unsigned bits, int n)
{
    return !bits || bits >> n & 1;
}

static int is_offered(const struct nccl_model *m, int coll, int algo, int proto)
{
    return m->bw[coll][algo][proto] > 0 && may(m->setup.algos[coll], algo) && may(m->setup.protos[coll], proto);
}

/* Before 2.24.3 Ring stands in where NCCL_ALGO leaves a collective nothing. */
static void let_ring_stand_in(struct nccl_model *m)
{
    for (int coll = 0; coll < COLL_COUNT && m->version < 22403; coll++) {
        int offered = 0;
        for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
            offered |= is_offered(m, coll, i / PROTO_COUNT, i % PROTO_COUNT);
        if (!offered && m->setup.algos[coll])
            m->setup.algos[coll] = 1u << ALGO_RING;
    }
}

void nccl_cost_fill(struct nccl_model *m)
{
    if (m->ranks <= 1)
        return;
    struct view v = view_of(m);
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        double steps = coll == COLL_ALLREDUCE ? 2.0 * (m->ranks - 1) : gathers(coll) ? m->ranks - 1 : m->ranks;
        for (int algo = 0; algo < ALGO_COUNT; algo++)
            for (int proto = 0; proto < PROTO_COUNT; proto++) {
                if (!exists(m, coll, algo, proto) ||
                    (proto == PROTO_LL128 && !ll128_enabled(m, graph_of(m, algo), coll)))
                    continue;
                m->bw[coll][algo][proto] = bandwidth_of(&v, coll, algo, proto, steps);
                m->latency[coll][algo][proto] = latency_of(&v, coll, algo, proto, steps);
            }
    }
    let_ring_stand_in(m);
}

static float rccl_factor(const struct nccl_model *m, int algo, int proto, int size)
{
    const struct rccl_tuning *t = m->rccl;
    int i = size < 0 ? 0 : size < RCCL_SIZES ? size : RCCL_SIZES - 1;
    return algo == ALGO_TREE ? t->tree[proto][i] : m->nodes > 1 ? t->ring[proto][i] : 1;
}

double nccl_cost_us(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes)
{
    if (coll < 0 || coll >= COLL_COUNT || algo < 0 || algo >= ALGO_COUNT || proto < 0 || proto >= PROTO_COUNT)
        return -1;
    if (m->ranks <= 1)
        return algo == ALGO_RING && proto == PROTO_SIMPLE ? 0 : -1;
    float bw = m->bw[coll][algo][proto], us = m->latency[coll][algo][proto];
    if (!is_offered(m, coll, algo, proto))
        return -1;
    int size = log2_floor(bytes >> 6);
    if (m->rccl)
        return us + (float)bytes / (1000 * bw * rccl_factor(m, algo, proto, size));
    if (coll == COLL_ALLREDUCE && size >= 0) {
        if (algo == ALGO_TREE && size < 23)
            bw *= nccl_tree_size[proto][size];
        if (algo == ALGO_NVLS_TREE && size < 24 && m->version >= 22900 && m->sm >= 100 && m->cpu != NCCL_CPU_ARM &&
            m->cpu != NCCL_CPU_POWER)
            bw *= nccl_tree_size[proto][size];
    }
    if (algo == ALGO_RING && proto == PROTO_SIMPLE && m->nodes > 1 && coll == COLL_ALLREDUCE &&
        bytes / ((uint64_t)m->nchannels * (uint64_t)m->ranks) >= 64)
        us *= m->sm < 80 ? 1.9f : 1.4f; /* rings reach a plateau before they are fast */
    return us + (float)bytes / (1000 * bw);
}
