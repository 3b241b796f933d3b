/* NCCL's own choices on a machine: the channels that it would search out, and what it would use of them for a call. */
#include "model/nccl/model.h"

#include "model/nccl/cost_constants.h"
#include "model/nccl/rccl.h"
#include "probe/machines/hardware.h"

#define MOST_NODES 1000000

/* ---- checks ---- */

static int check_setup(const struct nccl_setup *s, struct err *e)
{
    if (s->class_index < 0 || s->class_index >= s->topology->nclasses)
        return err_set(e, ERR_USAGE, "node class %d of a topology that has %d", s->class_index, s->topology->nclasses);
    const struct topo_class *c = &s->topology->classes[s->class_index];
    if (!c->ngpus)
        return err_set(e, ERR_LACKS, "%s has no GPU, so NCCL has no choice", c->name ? c->name : "the node class");
    if (s->nodes < 1 || s->nodes > MOST_NODES)
        return err_set(e, ERR_USAGE, "%d nodes: from 1 to %d can be modelled", s->nodes, MOST_NODES);
    int most = c->ngpus < GRAPH_MOST_GPUS ? c->ngpus : GRAPH_MOST_GPUS;
    int ranks = s->ranks_per_node ? s->ranks_per_node : c->ngpus;
    if (ranks < 1 || s->first_gpu < 0 || ranks > most - s->first_gpu)
        return err_set(e, ERR_USAGE, "%d ranks a node: from 1 to %d can be modelled on %s", ranks, most,
                       s->topology->nclasses > 1 && c->name ? c->name : "these nodes");
    if (s->min_channels < 0 || s->max_channels < 0 || s->version < 0)
        return err_set(e, ERR_USAGE, "channels and version must not be negative");
    return 0;
}

/* What is believed without being told, as one sentence. */
static void assume(struct nccl_model *m, struct arena *a, const char *what)
{
    if (what)
        m->assumed = m->assumed ? arena_printf(a, "%s; %s", m->assumed, what) : what;
}

/* What the class leaves open about its GPUs. */
static void assume_about_gpus(struct nccl_model *m, struct arena *a)
{
    const struct topo_class *c = m->c;
    int unknown = 0, unlinked = !c->nlinks;
    for (int i = 0; i < c->ngpus; i++) {
        unknown |= !c->gpus[i].arch && !c->gpus[i].sm;
        const struct hw_gpu *hw = c->gpus[i].object >= 0 ? hw_gpu_of(c, &c->gpus[i]) : NULL;
        unlinked &= c->gpus[i].sm >= 60 && !(hw && !hw->links);
    }
    if (unknown)
        assume(m, a, "the GPUs' compute capability: unknown, counted as older than Volta");
    if (unlinked && c->ngpus > 1)
        assume(m, a, "no NVLink: the topology shows none");
}

/* ---- channels ---- */

/* From nodes of the system to GPUs and nets of the model. */
static void publish(struct nccl_graph *g, const struct graph_system *s)
{
    for (int i = 0; i < g->nchannels * s->n[GRAPH_GPU]; i++)
        g->gpus[i] = s->nodes[GRAPH_GPU][g->gpus[i]]->gpu.gpu;
    for (int i = 0; i < g->nchannels * 2 && s->inter; i++)
        g->nets[i] = s->nodes[GRAPH_NET][g->nets[i]]->net.net;
    g->nets = s->inter ? g->nets : NULL;
}

/* Each channel of NVLS is a head only: the other GPUs follow in no order. */
static void fill_heads(struct nccl_graph *g, const struct graph_system *s)
{
    int gpus = s->n[GRAPH_GPU];
    for (int c = 0; c < g->nchannels; c++)
        for (int i = 0, at = 1, head = g->gpus[c * gpus]; i < gpus; i++)
            if (i != head)
                g->gpus[c * gpus + at++] = i;
}

