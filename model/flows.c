/* A pattern is laid out once, channel by channel and group by group: after each channel, the busiest links tell what k
 * channels reach. All nodes do the same, so that one stands for all and the cost is that of the class. */
#include "model/links.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct layout {
    const struct model_links *l;
    const struct model_switches *switches;
    struct model_flow *flow;
    double *loads; /* by link, of all channels so far, each carrying 1 */
    double cross;  /* what leaves the node in it and has to leave the leaf, too */
    int leaves;    /* something leaves the node */
};

static const int *gpus_of(const struct layout *y, const struct nccl_graph *g, int channel)
{
    return g->gpus + (size_t)(channel % g->nchannels) * (size_t)y->l->nccl->ranks_per_node;
}

/* ---- between nodes --------------------------------------------------------------------------------------------- */

static int nodes_a_leaf(const struct layout *y)
{
    int hosts = y->switches->nodes_per_leaf, nodes = y->l->nccl->nodes;
    if (hosts < 1 || hosts >= y->l->nccl->setup.nodes)
        return nodes;
    int most = (int)((int64_t)hosts * nodes / y->l->nccl->setup.nodes);
    return most < 1 ? 1 : most;
}

/* What goes to neighbours in rank order leaves a leaf once per leaf, hosts being numbered along leaves. A leaf of one
 * rail is left by all that changes the rail. */
static double neighbours_crossing(const struct layout *y, int changes_rail)
{
    int own = nodes_a_leaf(y);
    if (changes_rail && !y->switches->mixed_rails)
        return 1;
    return own < y->l->nccl->nodes ? 1.0 / own : 0;
}

static double all_crossing(const struct layout *y)
{
    int nodes = y->l->nccl->nodes;
    return (double)(nodes - nodes_a_leaf(y)) / (nodes - 1);
}

static void slower(enum model_way *way, enum model_way other)
{
    *way = other > *way ? other : *way;
}

static void leave(struct layout *y, int gpu, int net, double load, double crossing)
{
    slower(&y->flow->net_way, model_way_out(y->l, gpu, net, load, y->loads));
    y->cross += load * crossing;
    enum model_net_kind kind = y->l->kinds[net];
    if (!y->leaves || model_nets[kind].hop_us[PROTO_LL] > model_nets[y->flow->kind].hop_us[PROTO_LL])
        y->flow->kind = kind;
    y->leaves = 1;
}

static void arrive(struct layout *y, int net, int gpu, double load)
{
    slower(&y->flow->net_way, model_way_in(y->l, net, gpu, load, y->loads));
}

/* ---- what a layout amounts to ---------------------------------------------------------------------------------- */

/* With `share` of the bytes on each channel laid out so far. */
static struct model_load busiest(const struct layout *y, double share)
{
    struct model_load r = {0, 0, -1, -1};
    double nics_GBps = 0;
    for (int i = 0; i < y->l->n; i++) {
        const struct model_link *k = &y->l->links[i];
        double us = y->loads[i] * share / k->GBps / 1e3;
        if (us > (k->between_nodes ? r.net_us : r.node_us)) {
            *(k->between_nodes ? &r.net_us : &r.node_us) = us;
            *(k->between_nodes ? &r.net_link : &r.node_link) = i;
        }
    }
    for (int i = 0; i < y->l->nccl->nnets; i++)
        nics_GBps += y->l->links[y->l->nic_out[i]].GBps;
    double thinning = y->switches->oversubscription > 1 ? y->switches->oversubscription : 1;
    double up_us = nics_GBps > 0 ? y->cross * share * thinning / nics_GBps / 1e3 : 0;
    if (up_us > r.net_us) {
        r.net_us = up_us;
        r.net_link = MODEL_UPLINKS;
    }
    return r;
}

static const struct nccl_graph *graph_of(const struct model_links *l, size_t graph)
{
    return (const struct nccl_graph *)((const char *)l->nccl + graph);
}

/* Lays out one channel. */
typedef void lay_channel(struct layout *y, const struct nccl_graph *g, int channel);

/* The groups that work at once, the one that is asked about first: the node's links as each sees them. */
struct groups {
    const struct model_links *links;
    int n;
    const struct model_switches *switches;
    struct arena *arena;
};

static struct layout layout_of(const struct groups *g, struct model_flow *flow)
{
    return (struct layout){
        .switches = g->switches, .flow = flow, .loads = arena_alloc(g->arena, (size_t)g->links->n * sizeof(double))};
}

