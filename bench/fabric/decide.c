/* What a measured fabric means: faults in words, what is left out, findings, and the settings where NCCL's default is
 * wrong. */
#include <math.h>
#include <string.h>

#include "bench/fabric/fabric.h"
#include "core/stats.h"

/* An unsteady port: in so many tries at least, at 99.9 % confidence so much more than others, and so much by itself. */
#define LEAST_TRIES         4
#define UNSTEADY_CONFIDENCE 0.999
#define UNSTEADY_RATIO      2.0
#define UNSTEADY_SPREAD     0.1
#define LEAST_SPREAD        0.001
#define MOST_UNSTEADY       16

/* The ways of one node's GPUs to its ports differ: across sockets it is a third of that on one switch. */
#define GPU_SLOW_ALONE 0.2

/* ---- ports and faults in words ---- */

static const char *port_text(const struct verbs_fabric *f, struct verbs_end p)
{
    const struct verbs_fabric_port *port = &f->ports[verbs_port_index(f, p)];
    return arena_printf(f->arena, "%s %s", port->node ? port->node : "?", port->name ? port->name : "?");
}

const char *verbs_fault_name(const struct verbs_fabric *f, const struct verbs_fault *s)
{
    switch (s->kind) {
    case VERBS_FAULT_ALL:
        return "everything:";
    case VERBS_FAULT_NODE:
        return arena_printf(f->arena, "node %s, all its ports:", f->ports[s->a.node * f->rails].node);
    case VERBS_FAULT_SENDS:
        return arena_printf(f->arena, "%s, what it sends:", port_text(f, s->a));
    case VERBS_FAULT_RECEIVES:
        return arena_printf(f->arena, "%s, what it receives:", port_text(f, s->a));
    case VERBS_FAULT_PORT:
        return arena_printf(f->arena, "%s, or its cable:", port_text(f, s->a));
    case VERBS_FAULT_CROSS:
        return "between different rails:";
    case VERBS_FAULT_RAIL:
        return arena_printf(f->arena, "rail %d (%s), between nodes:", s->a.rail,
                            f->ports[s->a.rail].name ? f->ports[s->a.rail].name : "?");
    default:
        return arena_printf(f->arena, s->one_way ? "from %s to %s:" : "between %s and %s:", port_text(f, s->a),
                            port_text(f, s->b));
    }
}

const char *verbs_fault_text(const struct verbs_fabric *f, const struct verbs_fault *s)
{
    if (s->verdict == VERBS_SLOW)
        return arena_printf(f->arena, "%s %d of %d tries slow, median %.3g GB/s, others %.3g GB/s",
                            verbs_fault_name(f, s), s->bad, s->tried, s->GBps, s->others_GBps);
    return arena_printf(f->arena, "%s %d of %d tries failed; the first: %s", verbs_fault_name(f, s), s->bad, s->tried,
                        s->why ? s->why : "for no known reason");
}

const char *verbs_untried(const struct verbs_fabric *f, int *count)
{
    const int most = 16;
    char *tried = arena_alloc(f->arena, (size_t)f->nodes * (size_t)f->rails + 1);
    const char *list = "";
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        tried[verbs_port_index(f, t->from)] = tried[verbs_port_index(f, t->to)] = 1;
    }
    *count = 0;
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name && !tried[i] && (*count)++ < most)
            list = arena_printf(f->arena, "%s%s%s", list, *list ? ", " : "",
                                port_text(f, (struct verbs_end){i / f->rails, i % f->rails}));
    return *count > most ? arena_printf(f->arena, "%s and %d more", list, *count - most) : list;
}

/* ---- what is left out so that the rest works ---- */

/* A node, or a rail on all nodes, whichever costs less of the cluster; of two that cost the same the node, whose fault
 * it is. Every fault is explained away by one of a few: that of a port by its node or its rail. The cheapest choice for
 * all of them together is made greedily: first what explains most for its cost. */

/* Return whether leaving out a node or a rail (the other is -1) explains a fault away. */
static int is_explained(const struct verbs_fault *s, int node, int rail)
{
    switch (s->kind) {
    case VERBS_FAULT_PORT:
    case VERBS_FAULT_SENDS:
    case VERBS_FAULT_RECEIVES:
        return node == s->a.node || rail == s->a.rail;
    case VERBS_FAULT_PAIR: /* between two nodes nobody can tell its ends */
        return s->a.node != s->b.node && s->a.rail == s->b.rail &&
               (node == s->a.node || node == s->b.node || rail == s->a.rail);
    case VERBS_FAULT_RAIL:
        return rail == s->a.rail;
    case VERBS_FAULT_NODE:
        return node == s->a.node;
    default:
        return 0;
    }
}

