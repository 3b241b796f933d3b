/* Time of a call = what it waits for + what it carries + what its pipeline costs to fill.
 *
 *   t = max(issue, start + hops) + x + fill,   x = bytes over the busiest link
 *   fill = 2 √(d x), the least that cutting into chunks costs over a pipeline whose steps wait d in all, until chunks
 *   are as large as NCCL's buffers let them be.
 *
 * Chunks: any text on pipelined broadcast, as R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective
 * Communication Operations in MPICH, 2005. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/links.h"
#include "probe/machines/hardware.h"

struct whole {
    struct model shown;
    const struct nccl_model *nccl; /* shown.nccl */
    enum model_launcher launcher;
    int groups; /* on each node, this one included */
    struct model_factors factors;
    int measured;    /* they are somebody's */
    double believed; /* × what a call waits for, where they are not */
    const struct model_gpu *gpu;
    struct model_links *links;
    struct model_flow flows[MODEL_PATTERNS];
    struct model_notes notes;
    double mem_GBps; /* of a GPU */
    int leaves;
    int follows; /* no result of such GPUs or such a network is published */
};

/* What follows is at the end, with what it needs. */
static void believe_nccl(struct whole *m);

/* ---- preparing ------------------------------------------------------------------------------------------------- */

/* A generation that is assumed is one for NCCL's choice, too: a copy of the topology has it. */
static void assume_gpu(struct whole *m, struct nccl_setup *s, struct arena *a)
{
    if (!s->topology || s->class_index < 0 || s->class_index >= s->topology->nclasses)
        return; /* NCCL's model says so */
    const struct topo_class *c = &s->topology->classes[s->class_index];
    const char *assumed;
    m->gpu = model_gpu_of(c, &assumed);
    if (!assumed)
        return;
    model_note(&m->notes, MODEL_NODE_PARTS, "the generation of its GPUs is unknown: %s was assumed%s (--gpu sets it)",
               m->gpu->name, assumed);
    struct topology *t = ARENA_NEW(a, struct topology);
    *t = *s->topology;
    t->classes = arena_alloc(a, (size_t)t->nclasses * sizeof *t->classes);
    memcpy(t->classes, s->topology->classes, (size_t)t->nclasses * sizeof *t->classes);
    struct topo_gpu *gpus = arena_alloc(a, (size_t)c->ngpus * sizeof *gpus);
    for (int i = 0; i < c->ngpus; i++) {
        gpus[i] = c->gpus[i];
        gpus[i].sm = m->gpu->sm;
        gpus[i].arch = gpus[i].arch || m->gpu->sm ? gpus[i].arch : "gfx942"; /* the only one that is assumed */
    }
    t->classes[s->class_index].gpus = gpus;
    s->topology = t;
}

/* The groups beside it: NCCL has searched out channels for each, over its own GPUs. */
static const struct nccl_model **beside(struct whole *m, const struct model_setup *s, struct arena *a, struct err *e)
{
    const struct nccl_model **others = arena_alloc(a, (size_t)m->groups * sizeof *others);
    for (int i = 1; i < m->groups; i++) {
        struct nccl_setup one = s->nccl;
        one.first_gpu += i * m->nccl->setup.ranks_per_node;
        others[i - 1] = nccl_model_new(&one, a, e);
        if (!others[i - 1])
            return NULL;
    }
    return others;
}

static void name_library(struct model *m)
{
    const struct nccl_model *n = m->nccl;
    size_t room = sizeof m->library;
    int any = n->version % 100 == 99,
        used = snprintf(m->library, room, "NCCL %d.%d", n->version / 10000, n->version / 100 % 100);
    if (!any)
        used += snprintf(m->library + used, room - (size_t)used, ".%d", n->version % 100);
    if (n->c->gpus[0].arch)
        snprintf(m->library + used, room - (size_t)used, " (RCCL)");
}