/* `graph` is where struct nccl_model has the pattern's channels. */
static void lay_out(const struct groups *g, size_t graph, lay_channel *lay, struct model_flow *flow)
{
    const struct nccl_graph *own = graph_of(g->links, graph);
    if (own->nchannels < 1)
        return;
    struct layout y = layout_of(g, flow);
    flow->loads = arena_alloc(g->arena, MODEL_MOST_CHANNELS * sizeof *flow->loads);
    for (int k = 0; k < MODEL_MOST_CHANNELS; k++) {
        for (int i = 0; i < g->n; i++) {
            const struct nccl_graph *other = graph_of(&g->links[i], graph);
            y.l = &g->links[i];
            if (other->nchannels > 0)
                lay(&y, other, k);
        }
        y.l = g->links;
        flow->loads[k] = busiest(&y, 1.0 / (k + 1));
    }
}

/* ---- the patterns ---------------------------------------------------------------------------------------------- */

static void pass_gpus(struct layout *y, int from, int to, double load)
{
    slower(&y->flow->node_way, model_way_gpus(y->l, from, to, load, y->loads));
}

/* RCCL's rings and trees by hand, channel by channel in another order, use all links of a mesh alike. */
static void pass_channel(struct layout *y, int from, int to, double load)
{
    if (y->l->even_mesh)
        slower(&y->flow->node_way, model_way_mesh(y->l, from, load, y->loads));
    else
        pass_gpus(y, from, to, load);
}

/* Where a channel comes into the node and where it goes out: by its first GPU, a ring by its last. */
struct ends {
    struct model_gate in, out;
};

static struct ends ends_of(const struct layout *y, const struct nccl_graph *g, int channel, int last)
{
    const struct model_links *l = y->l;
    const int *gpus = gpus_of(y, g, channel), *nets = g->nets + (size_t)(channel % g->nchannels) * 2;
    if (l->ngates)
        return (struct ends){l->gates[channel % l->ngates], l->gates[(channel + !!last) % l->ngates]};
    return (struct ends){{gpus[0], nets[0]}, {gpus[last], nets[1]}};
}

static void lay_ring(struct layout *y, const struct nccl_graph *g, int channel)
{
    const int *gpus = gpus_of(y, g, channel);
    int last = y->l->nccl->ranks_per_node - 1;
    for (int i = 0; i < last; i++)
        pass_channel(y, gpus[i], gpus[i + 1], 1);
    if (!g->nets) {
        pass_channel(y, gpus[last], gpus[0], 1);
        return;
    }
    struct ends e = ends_of(y, g, channel, last);
    arrive(y, e.in.net, e.in.gpu, 1);
    leave(y, e.out.gpu, e.out.net, 1, neighbours_crossing(y, e.in.net != e.out.net));
}

/* Times a byte leaves the busiest node in NCCL's double binary tree, where a node that has children in one tree is a
 * leaf in the other (src/graph/trees.cc): 3 up and down in one half, 1 in the other. */
static double tree_sends(int nodes)
{
    return nodes == 2 ? 1 : nodes == 3 ? 1.5 : 2;
}

static void lay_tree(struct layout *y, const struct nccl_graph *g, int channel)
{
    const int *gpus = gpus_of(y, g, channel);
    for (int i = 0; i + 1 < y->l->nccl->ranks_per_node; i++) {
        pass_channel(y, gpus[i], gpus[i + 1], 1 / model_common.tree_efficiency);
        pass_channel(y, gpus[i + 1], gpus[i], 1 / model_common.tree_efficiency);
    }
    if (!g->nets)
        return;
    struct ends e = ends_of(y, g, channel, 0);
    double sends = tree_sends(y->l->nccl->nodes);
    arrive(y, e.in.net, e.in.gpu, sends);
    leave(y, e.out.gpu, e.out.net, sends, neighbours_crossing(y, e.in.net != e.out.net));
}

/* The switch reads every GPU's bytes, each GPU writes its part of the result, which the switch hands to all. Five to
 * eight GPUs show that; 72 carry no more than eight do, and NCCL's own estimate is the same for any number. */
static void lay_nvls(struct layout *y, const struct nccl_graph *g, int channel)
{
    const struct model_links *l = y->l;
    double load = (1 + 1 / fmin(l->nccl->ranks_per_node, model_common.nvls_gpus)) * l->gpu->link_efficiency /
                  l->gpu->nvls_efficiency;
    for (int i = 0; i < l->nccl->ranks_per_node; i++) {
        y->loads[l->nvlink_out[l->nccl->gpus[i]]] += load;
        y->loads[l->nvlink_in[l->nccl->gpus[i]]] += load;
    }
    (void)g;
    (void)channel;
}

static void lay_nvls_tree(struct layout *y, const struct nccl_graph *g, int channel)
{
    lay_nvls(y, g, channel);
    if (!g->nets)
        return;
    struct ends e = ends_of(y, g, channel, 0);
    double sends = tree_sends(y->l->nccl->nodes);
    arrive(y, e.in.net, e.in.gpu, sends);
    leave(y, e.out.gpu, e.out.net, sends, neighbours_crossing(y, 0));
}

static void lay_pat(struct layout *y, const struct nccl_graph *g, int channel)
{
    if (!g->nets)
        return;
    struct ends e = ends_of(y, g, channel, 0);
    arrive(y, e.in.net, e.in.gpu, 1);
    leave(y, e.out.gpu, e.out.net, 1, all_crossing(y));
}