static int count_explained(const struct verbs_decision *d, const char *open, int node, int rail)
{
    int n = 0;
    for (int i = 0; i < d->nfaults; i++)
        n += open[i] && is_explained(&d->faults[i], node, rail);
    return n;
}

/* Close the open faults that it explains away; return the first as a sentence. */
static const char *close_faults(struct verbs_fabric *f, const struct verbs_decision *d, char *open, int node, int rail)
{
    const char *first = NULL;
    for (int i = 0; i < d->nfaults; i++) {
        if (!open[i] || !is_explained(&d->faults[i], node, rail))
            continue;
        first = first ? first : verbs_fault_text(f, &d->faults[i]);
        open[i] = 0;
    }
    return first ? first : "";
}

static double percent(int of)
{
    return 100.0 / of;
}

static void leave_node_out(struct verbs_fabric *f, struct verbs_decision *d, char *open, int node)
{
    const char *fault = close_faults(f, d, open, node, -1);
    d->nodes_out[node] = arena_printf(f->arena,
                                      "%s; leaving the node out costs 1 of %d nodes (%.3g %%), leaving its rail out on "
                                      "all nodes would cost every node 1 of %d ports (%.3g %%)",
                                      fault, f->nodes, percent(f->nodes), f->rails, percent(f->rails));
    d->nnodes_out++;
}

static void leave_rail_out(struct verbs_fabric *f, struct verbs_decision *d, char *open, int rail)
{
    const char *name = f->ports[rail].name ? f->ports[rail].name : "?", *fault = close_faults(f, d, open, -1, rail);
    d->left_out[rail] = arena_printf(f->arena, "without %s: %s; that costs every node 1 of %d ports (%.3g %%)", name,
                                     fault, f->rails, percent(f->rails));
}

static void leave_out(struct verbs_fabric *f, struct verbs_decision *d)
{
    char *open = arena_alloc(f->arena, (size_t)d->nfaults + 1);
    int rails_left = f->rails;
    memset(open, 1, (size_t)d->nfaults);
    for (;;) {
        int best_node = -1, best_rail = -1;
        double best = 0;
        for (int i = 0; i < f->nodes + f->rails; i++) {
            const int is_rail = i >= f->nodes, node = is_rail ? -1 : i, rail = is_rail ? i - f->nodes : -1;
            /* Two nodes at least, and one rail, must stay. */
            const int stays =
                is_rail ? d->left_out[rail] || rails_left <= 1 : d->nodes_out[node] || f->nodes - d->nnodes_out <= 2;
            double worth = (double)count_explained(d, open, node, rail) * (is_rail ? f->rails : f->nodes);
            if (!stays && worth > best) {
                best = worth;
                best_node = node;
                best_rail = rail;
            }
        }
        if (best_rail >= 0) {
            leave_rail_out(f, d, open, best_rail);
            rails_left--;
        } else if (best_node >= 0) {
            leave_node_out(f, d, open, best_node);
        } else {
            return;
        }
    }
}

/* ---- rates and MTUs that are not as they could be ---- */

/* A value that ports are compared by: the MTU or the rate. */
struct measure {
    const char *id, *what, *unit, *advice;
    int is_mtu;
};

static double value_of(const struct verbs_fabric_port *p, const struct measure *m)
{
    return m->is_mtu ? p->mtu_bytes : p->rate_Gbps;
}

/* The value that more than half of the ports have, those that do not say left out; 0 when there is none. The candidate
 * is found by Boyer and Moore's majority vote. */
static double majority_of(const struct verbs_fabric *f, const struct measure *m, int *votes)
{
    double candidate = 0;
    int lead = 0, known = 0;
    *votes = 0;
    for (int i = 0; i < f->nodes * f->rails; i++) {
        double v = value_of(&f->ports[i], m);
        if (v <= 0)
            continue;
        candidate = lead ? candidate : v;
        lead += v == candidate ? 1 : -1;
        known++;
    }
    for (int i = 0; i < f->nodes * f->rails; i++)
        *votes += known && value_of(&f->ports[i], m) == candidate;
    return *votes * 2 > known ? candidate : 0;
}