static void search_graphs(struct nccl_model *m, struct graph_system *s)
{
    struct nccl_graph *ring = &m->ring, *tree = &m->tree, *nvls = &m->nvls;
    int most = m->version >= 22500 ? GRAPH_MOST_CHANNELS / 2 : GRAPH_MOST_CHANNELS / 4;

    graph_search_init(ring, s, GRAPH_RING, 1, most);
    graph_compute(s, ring);
    graph_search_init(tree, s, GRAPH_BALANCED_TREE, ring->nchannels, ring->nchannels);
    graph_compute(s, tree);
    graph_search_init(nvls, s, GRAPH_NVLS, 1, most);
    if (!m->setup.no_nvls && s->n[GRAPH_GPU] > 1)
        graph_compute(s, nvls);
    fill_heads(nvls, s);
    /* all three use the same channels */
    ring->nchannels = tree->nchannels = ring->nchannels < tree->nchannels ? ring->nchannels : tree->nchannels;
    publish(ring, s);
    publish(tree, s);
    publish(nvls, s);
}

static int clamp(int n, int least, int most)
{
    n = most && n > most ? most : n;
    return n < least ? least : n;
}

/* Search channels become those of the communicator: twice as many, on Hopper and later up to four times where few
 * would not use the links. */
static void count_channels(struct nccl_model *m)
{
    int most = m->version >= 22500 ? GRAPH_MOST_CHANNELS : GRAPH_MOST_CHANNELS / 2;
    int n = m->ring.nchannels * 2 < most ? m->ring.nchannels * 2 : most;
    int hopper = m->version >= 22500 ? m->sm >= 90 : m->sm == 90;
    int few = m->version >= 22000 ? n < 16 : n * 2 <= most;
    if (hopper && m->nodes > 1 && m->ring.bw_intra > 45.0 && few)
        n *= 2;
    int least = m->setup.min_channels < most ? m->setup.min_channels : most;
    m->nchannels = clamp(n, least, m->setup.max_channels);
}

/* The narrowest way of a GPU to the nets that it uses, GB/s. */
static float own_net_bw(const struct graph_system *s)
{
    float least = 0;
    for (int g = 0; g < s->n[GRAPH_GPU]; g++)
        for (int c = 0, several = 1; c < several; c++) {
            int net = graph_net_of(s, g, c, &several);
            float bw = net < 0 ? 0 : s->nodes[GRAPH_GPU][g]->paths[GRAPH_NET][net].bw;
            least = g + c == 0 || bw < least ? bw : least;
        }
    return least;
}

/* What RCCL has by hand, where it has. */
static void count_rccl_channels(struct nccl_model *m, const struct graph_system *s, struct arena *a)
{
    m->total_bw = s->total_bw;
    if (!m->rccl_rings && m->ranks_per_node > 1)
        assume(m, a, "RCCL: none of its known tables has this machine; NCCL's search is used");
    int n = rccl_channels(m, m->rccl_rings ? m->rccl_rings : m->ring.nchannels);
    m->nchannels = clamp(n, m->setup.min_channels, m->setup.max_channels);
}

/* NVLS has a number of its own: by GPU, and since 2.30 by NIC too. */
static void count_nvls_channels(struct nccl_model *m, const struct graph_system *s)
{
    if (!m->nvls.nchannels)
        return;
    int n = 16;
    if (m->sm >= 100 && m->version >= 22500)
        n = m->nodes > 1 || m->version < 22700 ? 32 : 24;
    if (m->sm >= 100 && m->version >= 23000 && m->nodes > 1) {
        float bw = own_net_bw(s);
        int few = m->nodes == 2 || (bw >= 96 && m->ranks_per_node > 8);
        n = bw >= 48 && !few ? 24 : 32;
    }
    m->nvls_channels = clamp(n, m->setup.min_channels, m->setup.max_channels);
}

/* ---- a call ---- */

static int threads_of(const struct nccl_model *m, int algo, int proto)
{
    if (algo == ALGO_NVLS || algo == ALGO_NVLS_TREE)
        return 640;
    if (proto == PROTO_LL128)
        return 640;
    if (algo == ALGO_RING && proto == PROTO_SIMPLE && (double)m->ring.bw_intra * m->ring.nchannels <= 12.0)
        return 256;
    return 512;
}

/* Channels that the scheduler spreads a call over: it cuts the call into cells, and gives a channel as many as make
 * its share of the traffic, but no less than the smallest worth having. */