/* The NIC that a GPU sends by: the nearest, and among those the one that fewest GPUs before it have taken. */
static int nearest_net(const struct model_links *l, int gpu, int *taken)
{
    int best = 0;
    for (int i = 1; i < l->nccl->nnets; i++) {
        enum path_class class_ = model_class_to_net(l, gpu, i), nearest = model_class_to_net(l, gpu, best);
        if (class_ < nearest || (class_ == nearest && taken[i] < taken[best]))
            best = i;
    }
    taken[best]++;
    return best;
}

/* Of nBytes, each rank keeps its own part and sends one to every other, to the group's first GPU `hot` of them. That
 * GPU's node receives most, and each other node sends most: what is laid out has both. */
static void lay_exchange(struct layout *y, int *taken, int hot)
{
    const struct model_links *l = y->l;
    int local = l->nccl->ranks_per_node, ranks = l->nccl->ranks;
    const int *gpus = l->nccl->gpus;
    double part = 1.0 / (ranks + hot - 1);
    for (int i = 0; i < local; i++)
        for (int k = 0; k < local; k++)
            if (i != k)
                pass_gpus(y, gpus[i], gpus[k], part * (k ? 1 : hot));
    for (int i = 0; i < local && l->nccl->nodes > 1; i++) {
        int net = nearest_net(l, gpus[i], taken);
        leave(y, gpus[i], net, part * (ranks - local + hot - 1), all_crossing(y));
        arrive(y, net, gpus[i], part * (ranks - local) * (i ? 1 : hot));
    }
}

/* Each rank sends to the next: a node's last one to the first of the next node. */
static void lay_shift(struct layout *y, int *taken, int hot)
{
    (void)hot;
    const struct model_links *l = y->l;
    const int *gpus = l->nccl->gpus;
    int first = gpus[0], last = gpus[l->nccl->ranks_per_node - 1];
    for (int i = 0; i + 1 < l->nccl->ranks_per_node; i++)
        pass_gpus(y, gpus[i], gpus[i + 1], 1);
    if (l->nccl->nodes == 1) {
        pass_gpus(y, last, first, 1);
        return;
    }
    int out = nearest_net(l, last, taken), in = first == last ? out : nearest_net(l, first, taken);
    leave(y, last, out, 1, neighbours_crossing(y, in != out));
    arrive(y, in, first, 1);
}

/* What has no channels of its own: all of it at once. */
static void lay_pairs(const struct groups *g, void (*lay)(struct layout *y, int *taken, int hot), int hot,
                      struct model_flow *flow)
{
    struct layout y = layout_of(g, flow);
    int *taken = arena_alloc(g->arena, (size_t)g->links->nccl->nnets * sizeof *taken);
    for (int i = 0; i < g->n; i++) {
        y.l = &g->links[i];
        lay(&y, taken, hot);
    }
    y.l = g->links;
    flow->loads = ARENA_NEW(g->arena, struct model_load);
    *flow->loads = busiest(&y, 1);
}

#define GRAPH(name) offsetof(struct nccl_model, name)

void model_flows(const struct model_links *l, const struct nccl_model *const *beside, int nbeside,
                 const struct model_switches *switches, struct model_flow *flows, struct arena *a)
{
    const struct nccl_model *m = l->nccl;
    struct model_links *links = arena_alloc(a, ((size_t)nbeside + 1) * sizeof *links);
    const struct groups g = {links, nbeside + 1, switches, a};
    int switched = l->gpu->nvls_efficiency > 0;
    for (int i = 0; i <= nbeside; i++) {
        links[i] = *l;
        links[i].nccl = i ? beside[i - 1] : m;
    }
    for (int i = 0; i < m->ranks_per_node; i++)
        switched &= l->nvlink_out[m->gpus[i]] >= 0;
    memset(flows, 0, MODEL_PATTERNS * sizeof *flows);
    lay_out(&g, GRAPH(ring), lay_ring, &flows[MODEL_RING]);
    lay_out(&g, GRAPH(tree), lay_tree, &flows[MODEL_TREE]);
    if (m->ranks_per_node == 1)
        lay_out(&g, GRAPH(tree), lay_pat, &flows[MODEL_PAT]);
    if (switched) {
        lay_out(&g, GRAPH(nvls), lay_nvls, &flows[MODEL_NVLS]);
        lay_out(&g, GRAPH(nvls), lay_nvls_tree, &flows[MODEL_NVLS_TREE]);
    }
    lay_pairs(&g, lay_exchange, 1, &flows[MODEL_ALLTOALL]);
    lay_pairs(&g, lay_exchange, COLL_HOT, &flows[MODEL_ALLTOALLV]);
    lay_pairs(&g, lay_shift, 1, &flows[MODEL_SHIFT]);
}
