/* Time of a call = what it waits for + what it carries + what its pipeline costs to fill.
 *
 *   t = max(issue, start + hops) + x + fill,   x = bytes over the busiest link
 *   fill = 2 √(d x), the least that cutting into chunks costs over a pipeline whose steps wait d in all, until chunks
 *   are as large as NCCL's buffers let them be.
 *
 * Chunks: any text on pipelined broadcast, as R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
 * Communication Operations in MPICH, 2005. */
#include "bench/predict/model.h"

#include <math.h>
#include <stdio.h>

#include "bench/predict/flows.h"
#include "bench/predict/nccl/cost.h"
#include "probe/machines/hardware.h"

struct model {
    struct nccl_model *nccl;
    struct model_switches switches;
    struct model_factors factors;
    const struct model_gpu *gpu;
    struct model_links *links;
    struct model_flow flows[MODEL_PATTERNS];
    struct model_notes notes;
    double mem_GBps; /* of a GPU */
    int leaves;
};

static double or_one(double factor)
{
    return factor > 0 && isfinite(factor) ? factor : 1;
}

/* ---- preparing ------------------------------------------------------------------------------------------------- */

static void note_gpu(struct model *m, const struct topo_class *c)
{
    const char *assumed;
    m->gpu = model_gpu_of(c, &assumed);
    if (assumed)
        model_note(&m->notes, "%s", assumed);
    m->mem_GBps = 1000;
    const struct hw_gpu *hw = c->ngpus ? hw_gpu_of(c, &c->gpus[0]) : NULL;
    if (hw && hw->mem_GBps > 0)
        m->mem_GBps = hw->mem_GBps;
}

struct model *model_new(const struct model_setup *s, struct arena *a, struct err *e)
{
    struct model *m = ARENA_NEW(a, struct model);
    m->nccl = nccl_model_new(&s->nccl, a, e);
    if (!m->nccl)
        return NULL;
    m->notes.arena = a;
    m->switches = s->switches;
    model_set_factors(m, s->factors ? s->factors : &(struct model_factors){0});
    const struct topo_class *c = &s->nccl.topology->classes[s->nccl.class_index];
    note_gpu(m, c);
    if (m->nccl->assumed)
        model_note(&m->notes, "for NCCL's choice: %s", m->nccl->assumed);
    int per_leaf = m->switches.nodes_per_leaf;
    m->leaves = per_leaf > 0 ? (m->nccl->nodes - 1) / per_leaf + 1 : 1;
    m->links = model_links_new(m->nccl, m->gpu, a, &m->notes);
    model_flows(m->links, &m->switches, m->flows, a);
    return m;
}

void model_set_factors(struct model *m, const struct model_factors *f)
{
    m->factors = (struct model_factors){or_one(f->net_bandwidth), or_one(f->net_latency), or_one(f->node_bandwidth),
                                        or_one(f->node_latency), f->band};
}

const struct nccl_model *model_nccl(const struct model *m)
{
    return m->nccl;
}