/* What is below that of most others. */
static void find_below(struct verbs_fabric *f, struct findings *found, const struct measure *m)
{
    int votes;
    double usual = majority_of(f, m, &votes);
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_fabric_port *p = &f->ports[i];
        double v = value_of(p, m);
        if (v > 0 && v < usual)
            finding_add(found, FINDING_WARNING, m->id, arena_printf(f->arena, "%s %s", p->node, p->name),
                        "%s of %g %s, %d others have %g", m->what, v, m->unit, votes, usual)
                ->advice = m->advice;
    }
}

/* RoCE takes the largest RDMA MTU that fits into its network interface's. */
static void find_small_mtu(struct verbs_fabric *f, struct findings *found)
{
    int small = 0, ports = 0, least = 0, most = 0;
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_fabric_port *p = &f->ports[i];
        ports += p->name != NULL;
        if (!p->mtu_bytes || p->mtu_bytes >= p->max_mtu_bytes)
            continue;
        small++;
        least = least && least < p->mtu_bytes ? least : p->mtu_bytes;
        most = p->max_mtu_bytes > most ? p->max_mtu_bytes : most;
    }
    if (small)
        finding_add(found, FINDING_WARNING, "mtu-small", NULL,
                    "%d of %d ports carry messages in packets of %d bytes where %d are possible", small, ports, least,
                    most)
            ->advice = "raise the MTU of their network interfaces (RoCE: to 4,200 or more) or of the InfiniBand "
                       "partition, and of the switches";
}

/* What a port sends from a GPU's memory, or receives there; 0 nothing. */
static double gpu_rate(const struct verbs_fabric_gpu *g, int receives)
{
    return receives ? g->receive_GBps : g->send_GBps;
}

/* A GPU whose memory a port carries far more slowly than others do, or not at all. It is held against the same GPU and
 * port of the other nodes; where there are no others, against all of its node, whose ways differ. */
static void find_slow_gpus(struct verbs_fabric *f, struct findings *found)
{
    double *values = arena_alloc(f->arena, ((size_t)f->ngpus + 1) * sizeof *values);
    for (int i = 0; i < 2 * f->ngpus; i++) {
        const struct verbs_fabric_gpu *g = &f->gpus[i / 2];
        int receives = i % 2, n = 0;
        for (int k = 0; k < f->ngpus; k++) {
            const struct verbs_fabric_gpu *o = &f->gpus[k];
            if (o != g && gpu_rate(o, receives) > 0 && (f->nodes == 1 || (o->gpu == g->gpu && o->rail == g->rail)))
                values[n++] = gpu_rate(o, receives);
        }
        double usual = stats_median(values, n), least = usual * (f->nodes == 1 ? GPU_SLOW_ALONE : VERBS_SLOW_RATIO);
        if (!n || gpu_rate(g, receives) >= least)
            continue;
        finding_add(found, FINDING_WARNING, "gpu-memory-slow",
                    arena_printf(f->arena, "%s, GPU %d", port_text(f, (struct verbs_end){g->node, g->rail}), g->gpu),
                    "%.3g GB/s %s its memory, others have %.3g%s%s", gpu_rate(g, receives), receives ? "into" : "from",
                    usual, g->why ? ": " : "", g->why ? g->why : "")
            ->advice = "check the GPU's PCIe link, ACS and the IOMMU; compare with nvidia-smi topo -m";
    }
}

/* Logarithms of spreads: how many, their sum and that of their squares. */
struct spreads {
    int n;
    double sum, squares;
};

static void add_spread(struct spreads *s, double spread)
{
    double v = log(fmax(spread, LEAST_SPREAD));
    s->n++;
    s->sum += v;
    s->squares += v * v;
}

/* The variance of their mean. */
static double variance_of(const struct spreads *s)
{
    return fmax(0, s->squares - s->sum * s->sum / s->n) / (s->n - 1) / s->n;
}

/* Lower bound of how much larger the spreads `a` are than `b`, as a logarithm (Welch's interval). */
static double spreads_beyond(const struct spreads *a, const struct spreads *b)
{
    if (a->n < LEAST_TRIES || b->n < LEAST_TRIES)
        return 0;
    double va = variance_of(a), vb = variance_of(b), both = va + vb;
    if (both <= 0)
        return 0;
    double df = both * both / (va * va / (a->n - 1) + vb * vb / (b->n - 1));
    return a->sum / a->n - b->sum / b->n - stats_student_t(df, UNSTEADY_CONFIDENCE) * sqrt(both);
}