static int channels_used(const struct nccl_model *m, int coll, int proto, uint64_t bytes, int most, int pool)
{
    uint64_t least = nccl_least_channel_traffic(m->version);
    uint64_t ranks = (uint64_t)m->ranks;
    int gathers = coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER;
    uint64_t per_byte = (coll == COLL_ALLREDUCE ? 2 : gathers ? ranks : 1) * (proto == PROTO_LL ? 4 : 1);
    uint64_t count = gathers ? (bytes + ranks - 1) / ranks : bytes; /* bytes that one rank brings */
    uint64_t cell = ((least + per_byte - 1) / per_byte + 15) / 16 * 16;
    uint64_t cells = (count + cell - 1) / cell;
    uint64_t traffic = count * per_byte > least ? count * per_byte : least;
    uint64_t share = traffic / (uint64_t)most;
    share = m->version >= 22900 ? (share + 15) / 16 * 16 : share > least ? share : least;
    uint64_t per_channel = (share + cell * per_byte - 1) / (cell * per_byte);

    if (!cells)
        return 1;
    uint64_t used = (cells + per_channel - 1) / per_channel;
    return used > (uint64_t)pool ? pool : (int)used;
}

void nccl_model_channels(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes,
                         struct nccl_choice *c)
{
    int n = m->nchannels, threads = threads_of(m, algo, proto), nvls = algo == ALGO_NVLS || algo == ALGO_NVLS_TREE;
    uint64_t threshold = proto == PROTO_SIMPLE ? 64 : 8; /* bytes that make a thread worth its while */

    *c = (struct nccl_choice){.algo = algo, .proto = proto, .us = nccl_cost_us(m, coll, algo, proto, bytes)};
    if (algo == ALGO_RING && proto == PROTO_LL)
        threshold *= (uint64_t)m->ranks;
    if (nvls) {
        n = algo == ALGO_NVLS && m->nodes > 1 && m->nvls_channels > n ? n : m->nvls_channels;
    } else {
        while (n >= 2 && bytes < (uint64_t)n * (uint64_t)threads * threshold)
            n--;
        while (threads % 128 == 0 && bytes < (uint64_t)n * (uint64_t)threads * threshold)
            threads /= 2;
    }
    if (proto == PROTO_SIMPLE && algo == ALGO_RING)
        threads += 32; /* a warp that only synchronizes */
    if (algo == ALGO_PAT || algo == ALGO_TREE)
        threads = 640;
    c->channels = n < 1 ? 1 : n;
    c->threads = threads < 96 ? 96 : threads;
    c->used = m->version < 22200
                  ? c->channels
                  : channels_used(m, coll, proto, bytes, c->channels, nvls ? m->nvls_channels : m->nchannels);
}

int nccl_model_choose(const struct nccl_model *m, int coll, uint64_t bytes, struct nccl_choice *c)
{
    double best = -1;
    int algo = -1, proto = -1;

    if (coll < 0 || coll >= COLL_COUNT)
        return -1;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            double us = nccl_cost_us(m, coll, a, p, bytes);
            if (us >= 0 && (best < 0 || us < best)) {
                best = us;
                algo = a;
                proto = p;
            }
        }
    if (algo < 0)
        return -1;
    if (m->rccl)
        proto = rccl_protocol(m, coll, bytes, proto);
    nccl_model_channels(m, coll, algo, proto, bytes, c);
    c->taken_by = m->rccl ? rccl_taken_by(m, coll, bytes) : NULL;
    return 0;
}

/* ---- NVLink domains of several nodes ---- */

#define DOMAINS_SINCE 22105 /* MNNVL */

/* How many nodes NCCL finds in one domain at most: where the topology shows several domains, the largest of them. */
static int nodes_a_domain(const struct nccl_setup *s, int version, struct arena *a)
{
    const struct topo_class *c = &s->topology->classes[s->class_index];
    const struct hw_gpu *hw = c->gpus[0].object >= 0 ? hw_gpu_of(c, &c->gpus[0]) : NULL;
    struct nvlink_rack *racks;
    int most = 0;
    if (s->no_mnnvl || s->p2p_within == PATH_LOC + 1 || version < DOMAINS_SINCE)
        return 1;
    for (int i = 0; i < c->ngpus; i++)
        if (!c->gpus[i].clique)
            return 1;
    int nracks = nvlink_racks(s->topology, a, &racks);
    for (int i = 0; i < nracks; i++)
        most = racks[i].nhosts > most ? racks[i].nhosts : most;
    if (nracks < 2 && hw && hw->domain_gpus)
        most = hw->domain_gpus / c->ngpus;
    return clamp(most, 1, GRAPH_MOST_GPUS / s->ranks_per_node);
}