struct model *model_new(const struct model_setup *given, struct arena *a, struct err *e)
{
    struct whole *m = ARENA_NEW(a, struct whole);
    struct model_setup own = *given, *s = &own;
    m->notes.arena = a;
    assume_gpu(m, &s->nccl, a);
    m->nccl = m->shown.nccl = nccl_model_new(&s->nccl, a, e);
    if (!m->nccl)
        return NULL;
    m->launcher = s->launcher;
    int ngpus = s->nccl.topology->classes[s->nccl.class_index].ngpus;
    int room = (ngpus - s->nccl.first_gpu) / m->nccl->setup.ranks_per_node - 1;
    m->groups = 1 + (s->others < 0 || s->others > room ? room : s->others);
    const struct nccl_model **others = beside(m, s, a, e);
    if (!others)
        return NULL;
    if (s->launcher == MODEL_LAUNCH_GRAPH)
        model_note(&m->notes, 1u << MODEL_LAUNCH, "no published result shows what such a launch saves");
    const struct hw_gpu *hw = hw_gpu_of(m->nccl->c, &m->nccl->c->gpus[0]);
    m->mem_GBps = hw ? hw->mem_GBps : 1000;
    if (m->nccl->assumed)
        model_note(&m->notes, 0, "for NCCL's choice: %s", m->nccl->assumed);
    int per_leaf = s->switches.nodes_per_leaf;
    m->leaves = per_leaf > 0 ? (s->nccl.nodes - 1) / per_leaf + 1 : 1;
    m->links = model_links_new(m->nccl, m->gpu, a, &m->notes);
    model_flows(m->links, others, m->groups - 1, &s->switches, m->flows, a);
    const struct model_flow *ring = &m->flows[MODEL_RING];
    struct model_basis basis = {.gpu = m->gpu->evidence, .net = model_nets[ring->kind].evidence};
    if (m->nccl->nnets > 0)
        basis.net = model_net_evidence(ring->kind, m->nccl->c, &m->nccl->nets[0]);
    int leaves_node = m->nccl->nodes > 1 && basis.net != MODEL_FITTED;
    m->follows = basis.gpu != MODEL_FITTED || leaves_node;
    if (basis.gpu != MODEL_FITTED)
        model_note(&m->notes, 0, "no constant was fitted to %s: a relative's are taken", m->gpu->name);
    if (leaves_node)
        model_note(&m->notes, 0, "no constant was fitted to such NICs (%s): a relative's are taken",
                   model_nets[ring->kind].name);
    basis.pcie = m->nccl->ranks_per_node > 1 && ring->node_way != MODEL_WAY_LINKS;
    basis.sockets = m->nccl->nodes > 1 && ring->kind == MODEL_NET_SOCKETS;
    basis.assumed = m->notes.parts;
    m->shown.prior = model_prior_of(&basis);
    model_set_factors(&m->shown, &(struct model_factors){0});
    believe_nccl(m);
    name_library(&m->shown);
    m->shown.assumptions = m->notes.texts;
    m->shown.nassumptions = m->notes.n;
    model_set_factors(&m->shown, s->factors ? s->factors : &(struct model_factors){0});
    return &m->shown;
}