/* Ports whose bandwidth differs from sample to sample far more than that of others, the worst first: lost packets are
 * sent again. What was tried with a port that has been named counts for nobody else. */
static void find_unsteady(struct verbs_fabric *f, struct findings *found)
{
    const int ports = f->nodes * f->rails;
    char *named = arena_alloc(f->arena, (size_t)ports + 1);
    struct spreads *by_port = arena_alloc(f->arena, ((size_t)ports + 1) * sizeof *by_port);
    for (int turn = 0; turn < MOST_UNSTEADY; turn++) {
        struct spreads all = {0}, mine = {0}, others = {0};
        int worst = -1;
        double most = log(UNSTEADY_RATIO);
        memset(by_port, 0, (size_t)ports * sizeof *by_port);
        for (int i = 0; i < f->ntries; i++) {
            const struct verbs_try *t = &f->tries[i].outcome.pair;
            int x = verbs_port_index(f, t->from), y = verbs_port_index(f, t->to);
            if (f->tries[i].spread <= 0 || named[x] || named[y])
                continue;
            add_spread(&all, f->tries[i].spread);
            add_spread(&by_port[x], f->tries[i].spread);
            add_spread(&by_port[y], f->tries[i].spread);
        }
        for (int i = 0; i < ports; i++) {
            const struct spreads *p = &by_port[i];
            const struct spreads rest = {all.n - p->n, all.sum - p->sum, all.squares - p->squares};
            double beyond = spreads_beyond(p, &rest);
            if (beyond <= most || exp(p->sum / p->n) < UNSTEADY_SPREAD)
                continue;
            most = beyond;
            worst = i;
            mine = *p;
            others = rest;
        }
        if (worst < 0)
            return;
        named[worst] = 1;
        finding_add(
            found, FINDING_WARNING, "bandwidth-unsteady",
            port_text(f, (struct verbs_end){worst / f->rails, worst % f->rails}),
            "its bandwidth varies by %.0f %% from sample to sample, that of others by %.0f %% (%d and %d tries)",
            100 * exp(mine.sum / mine.n), 100 * exp(others.sum / others.n), mine.n, others.n)
            ->advice = "packets are lost or paused on the way: read its counters (out_of_sequence, packet_seq_err, "
                       "rx_discards, pause frames), check cable, optics and PFC";
    }
}

/* An index that the environment asks for, and that does not connect while another does, or has no GID. */
static void find_wrong_index(struct verbs_fabric *f, struct findings *found, int nccl)
{
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_gid_table *t = &f->ports[i].gids;
        const struct verbs_gid_setting asked = verbs_gid_asked(t);
        int index = verbs_gid_nccl_choice(t, nccl, &asked);
        int there = index < t->count && verbs_gid_kind(&t->gids[index]) != VERBS_GID_NO_KIND;
        int proven = 0;
        char address[VERBS_GID_TEXT];
        for (int k = 0; k < t->count; k++)
            proven |= t->gids[k].proven;
        if (asked.index < 0 || t->infiniband || !f->ports[i].name || (there && (t->gids[index].proven || !proven)))
            continue;
        finding_add(found, FINDING_ERROR, "gid-index-wrong",
                    port_text(f, (struct verbs_end){i / f->rails, i % f->rails}),
                    "NCCL_IB_GID_INDEX=%s of the environment: %s%s", t->asked, there ? "nothing connects by " : "",
                    there ? verbs_gid_print(address, &t->gids[index]) : "the port has no such GID")
            ->advice = "remove it from the environment and nccl.conf; NCCL then chooses as shown under GIDs";
    }
}

static struct findings find_odd_ports(struct verbs_fabric *f, int nccl)
{
    static const struct measure rate = {"rate-below", "a rate", "Gb/s",
                                        "check cable, transceiver and the setting of the switch port", 0};
    static const struct measure mtu = {"mtu-below", "an RDMA MTU", "bytes", "give all ports of the fabric the same MTU",
                                       1};
    struct findings found = {.arena = f->arena};
    find_below(f, &found, &rate);
    find_below(f, &found, &mtu);
    find_small_mtu(f, &found);
    find_slow_gpus(f, &found);
    find_wrong_index(f, &found, nccl);
    find_unsteady(f, &found);
    return found;
}