const char *const *model_assumptions(const struct model *m, int *n)
{
    *n = m->notes.n;
    return m->notes.texts;
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static double ceil_log2(int n)
{
    double l = 0;
    for (long v = 1; v < n; v *= 2)
        l++;
    return l;
}

/* One process launches for all GPUs of its node, one after the other: the slower of the two ways in use, the other
 * being a process for every GPU. */
static double issue(const struct model *m, enum model_pattern p, int channels)
{
    const struct model_gpu *g = m->gpu;
    double local = m->nccl->ranks_per_node;
    return p == MODEL_ALLTOALL ? g->issue_peer_us * local * local
                               : (g->issue_us + g->issue_channel_us * (channels - 1)) * local;
}

struct wait {
    double hops_us; /* of the first byte */
    double fill_us; /* d */
    double idle_us; /* that data in flight hide */
};

static double node_hop_us(const struct model *m, const struct model_flow *f, int proto)
{
    double us = f->node_way == MODEL_WAY_LINKS ? m->gpu->hop_us[proto] : model_common.pcie_hop_us[proto];
    return (us + (f->node_way == MODEL_WAY_MEMORY ? model_common.shm_us : 0)) * m->factors.node_latency;
}

static double net_hop_us(const struct model *m, const struct model_flow *f, int proto)
{
    if (m->links->domain)
        return node_hop_us(m, f, proto);
    double us = model_nets[f->kind].hop_us[proto];
    us += m->gpu->net_hop_us;
    us += f->net_way == MODEL_WAY_MEMORY && f->kind != MODEL_NET_SOCKETS ? model_common.bounce_us : 0;
    return (us + (m->leaves > 1 ? model_common.leaf_us : 0)) * m->factors.net_latency;
}

/* Hops one after the other, and how many of those between nodes count in the filling. */
struct hops {
    double node, net, net_fill;
};

static struct wait wait_of(const struct model *m, const struct model_flow *f, int proto, int channels, struct hops h)
{
    double node_us = h.node * node_hop_us(m, f, proto), hop_us = net_hop_us(m, f, proto);
    int posted = channels < model_common.channel_most ? channels : model_common.channel_most;
    double posting = m->links->domain ? 1 : 1 + model_common.channel_hop * (posted - 1);
    return (struct wait){node_us + h.net * posting * hop_us, m->gpu->fill * node_us + h.net_fill * hop_us,
                         h.net > 0 && !m->links->domain ? model_nets[f->kind].idle_us : 0};
}

/* A ring hands on what has arrived while more arrives: little of its hops is paid again. Deeper trees have smaller
 * chunks, so that one level is what fills them. */
static struct wait wait_for(const struct model *m, enum model_pattern p, int coll, int proto, int channels)
{
    const struct nccl_model *n = m->nccl;
    const struct model_flow *f = &m->flows[p];
    int leaving = n->nodes > 1;
    double rounds = coll == COLL_ALLREDUCE ? 2 : 1, log_nodes = ceil_log2(n->nodes);
    double tree_fill = leaving * rounds * model_common.tree_fill, ring_fill = model_common.ring_fill;
    double nets = rounds * (n->nodes - 1), log_ranks = ceil_log2(n->ranks);
    struct wait w;
    switch (p) {
    case MODEL_RING:
        return wait_of(m, f, proto, channels, (struct hops){rounds * (n->ranks - 1) - nets, nets, ring_fill * nets});
    case MODEL_TREE:
        return wait_of(m, f, proto, channels,
                       (struct hops){rounds * (n->ranks_per_node - 1), rounds * log_nodes, tree_fill});
    case MODEL_NVLS:
    case MODEL_NVLS_TREE:
        w = wait_of(m, f, proto, channels, (struct hops){0, rounds * log_nodes, tree_fill});
        w.hops_us += m->gpu->nvls_us * m->factors.node_latency;
        w.fill_us += m->gpu->nvls_fill_us * m->factors.node_latency;
        return w;
    case MODEL_PAT:
        return wait_of(m, f, proto, channels, (struct hops){0, log_ranks, ring_fill * log_ranks});
    default:
        w = wait_of(m, f, proto, 1, (struct hops){1, leaving, ring_fill * leaving});
        w.hops_us += model_common.peer_us * (n->ranks - 1);
        return w;
    }
}

/* ---- carrying -------------------------------------------------------------------------------------------------- */

/* Times that each byte of nBytes passes a link of the pattern. */
static double passes(const struct model *m, enum model_pattern p, int coll)
{
    double n = m->nccl->ranks, local = m->nccl->ranks_per_node;
    switch (p) {
    case MODEL_RING:
    case MODEL_PAT:
        return coll == COLL_ALLREDUCE                                 ? 2 * (n - 1) / n
               : coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER ? (n - 1) / n
                                                                      : 1;
    case MODEL_NVLS:
        return coll == COLL_ALLREDUCE ? 1 : local / (local + 1);
    default:
        return 1;
    }
}

/* Times that a byte goes through a channel's thread block, in the sense of its busbw. */
static double block_passes(const struct model *m, enum model_pattern p, int coll)
{
    if (p == MODEL_TREE)
        return 2 / model_common.tree_efficiency;
    return p == MODEL_ALLTOALL ? 0 : passes(m, p, coll);
}

struct carried {
    double us;
    const char *limit;
};

static const char *link_name(const struct model *m, int link)
{
    return link == MODEL_UPLINKS ? "leaf uplinks" : link >= 0 ? m->links->links[link].name : "latency";
}

static struct carried carry(const struct model *m, enum model_pattern p, int coll, int proto, int channels,
                            double bytes)
{
    const struct model_flow *f = &m->flows[p];
    int k = p == MODEL_ALLTOALL              ? 0
            : channels < 1                   ? 0
            : channels > MODEL_MOST_CHANNELS ? MODEL_MOST_CHANNELS - 1
                                             : channels - 1;
    const struct model_load *l = &f->loads[k];
    double often = passes(m, p, coll) * bytes / model_common.proto_efficiency[proto];
    double share = p == MODEL_NVLS_TREE ? model_common.nvls_tree_efficiency : 1;
    double node_us = l->node_us * often / m->factors.node_bandwidth / share;
    double net_us = l->net_us * often / m->factors.net_bandwidth;
    double each_GBps = m->gpu->channel_GBps[proto];
    double block_us = each_GBps > 0 ? block_passes(m, p, coll) * bytes / (each_GBps * (k + 1)) / 1e3 : 0;
    struct carried c = {node_us, link_name(m, l->node_link)};
    if (net_us > c.us)
        c = (struct carried){net_us, link_name(m, l->net_link)};
    if (block_us > c.us)
        c = (struct carried){block_us, "thread blocks of its channels"};
    return c;
}

/* ---- predicting ------------------------------------------------------------------------------------------------ */

static const enum model_pattern pattern_of[ALGO_COUNT] = {
    [ALGO_TREE] = MODEL_TREE,
    [ALGO_RING] = MODEL_RING,
    [ALGO_COLLNET_DIRECT] = MODEL_PATTERNS,
    [ALGO_COLLNET_CHAIN] = MODEL_PATTERNS,
    [ALGO_NVLS] = MODEL_NVLS,
    [ALGO_NVLS_TREE] = MODEL_NVLS_TREE,
    [ALGO_PAT] = MODEL_PAT,
};

/* The algorithm of a call, its protocol and channels; no call gets more channels than the communicator has. */
static int resolve(const struct model *m, const struct model_call *c, struct model_time *t)
{
    struct nccl_choice choice = {0};
    if (c->coll == COLL_ALLTOALL) {
        *t = (struct model_time){.algo = -1, .proto = -1};
        return 0;
    }
    if (c->coll < 0 || c->coll >= COLL_COUNT || c->algo >= ALGO_COUNT || c->proto >= PROTO_COUNT)
        return -1;
    if (c->algo < 0 || c->proto < 0) {
        if (nccl_model_choose(m->nccl, c->coll, c->bytes, &choice))
            return -1;
    } else {
        if (nccl_cost_us(m->nccl, c->coll, c->algo, c->proto, c->bytes) < 0)
            return -1;
        choice.algo = c->algo;
        choice.proto = c->proto;
        nccl_model_channels(m->nccl, c->coll, c->algo, c->proto, c->bytes, &choice);
    }
    int nvls = choice.algo == ALGO_NVLS || choice.algo == ALGO_NVLS_TREE;
    int most = nvls ? m->nccl->nvls_channels : m->nccl->nchannels,
        requested = c->channels > 0 ? c->channels : choice.used;
    requested = requested > most ? most : requested;
    *t = (struct model_time){.algo = choice.algo, .proto = choice.proto, .channels = requested > 0 ? requested : 1};
    return 0;
}

/* A rank alone copies. */
static void predict_alone(const struct model *m, const struct model_call *c, struct model_time *t)
{
    t->us = m->gpu->start_us + 2 * (double)c->bytes / m->mem_GBps / 1e3;
    snprintf(t->limit, sizeof t->limit, "GPU memory");
}

/* `carried_us` is what bytes take of the time. Nothing tells how errors grow with nodes: they are let grow with the
 * depth of a tree, but more nodes make no link faster. */
static void put_band(const struct model *m, double carried_us, struct model_time *t)
{
    double carried = carried_us / t->us, band = m->factors.band, carry_band = band, nodes = 1;
    if (!(band > 1)) {
        carry_band = model_common.carry_band;
        band = pow(carry_band, carried) * pow(model_common.wait_band, 1 - carried);
    }
    double unknown = m->notes.n ? model_common.unknown_band : 1;
    if (m->nccl->nodes > MODEL_VALIDATED_NODES)
        nodes = pow(model_common.node_band, log2((double)m->nccl->nodes / MODEL_VALIDATED_NODES));
    t->low_us = fmax(t->us / (band * unknown * nodes), carried_us / (carry_band * unknown));
    t->high_us = t->us * band * unknown * nodes;
    t->unvalidated = m->nccl->nodes > MODEL_VALIDATED_NODES;
}

int model_predict(const struct model *m, const struct model_call *c, struct model_time *t)
{
    if (resolve(m, c, t))
        return -1;
    enum model_pattern p = c->coll == COLL_ALLTOALL ? MODEL_ALLTOALL : pattern_of[t->algo];
    int proto = t->proto < 0 ? PROTO_SIMPLE : t->proto;
    if (m->nccl->ranks == 1) {
        predict_alone(m, c, t);
        put_band(m, 0, t);
        return 0;
    }
    if (p == MODEL_PATTERNS || !m->flows[p].loads)
        return -1;
    struct wait w = wait_for(m, p, c->coll, proto, t->channels);
    struct carried x = carry(m, p, c->coll, proto, t->channels, (double)c->bytes);
    double issue_us = issue(m, p, t->channels);
    double slow = m->factors.node_latency, wait_us = fmax(slow * issue_us, slow * m->gpu->start_us + w.hops_us);
    double fill_us =
        model_common.proto_fill[proto] * fmin(2 * sqrt(w.fill_us * x.us), model_common.fill_most * w.fill_us);
    t->us = wait_us + hypot(x.us, w.idle_us) + fill_us;
    snprintf(t->limit, sizeof t->limit, "%s", x.us > wait_us ? x.limit : "latency");
    put_band(m, x.us, t);
    return 0;
}