static int shift(int index, int by)
{
    return index < 0 ? index : index + by;
}

/* NCCL fuses what the nodes of a domain see: `n` of `tray` side by side, on the same NVSwitches. */
static const struct topo_class *fuse(const struct topo_class *tray, int n, struct arena *a)
{
    struct topo_class *c = ARENA_NEW(a, struct topo_class);
    *c = *tray;
    c->nobjects = c->ngpus = c->nports = c->nlinks = 0;
    c->objects = arena_alloc(a, (size_t)n * (size_t)tray->nobjects * sizeof *c->objects);
    c->gpus = arena_alloc(a, (size_t)n * (size_t)tray->ngpus * sizeof *c->gpus);
    c->ports = arena_alloc(a, (size_t)n * (size_t)tray->nports * sizeof *c->ports);
    c->links = arena_alloc(a, (size_t)n * (size_t)tray->nlinks * sizeof *c->links);
    for (int t = 0; t < n; t++) {
        int objects = c->nobjects, gpus = c->ngpus;
        for (int i = 0; i < tray->nobjects; i++) {
            c->objects[c->nobjects] = tray->objects[i];
            c->objects[c->nobjects++].parent = shift(tray->objects[i].parent, objects);
        }
        for (int i = 0; i < tray->ngpus; i++) {
            c->gpus[c->ngpus] = tray->gpus[i];
            c->gpus[c->ngpus++].object = shift(tray->gpus[i].object, objects);
        }
        for (int i = 0; i < tray->nports; i++) {
            struct topo_port *p = &c->ports[c->nports++];
            *p = tray->ports[i];
            p->object = shift(p->object, objects);
            p->hca = t ? arena_printf(a, "%s of tray %d", p->hca, t) : p->hca;
        }
        for (int i = 0; i < tray->nlinks; i++) {
            struct topo_link *l = &c->links[c->nlinks++];
            *l = tray->links[i];
            l->gpu += gpus;
            l->peer_gpu = shift(l->peer_gpu, gpus);
            if (l->peer_object >= 0 && tray->objects[l->peer_object].kind != TOPO_NVSWITCH)
                l->peer_object += objects;
        }
    }
    return c;
}

/* A net's port stays that of the first tray. */
static struct nccl_net *fuse_nets(const struct nccl_model *m, const struct nccl_net *nets, int n, struct arena *a)
{
    struct nccl_net *all = arena_alloc(a, (size_t)(m->trays * n) * sizeof *all);
    for (int i = 0; i < m->trays * n; i++) {
        all[i] = nets[i % n];
        all[i].object = shift(all[i].object, i / n * (m->c->nobjects / m->trays));
    }
    return all;
}

/* By their numbers, from the setup's first on; tray by tray. */
static int *gpus_of_ranks(const struct nccl_model *m, struct arena *a)
{
    int per_tray = m->setup.ranks_per_node, all = m->c->ngpus / m->trays;
    int *gpus = arena_alloc(a, (size_t)m->ranks_per_node * sizeof *gpus);
    const struct topo_gpu *g = m->c->gpus;
    for (int i = 0; i < all; i++) {
        int number = -m->setup.first_gpu;
        for (int k = 0; k < all; k++)
            number += g[k].index < g[i].index || (k < i && g[k].index == g[i].index);
        for (int t = 0; t < m->trays && number >= 0 && number < per_tray; t++)
            gpus[t * per_tray + number] = t * all + i;
    }
    return gpus;
}