/* ---- settings ---- */

static void add_setting(struct verbs_fabric *f, struct verbs_decision *d, const char *name, const char *value,
                        const char *why)
{
    ARENA_ADD(f->arena, d->settings, d->nsettings) = (struct verbs_setting){name, value, why};
}

const char *verbs_hca_list(const struct verbs_fabric *f, const struct verbs_decision *d, int node)
{
    const char *list = "";
    for (int rail = 0; rail < f->rails; rail++) {
        const struct verbs_fabric_port *p = &f->ports[node * f->rails + rail];
        if (!d->left_out[rail] && p->name)
            list = arena_printf(f->arena, "%s%s%s", list, *list ? "," : "=", p->name);
    }
    return list;
}

static void decide_hcas(struct verbs_fabric *f, struct verbs_decision *d)
{
    const char *why = NULL;
    int first = 0;
    leave_out(f, d);
    for (int rail = 0; rail < f->rails; rail++)
        if (d->left_out[rail])
            why = arena_printf(f->arena, "%s%s%s", why ? why : "", why ? "; " : "", d->left_out[rail]);
    while (first < f->nodes - 1 && d->nodes_out[first])
        first++;
    if (why)
        add_setting(f, d, "NCCL_IB_HCA", verbs_hca_list(f, d, first), why);
}

/* The parts of "NAME=value NAME=value". */
static void add_environment(struct verbs_fabric *f, struct verbs_decision *d, const char *environment)
{
    char *list = arena_strdup(f->arena, environment), *rest = NULL;
    for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value) {
            *value = '\0';
            add_setting(f, d, word, value + 1, d->gid);
        }
    }
}

/* GIDs of ports that are left out do not count. */
static void decide_gids(struct verbs_fabric *f, struct verbs_decision *d, int nccl)
{
    struct verbs_gid_advice advice;
    struct verbs_gid_table *tables = arena_alloc(f->arena, ((size_t)f->nodes * (size_t)f->rails + 1) * sizeof *tables);
    int n = 0;
    for (int i = 0; i < f->nodes * f->rails; i++)
        if (f->ports[i].name && !d->left_out[i % f->rails] && !d->nodes_out[i / f->rails])
            tables[n++] = f->ports[i].gids;
    verbs_gid_advise(tables, n, nccl, &advice);
    d->gid = arena_strdup(f->arena, advice.why);
    add_environment(f, d, advice.environment);
}

struct verbs_decision verbs_decide(struct verbs_fabric *f, int nccl)
{
    struct verbs_decision d = {.outcomes = arena_alloc(f->arena, ((size_t)f->ntries + 1) * sizeof *d.outcomes)};
    int good = 0;
    d.left_out = arena_alloc(f->arena, ((size_t)f->rails + 1) * sizeof *d.left_out);
    d.nodes_out = arena_alloc(f->arena, ((size_t)f->nodes + 1) * sizeof *d.nodes_out);
    for (int i = 0; i < f->ntries; i++) {
        d.outcomes[i] = f->tries[i].outcome;
        good += d.outcomes[i].verdict == VERBS_GOOD;
    }
    verbs_mark_slow(d.outcomes, f->ntries, f->arena);
    d.nfaults = verbs_localise(d.outcomes, f->ntries, f->arena, &d.faults);
    for (int i = 0; i < d.nfaults; i++)
        d.nbroken += d.faults[i].kind != VERBS_FAULT_CROSS;
    d.found = find_odd_ports(f, nccl);
    if (f->ntries && !good) {
        d.gid = "no pair of ports connects";
        add_setting(f, &d, "NCCL_IB_DISABLE", "1",
                    arena_printf(f->arena,
                                 "none of %d pairs of ports connects: RDMA is unusable until that is repaired",
                                 f->ntries));
        return d;
    }
    decide_hcas(f, &d);
    for (int i = 0; i < d.nfaults; i++)
        if (d.faults[i].kind == VERBS_FAULT_CROSS && d.faults[i].verdict == VERBS_FAILED)
            add_setting(f, &d, "NCCL_CROSS_NIC", "0", verbs_fault_text(f, &d.faults[i]));
    decide_gids(f, &d, nccl);
    return d;
}