void model_set_factors(struct model *shown, const struct model_factors *f)
{
    struct whole *m = (struct whole *)shown;
    m->factors = *f;
    m->measured = f->rest > 0 || f->time[0] > 0;
    for (int i = 0; i < MODEL_PARTS; i++) {
        int other = f->rest > 0 && !f->sockets != !m->nccl->setup.sockets && (1u << i & MODEL_NET_PARTS);
        if (!(f->time[i] > 0) || !isfinite(f->time[i]) || other)
            m->factors.time[i] = 1;
        for (int k = 0; k < MODEL_PARTS && other; k++)
            m->factors.root[i][k] = i == k ? m->shown.prior.part[i] : 0;
    }
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

/* Sends and receives, which no algorithm is chosen for. */
static int is_pairs(enum model_pattern p)
{
    return p == MODEL_ALLTOALL || p == MODEL_ALLTOALLV || p == MODEL_SHIFT;
}

/* What the host needs for a call: a thread that has all GPUs of a node launches for one after the other. */
static double issue_us_of(const struct whole *m, enum model_launcher launcher, enum model_pattern p, int channels)
{
    double local = launcher == MODEL_LAUNCH_NODE ? m->nccl->setup.ranks_per_node * m->groups : 1;
    if (launcher == MODEL_LAUNCH_GRAPH)
        return 0;
    if (is_pairs(p) && p != MODEL_SHIFT)
        return m->gpu->issue_peer_us * local * m->nccl->ranks_per_node;
    double each_us = m->nccl->version < 21400 ? model_common.issue_channel_us : 0;
    return (model_common.issue_us + each_us * (channels - 1)) * local;
}

/* Times by what they come from: within a node, and between nodes. */
struct halves {
    double node, net;
};

struct wait {
    struct halves hops_us; /* of the first byte */
    struct halves fill_us; /* d */
    double idle_us;        /* that data in flight hide */
    double saved_us;       /* hops that other calls fill, */
    int relays;            /* of so many ranks that pass on what they get */
    double chunk;          /* the largest, in those of other patterns */
};

static double node_hop_us(const struct whole *m, const struct model_flow *f, int proto)
{
    double us = f->node_way == MODEL_WAY_LINKS ? m->gpu->hop_us[proto] : model_common.pcie_hop_us[proto];
    return (us + (f->node_way == MODEL_WAY_MEMORY ? model_common.shm_us : 0)) * m->factors.time[MODEL_HOPS];
}

static double net_hop_us(const struct whole *m, const struct model_flow *f, int proto)
{
    double us = model_nets[f->kind].hop_us[proto];
    us += m->gpu->net_hop_us;
    us += f->net_way == MODEL_WAY_MEMORY && f->kind != MODEL_NET_SOCKETS ? model_common.bounce_us : 0;
    return (us + (m->leaves > 1 ? model_common.leaf_us : 0)) * m->factors.time[MODEL_NET_HOPS];
}

/* Hops one after the other, and how many of those between nodes count in the filling. */
struct hops {
    double node, net, net_fill;
};

static struct wait wait_of(const struct whole *m, const struct model_flow *f, int proto, struct hops h)
{
    double node_us = h.node * node_hop_us(m, f, proto), hop_us = net_hop_us(m, f, proto);
    return (struct wait){{node_us, h.net * hop_us},
                         {m->gpu->fill * node_us, h.net_fill * hop_us},
                         h.net > 0 ? model_nets[f->kind].idle_us * m->factors.time[MODEL_NET_HOPS] : 0,
                         .chunk = 1};
}

/* Over a ring, parts of these go round at once: each rank has work from the first step to the last, and only what its
 * links wait between two steps is paid again (runRing in src/device/all_reduce.h). A broadcast is one pipeline. */
static double ring_fill_of(const struct model_flow *f, int coll)
{
    int parts = coll == COLL_ALLREDUCE || coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER;
    return !parts ? 1 : f->node_way == MODEL_WAY_LINKS ? model_common.parts_fill : 0;
}

/* Of a broadcast or a reduction over a ring, each rank is done when it has received and sent, and takes part in the
 * next call while this one passes the others: one hop in and one out. */
static void overlap_calls(struct wait *w, int hops)
{
    double all_us = w->hops_us.node;
    w->hops_us.node *= hops > 2 ? 2.0 / hops : 1;
    w->saved_us = all_us - w->hops_us.node;
    w->relays = hops - 1;
}

/* A ring hands on what has arrived while more arrives: little of its hops is paid again. Deeper trees have smaller
 * chunks, so that one level is what fills them. */
static struct wait wait_for(const struct whole *m, enum model_pattern p, int coll, int proto)
{
    const struct nccl_model *n = m->nccl;
    const struct model_flow *f = &m->flows[p];
    int leaving = n->nodes > 1;
    double rounds = coll == COLL_ALLREDUCE ? 2 : 1, net_levels = ceil(log2(n->nodes));
    double ring_fill = model_common.ring_fill;
    double tree_fill = leaving * rounds * model_common.tree_fill, nets = rounds * (n->nodes - 1);
    struct wait w;
    double once_us = m->gpu->net_hop_us * m->factors.time[MODEL_NET_HOPS]; /* not by each chunk of a tree */
    switch (p) {
    case MODEL_RING:
        w = wait_of(m, f, proto, (struct hops){rounds * (n->ranks - n->nodes), nets, ring_fill * nets});
        w.fill_us.node *= ring_fill_of(f, coll);
        if (!leaving && (coll == COLL_BROADCAST || coll == COLL_REDUCE)) /* between nodes nobody has published it */
            overlap_calls(&w, n->ranks - 1);
        return w;
    case MODEL_TREE:
        w = wait_of(m, f, proto, (struct hops){rounds * (n->ranks_per_node - 1), rounds * net_levels, tree_fill});
        w.fill_us.net -= tree_fill * once_us;
        return w;
    case MODEL_NVLS:
    case MODEL_NVLS_TREE:
        w = wait_of(m, f, proto, (struct hops){0, rounds * net_levels, tree_fill});
        w.hops_us.node += m->gpu->nvls_us * m->factors.time[MODEL_HOPS];
        w.fill_us.node += m->gpu->nvls_fill_us * m->factors.time[MODEL_HOPS];
        w.chunk = n->nvls.nchannels / model_common.nvls_gpus; /* each head has one */
        return w;
    case MODEL_PAT:
        return wait_of(m, f, proto, (struct hops){0, net_levels, ring_fill * net_levels});
    case MODEL_SHIFT:
        return wait_of(m, f, proto, (struct hops){1, leaving, ring_fill * leaving});
    default:
        w = wait_of(m, f, proto, (struct hops){1, leaving, ring_fill * leaving});
        w.hops_us.node += model_common.peer_us * (n->ranks - 1) * m->factors.time[MODEL_HOPS];
        return w;
    }
}

/* ---- carrying -------------------------------------------------------------------------------------------------- */

/* Times that each byte of nBytes passes a link of the pattern. */
static double passes(const struct whole *m, enum model_pattern p, int coll)
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

struct carried {
    double us;
    int between_nodes;
    const char *limit;
};

static const char *link_name(const struct whole *m, int link)
{
    return link == MODEL_UPLINKS ? "leaf uplinks" : link >= 0 ? m->links->links[link].name : "latency";
}

static struct carried carry(const struct whole *m, enum model_pattern p, int coll, int proto, int channels,
                            double bytes)
{
    const struct model_flow *f = &m->flows[p];
    int k = is_pairs(p)                      ? 0
            : channels < 1                   ? 0
            : channels > MODEL_MOST_CHANNELS ? MODEL_MOST_CHANNELS - 1
                                             : channels - 1;
    const struct model_load *l = &f->loads[k];
    double often = passes(m, p, coll) * bytes / model_common.proto_efficiency[proto];
    double share = p == MODEL_NVLS_TREE ? model_common.nvls_tree_efficiency : 1;
    double node_us = l->node_us * often * m->factors.time[MODEL_LINKS] / share;
    double net_us = l->net_us * often * m->factors.time[MODEL_NET_LINKS];
    double each_GBps = m->gpu->channel_GBps[proto];
    /* times that a byte goes through a channel's thread block, in the sense of its busbw */
    double through = p == MODEL_TREE ? 2 / model_common.tree_efficiency : is_pairs(p) ? 0 : passes(m, p, coll);
    double block_us = through * bytes / (each_GBps * (k + 1)) / 1e3 * m->factors.time[MODEL_LINKS];
    struct carried c = {node_us, 0, link_name(m, l->node_link)};
    if (net_us > c.us)
        c = (struct carried){net_us, 1, link_name(m, l->net_link)};
    if (block_us > c.us)
        c = (struct carried){block_us, 0, "thread blocks of its channels"};
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

static const enum model_pattern pairs_of[COLL_MEASURED] = {
    [COLL_ALLTOALL] = MODEL_ALLTOALL,
    [COLL_ALLTOALLV] = MODEL_ALLTOALLV,
    [COLL_SENDRECV] = MODEL_SHIFT,
};

/* The algorithm of a call, its protocol and channels; no call gets more channels than the communicator has. */
static int resolve(const struct whole *m, const struct model_call *c, struct model_time *t)
{
    struct nccl_choice choice = {0};
    if (c->coll < 0 || c->coll >= COLL_MEASURED || c->algo >= ALGO_COUNT || c->proto >= PROTO_COUNT)
        return -1;
    if (c->coll >= COLL_COUNT) {
        *t = (struct model_time){.algo = -1, .proto = -1};
        return 0;
    }
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
    *t = (struct model_time){.algo = choice.algo,
                             .proto = choice.proto,
                             .channels = requested > 0 ? requested : 1,
                             .taken_by = choice.taken_by};
    return 0;
}

/* A rank alone copies. */
static void predict_alone(const struct whole *m, const struct model_call *c, struct model_time *t)
{
    double start_us = m->gpu->start_us * m->factors.time[MODEL_LAUNCH];
    t->us = start_us + 2 * (double)c->bytes / m->mem_GBps / 1e3;
    t->share[MODEL_LAUNCH] = start_us / t->us;
    t->share[MODEL_LINKS] = 1 - t->share[MODEL_LAUNCH];
    snprintf(t->limit, sizeof t->limit, "GPU memory");
}

/* Whether large calls overlap is not known: those of eight A100 do; where eight V100 broadcast, every rank waits for a
 * whole chunk before it passes it on, and for the next call's until then. A standard deviation. */
static double overlap_doubt(const struct wait *w, const struct carried *x, int proto, const struct model_call *c,
                            const struct model_time *t)
{
    double chunk = 524288.0 * t->channels / (double)c->bytes; /* an eighth of NCCL_BUFFSIZE */
    double chunk_us = proto == PROTO_SIMPLE ? fmin(chunk, 1) * x->us : 0;
    return log(1 + (w->saved_us + w->relays * chunk_us) / t->us) / 2;
}

/* `carried_us` is what bytes take of the time, which more nodes make no shorter; `further` a doubt of its own. */
static void put_band(const struct whole *m, enum model_pattern pattern, double carried_us, double further,
                     struct model_time *t)
{
    struct bench_doubt *d = &t->doubt;
    const struct model_factors *f = &m->factors;
    double hosts = fmax(m->nccl->nodes, m->nccl->setup.nodes); /* neither parts nor racks make it surer */
    double links = 0, nodes = fmax(log2(hosts / MODEL_VALIDATED_NODES), 0);
    int seldom = m->groups > 1 || pattern == MODEL_SHIFT || pattern == MODEL_ALLTOALLV;
    int all = m->nccl->c->ngpus / m->nccl->trays;
    int part = m->nccl->setup.ranks_per_node < all && m->nccl->setup.nodes > 1;
    double unpublished = seldom || part ? MODEL_UNPUBLISHED_DOUBT : 0;
    double between = f->rest > 0 ? 0 : model_doubts.between * model_between(t->share);
    for (int i = 0; i < MODEL_PARTS; i++) {
        d->shared[i] = f->rest > 0 ? 0 : m->shown.prior.part[i] * t->share[i];
        for (int k = 0; k < MODEL_PARTS && f->rest > 0; k++)
            d->shared[i] += f->root[k][i] * t->share[k];
    }
    t->unvalidated = nodes > 0 || seldom || m->follows;
    d->shared[MODEL_PARTS] = hypot(hypot(MODEL_NODES_DOUBT * nodes, unpublished), further);
    d->rest = hypot(model_rest(&m->shown.prior, t->share) * (f->rest > 0 ? f->rest : 1), between);
    d->way = (t->algo + 1) * PROTO_COUNT + t->proto;
    d->detail = t->channels * 1000 + m->nccl->nnets;
    double band = exp(BENCH_NINE_OF_TEN * bench_doubt_of_time(d));
    for (int i = 0; i < MODEL_PARTS; i++)
        links = fmax(links, i == MODEL_LINKS || i == MODEL_NET_LINKS ? m->shown.prior.part[i] : 0);
    t->high_us = t->us * band;
    t->low_us =
        fmax(t->us / band, fmin(t->us, carried_us / exp(BENCH_NINE_OF_TEN * hypot(links, m->shown.prior.carry))));
}

/* What the GPUs wait for before bytes flow, how long those take, and what their chunks wait for one another. */
struct course {
    double start_us, wait_us, carried_us, fill_us;
    double hops_fill_us; /* the hops' part of it */
};

static struct course course_of(const struct whole *m, int proto, struct wait *w, const struct carried *x)
{
    double fill = w->fill_us.node + w->fill_us.net, believed = m->measured ? 1 : m->believed;
    struct course c = {.start_us = m->factors.time[MODEL_LAUNCH] * m->gpu->start_us * believed};
    double chunked_us = 2 * sqrt(fill * x->us), most_us = model_common.fill_most * w->chunk * fill;
    w->hops_us.node *= believed;
    w->hops_us.net *= believed;
    c.wait_us = c.start_us + w->hops_us.node + w->hops_us.net;
    c.carried_us = hypot(x->us, w->idle_us);
    c.fill_us = model_common.proto_fill[proto] * fmin(chunked_us, most_us);
    c.hops_fill_us = chunked_us < most_us ? c.fill_us / 2 : c.fill_us;
    return c;
}

/* Derivatives of log time: a square root gives half to each side, a full chunk all to the hops. */
static void put_shares(const struct wait *w, const struct carried *x, const struct course *c, struct model_time *t)
{
    double fill = w->fill_us.node + w->fill_us.net;
    double per_fill = fill > 0 ? c->hops_fill_us / fill : 0, per_carried = c->carried_us > 0 ? 1 / c->carried_us : 0;
    t->share[MODEL_LAUNCH] = c->start_us;
    t->share[MODEL_HOPS] = w->hops_us.node + per_fill * w->fill_us.node;
    t->share[MODEL_NET_HOPS] = w->hops_us.net + per_fill * w->fill_us.net + w->idle_us * w->idle_us * per_carried;
    t->share[x->between_nodes ? MODEL_NET_LINKS : MODEL_LINKS] =
        x->us * x->us * per_carried + c->fill_us - c->hops_fill_us;
    for (int i = 0; i < MODEL_PARTS; i++)
        t->share[i] /= t->us;
}

static double eighth_power(double x)
{
    return x * x * x * x * x * x * x * x;
}

/* While GPUs make a call, the host launches the next: the slower of the two sets the pace, and where they are near each
 * other, now one and now the other (the 8 is fitted: 4 L40S from 16 to 64 KiB). Return the standard deviation of the
 * logarithm of the time that comes from not knowing who launches. */
static double launch_beside(const struct whole *m, enum model_pattern p, struct model_time *t)
{
    const double *chances = model_launchers[m->nccl->setup.nodes > 1];
    double hosts = 0, mean = 0, square = 0;
    for (int l = MODEL_LAUNCH_PROCESS; l < MODEL_LAUNCHERS; l++) {
        double chance = m->launcher == MODEL_LAUNCH_UNKNOWN ? chances[l] : l == (int)m->launcher;
        double issue_us = m->factors.time[MODEL_LAUNCH] * issue_us_of(m, (enum model_launcher)l, p, t->channels);
        double host = eighth_power(issue_us / t->us), slower = log1p(host) / 8;
        hosts += chance * host / (1 + host);
        mean += chance * slower;
        square += chance * slower * slower;
    }
    for (int i = 0; i < MODEL_PARTS; i++)
        t->share[i] = t->share[i] * (1 - hosts) + (i == MODEL_LAUNCH ? hosts : 0);
    t->us *= exp(mean);
    if (hosts > 0.5)
        snprintf(t->limit, sizeof t->limit, "launching");
    return sqrt(fmax(square - mean * mean, 0));
}

static int predict_call(const struct whole *m, const struct model_call *c, struct model_time *t)
{
    if (resolve(m, c, t))
        return -1;
    enum model_pattern p = t->algo >= 0 ? pattern_of[t->algo] : pairs_of[c->coll];
    int proto = t->proto < 0 ? PROTO_SIMPLE : t->proto;
    if (m->nccl->ranks == 1) {
        predict_alone(m, c, t);
        put_band(m, p, 0, 0, t);
        return 0;
    }
    if (!m->flows[p].loads)
        return -1;
    struct wait w = wait_for(m, p, c->coll, proto);
    struct carried x = carry(m, p, c->coll, proto, t->channels, (double)c->bytes);
    struct course course = course_of(m, proto, &w, &x);
    t->us = course.wait_us + course.carried_us + course.fill_us;
    snprintf(t->limit, sizeof t->limit, "%s", x.us > course.wait_us ? x.limit : "latency");
    put_shares(&w, &x, &course, t);
    double launcher = launch_beside(m, p, t);
    put_band(m, p, x.us, hypot(launcher, overlap_doubt(&w, &x, proto, c, t)), t);
    return 0;
}

/* AllReduce that other kernels than RCCL's make reaches about what the best protocol of a ring does: fitted to eight
 * MI300X. */
static void predict_direct(const struct whole *m, const struct model_call *c, struct model_time *t)
{
    struct model_time other;
    struct model_call call = *c;
    const char *taken_by = t->taken_by;
    call.algo = ALGO_RING;
    for (call.proto = 0; call.proto < PROTO_COUNT; call.proto++)
        if (!predict_call(m, &call, &other) && other.us < t->us)
            *t = other;
    t->taken_by = taken_by;
}

/* NCCL's own latency of a small AllReduce errs in other ways than this model's: between nodes over InfiniBand and RoCE,
 * and over PCIe, the mean of both errs less on machines that neither was fitted to. Over NVLink alone the model is
 * better by itself, and where something was measured. One factor for all calls: how they compare stays the model's. */
static void believe_nccl(struct whole *m)
{
    const struct model_flow *ring = &m->flows[MODEL_RING];
    int known = m->nccl->nodes > 1 ? ring->kind <= MODEL_NET_ROCE_VIRTUAL : ring->node_way != MODEL_WAY_LINKS;
    struct nccl_choice c;
    m->believed = 1;
    if (!known || m->nccl->rccl || m->nccl->ranks == 1 || nccl_model_choose(m->nccl, COLL_ALLREDUCE, 8, &c))
        return;
    int leaves = m->leaves; /* NCCL knows none */
    m->leaves = 1;
    struct wait w = wait_for(m, pattern_of[c.algo], COLL_ALLREDUCE, c.proto);
    m->leaves = leaves;
    double by = c.us * model_common.nccl_short / (m->gpu->start_us + w.hops_us.node + w.hops_us.net);
    m->believed = pow(fmin(fmax(by, 0.4), 2.5), model_common.nccl_part);
}

int model_predict(const struct model *shown, const struct model_call *c, struct model_time *t)
{
    const struct whole *m = (const struct whole *)shown;
    int rc = predict_call(m, c, t);
    if (!rc && t->taken_by && c->coll == COLL_ALLREDUCE)
        predict_direct(m, c, t);
    return rc;
}