/* What NCCL takes for a node, as far as NVLink joins nodes; the domains are all alike. */
static void count_nodes(struct nccl_model *m, struct arena *a)
{
    int nodes = m->setup.nodes, most = nodes_a_domain(&m->setup, m->version, a);
    const struct topo_class *c = &m->setup.topology->classes[m->setup.class_index];
    m->nodes = (nodes - 1) / most + 1;
    m->trays = (nodes - 1) / m->nodes + 1;
    m->c = m->trays > 1 ? fuse(c, m->trays, a) : c;
    m->ranks_per_node = m->trays * m->setup.ranks_per_node;
    m->ranks = nodes * m->setup.ranks_per_node;
    m->gpus = gpus_of_ranks(m, a);
}

/* ---- the model ---- */

/* A node as NCCL sees it, with its NICs where there are other nodes. NULL after an error. */
static struct graph_system *see(struct nccl_model *m, struct arena *a, struct err *e)
{
    const char *about_nets = NULL, *about_nodes = NULL;
    m->assumed = NULL;
    if (m->nodes > 1) {
        struct nccl_net *nets = nccl_model_nets(&m->setup, m->version, a, &m->nnets, &about_nets, e);
        if (!nets)
            return NULL;
        m->nets = fuse_nets(m, nets, m->nnets, a);
        m->nnets *= m->trays;
    }
    struct graph_system *system = graph_system_new(m, a, &about_nodes);
    assume_about_gpus(m, a);
    if (m->trays > 1)
        assume(m, a,
               m->nodes * m->trays != m->setup.nodes
                   ? arena_printf(a, "%d NVLink domains of %d nodes, though the last is smaller", m->nodes, m->trays)
               : m->nodes > 1 ? arena_printf(a, "the nodes fill %d NVLink domains evenly", m->nodes)
                              : "all nodes are in one NVLink domain");
    if (m->version / 100 > NCCL_NEWEST / 100)
        assume(m, a, "a release newer than those known: counted as the newest of them");
    assume(m, a, about_nets);
    assume(m, a, about_nodes);
    graph_paths(system);
    return system;
}

/* Since this release NICs that are faster than what joins GPUs keep them apart. */
#define PARTS_SINCE 21403

/* How many nodes NCCL makes of each: where there are no others, its NICs count all the same. */
static int parts_of(const struct nccl_model *m, const struct graph_system *system, struct arena *a)
{
    if (m->version < PARTS_SINCE || m->setup.no_net_intra || system->amd || m->setup.ranks_per_node < 2 || m->trays > 1)
        return 1;
    struct nccl_model other = *m;
    other.nodes = 2;
    const struct graph_system *with_nets = m->nodes > 1 ? system : see(&other, a, NULL);
    return with_nets ? graph_parts(with_nets) : 1;
}

/* The same where NCCL takes parts of a node for nodes. */
static struct graph_system *see_parts(struct nccl_model *m, struct arena *a, struct err *e)
{
    struct graph_system *system = see(m, a, e);
    int parts = system ? parts_of(m, system, a) : 1;
    if (parts < 2)
        return system;
    m->nodes *= parts;
    m->ranks_per_node /= parts;
    system = see(m, a, e);
    assume(m, a,
           arena_printf(a,
                        "NICs are faster than the links between its GPUs, so NCCL treats each node as %d nodes, which "
                        "communicate over NICs (NCCL_NET_DISABLE_INTRA=1 ends that)",
                        parts));
    return system;
}

struct nccl_model *nccl_model_new(const struct nccl_setup *s, struct arena *a, struct err *e)
{
    if (check_setup(s, e))
        return NULL;
    struct nccl_model *m = ARENA_NEW(a, struct nccl_model);
    m->setup = *s;
    m->setup.ranks_per_node = s->ranks_per_node ? s->ranks_per_node : s->topology->classes[s->class_index].ngpus;
    m->version = s->version ? s->version : NCCL_NEWEST;
    count_nodes(m, a);
    struct graph_system *system = see_parts(m, a, e);
    if (!system)
        return NULL;
    m->sm = system->sm;
    m->sm_most = system->sm_most;
    m->cpu = system->cpu;
    m->switches = system->n[GRAPH_NVS] > 0;
    search_graphs(m, system);
    m->rccl_rings = rccl_rings(m, system);
    m->rccl = rccl_tuning_of(m);
    if (m->rccl)
        count_rccl_channels(m, system, a);
    else
        count_channels(m);
    count_nvls_channels(m, system);
    nccl_cost_fill(m);
    return m;
}
