/* Faults by greedy cover: what explains most bad outcomes and hardly any good one is named first, and what it
 * explains is set aside. */
#include "bench/fabric/ports.h"

#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

/* The outcomes seen as a grid of nodes and rails, and as counters for every wide fault. */
struct grid {
    struct arena *arena;
    const struct verbs_outcome *outcomes;
    int n, nodes, rails;
    enum verbs_verdict verdict; /* the bad one at this turn; VERBS_FAILED ones are out of sight when it is VERBS_SLOW */
    char *explained;            /* by outcome */
    double *values;             /* room for one of every outcome */
};
struct count {
    int tried, bad, unexplained;
};

void verbs_mark_slow(struct verbs_outcome *outcomes, int n, struct arena *a)
{
    double *values = arena_alloc(a, ((size_t)n + 1) * sizeof *values);
    int count = 0;
    for (int i = 0; i < n; i++)
        if (outcomes[i].verdict == VERBS_GOOD && outcomes[i].GBps > 0)
            values[count++] = outcomes[i].GBps;
    double limit = stats_median(values, count) * VERBS_SLOW_RATIO;
    for (int i = 0; i < n; i++)
        if (outcomes[i].verdict == VERBS_GOOD && outcomes[i].GBps > 0 && outcomes[i].GBps < limit)
            outcomes[i].verdict = VERBS_SLOW;
}

/* ---- wide faults ---- */

/* Faults of a kind are numbered: nodes, rails, one for all that crosses, ports. */
static int number_of_kind(const struct grid *g, enum verbs_fault_kind k)
{
    return k == VERBS_FAULT_NODE    ? g->nodes
           : k == VERBS_FAULT_RAIL  ? g->rails
           : k == VERBS_FAULT_CROSS ? 1
                                    : g->nodes * g->rails;
}

/* The one or two of a kind that a pair has to do with; how many. */
static int ends_concerned(const struct grid *g, enum verbs_fault_kind k, const struct verbs_try *t, int which[2])
{
    int across = t->from.node != t->to.node;
    int from = t->from.node * g->rails + t->from.rail, to = t->to.node * g->rails + t->to.rail;
    switch (k) {
    case VERBS_FAULT_NODE:
        which[0] = t->from.node;
        which[1] = t->to.node;
        return 1 + across;
    case VERBS_FAULT_RAIL:
        which[0] = t->from.rail;
        return across && t->from.rail == t->to.rail;
    case VERBS_FAULT_CROSS:
        which[0] = 0;
        return across && t->from.rail != t->to.rail;
    case VERBS_FAULT_SENDS:
        which[0] = from;
        return 1;
    case VERBS_FAULT_RECEIVES:
        which[0] = to;
        return 1;
    default:
        which[0] = from;
        which[1] = to;
        return 2;
    }
}

static int in_sight(const struct grid *g, int i)
{
    return g->verdict == VERBS_FAILED || g->outcomes[i].verdict != VERBS_FAILED;
}

static int fault_concerns(const struct grid *g, enum verbs_fault_kind k, int number, int i)
{
    int which[2], n = ends_concerned(g, k, &g->outcomes[i].pair, which);
    return in_sight(g, i) && ((n > 0 && which[0] == number) || (n > 1 && which[1] == number));
}

static void count_kind(const struct grid *g, enum verbs_fault_kind k, struct count *counts)
{
    memset(counts, 0, (size_t)number_of_kind(g, k) * sizeof *counts);
    for (int i = 0; i < g->n; i++) {
        int which[2], n = in_sight(g, i) ? ends_concerned(g, k, &g->outcomes[i].pair, which) : 0;
        for (int w = 0; w < n; w++) {
            struct count *c = &counts[which[w]];
            int bad = g->outcomes[i].verdict == g->verdict;
            c->tried++;
            c->bad += bad;
            c->unexplained += bad && !g->explained[i];
        }
    }
}

/* The wide fault that explains most of what is unexplained; 0 when there is none. Later kinds win ties. */
static int find_wide(const struct grid *g, struct count *counts, enum verbs_fault_kind *kind, int *number)
{
    int most = 0;
    for (int k = VERBS_FAULT_NODE; k < VERBS_FAULT_PAIR; k++) {
        count_kind(g, (enum verbs_fault_kind)k, counts);
        for (int i = 0; i < number_of_kind(g, (enum verbs_fault_kind)k); i++) {
            const struct count *c = &counts[i];
            if (c->unexplained < 2 || c->unexplained < most || (c->tried - c->bad) * 5 > c->tried)
                continue;
            most = c->unexplained;
            *kind = (enum verbs_fault_kind)k;
            *number = i;
        }
    }
    return most;
}

/* ---- faults in general ---- */

/* Fills in the numbers of a fault to whom outcomes[members[0..n)] belong, and sets its bad ones aside. */
static void describe_fault(const struct grid *g, const int *members, int n, struct verbs_fault *s)
{
    int bad = 0, good = 0;
    s->tried = n;
    for (int i = 0; i < n; i++) {
        const struct verbs_outcome *o = &g->outcomes[members[i]];
        if (o->verdict != g->verdict)
            continue;
        s->bad++;
        s->why = s->why ? s->why : o->why;
        g->explained[members[i]] = 1;
        if (o->GBps > 0)
            g->values[bad++] = o->GBps;
    }
    s->GBps = stats_median(g->values, bad);
    for (int i = 0; i < g->n; i++)
        if (g->outcomes[i].verdict == VERBS_GOOD && g->outcomes[i].GBps > 0)
            g->values[good++] = g->outcomes[i].GBps;
    s->others_GBps = stats_median(g->values, good);
}

static void add_fault(const struct grid *g, struct verbs_fault **list, int *count, struct verbs_fault s,
                      const int *members, int n)
{
    s.verdict = g->verdict;
    describe_fault(g, members, n, &s);
    ARENA_ADD(g->arena, *list, *count) = s;
}

static struct verbs_fault wide_fault(const struct grid *g, enum verbs_fault_kind k, int number)
{
    struct verbs_fault s = {.kind = k};
    if (k == VERBS_FAULT_NODE)
        s.a.node = number;
    else if (k == VERBS_FAULT_RAIL)
        s.a.rail = number;
    else
        s.a = (struct verbs_end){number / g->rails, number % g->rails};
    return s;
}

static int port_order(struct verbs_end x, struct verbs_end y)
{
    return x.node != y.node ? x.node - y.node : x.rail - y.rail;
}

/* Both directions of a pair are the same pair; the lower port is named first. */
static struct verbs_try undirected(struct verbs_try t)
{
    return port_order(t.from, t.to) <= 0 ? t : (struct verbs_try){t.to, t.from};
}

struct pair_member {
    struct verbs_try pair;
    int outcome;
};

static int by_pair(const void *x, const void *y)
{
    const struct pair_member *a = x, *b = y;
    int order = port_order(a->pair.from, b->pair.from);
    order = order ? order : port_order(a->pair.to, b->pair.to);
    return order ? order : a->outcome - b->outcome;
}

/* The fault of two ports alone, all of whose outcomes are `members`. */
static struct verbs_fault pair_fault(const struct grid *g, const int *members, int n)
{
    struct verbs_try t = undirected(g->outcomes[members[0]].pair);
    int bad[2] = {0}, good[2] = {0};
    for (int i = 0; i < n; i++) {
        const struct verbs_outcome *o = &g->outcomes[members[i]];
        int back = port_order(o->pair.from, t.from) != 0;
        bad[back] += o->verdict == g->verdict;
        good[back] += o->verdict == VERBS_GOOD;
    }
    if (bad[1] && !bad[0])
        t = (struct verbs_try){t.to, t.from};
    return (struct verbs_fault){
        .kind = VERBS_FAULT_PAIR, .a = t.from, .b = t.to, .one_way = (!bad[0] && good[0]) || (!bad[1] && good[1])};
}

/* What no wide fault explains is the fault of the two ports alone. */
static void add_pairs(const struct grid *g, struct verbs_fault **list, int *count, int *members)
{
    struct pair_member *sorted = arena_alloc(g->arena, ((size_t)g->n + 1) * sizeof *sorted);
    int n = 0;
    for (int i = 0; i < g->n; i++)
        if (in_sight(g, i))
            sorted[n++] = (struct pair_member){undirected(g->outcomes[i].pair), i};
    qsort(sorted, (size_t)n, sizeof *sorted, by_pair);
    for (int i = 0, next; i < n; i = next) {
        int unexplained = 0;
        for (next = i; next < n && !port_order(sorted[next].pair.from, sorted[i].pair.from) &&
                       !port_order(sorted[next].pair.to, sorted[i].pair.to);
             next++) {
            int o = sorted[next].outcome;
            members[next - i] = o;
            unexplained += g->outcomes[o].verdict == g->verdict && !g->explained[o];
        }
        if (unexplained)
            add_fault(g, list, count, pair_fault(g, members, next - i), members, next - i);
    }
}

int verbs_localise(const struct verbs_outcome *outcomes, int n, struct arena *a, struct verbs_fault **faults)
{
    static const enum verbs_verdict turns[] = {VERBS_FAILED, VERBS_SLOW};
    struct grid g = {a, outcomes, n, .nodes = 1, .rails = 1, .explained = arena_alloc(a, (size_t)n + 1)};
    int count = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        failed += outcomes[i].verdict == VERBS_FAILED;
        const struct verbs_end ends[] = {outcomes[i].pair.from, outcomes[i].pair.to};
        for (int side = 0; side < 2; side++) {
            g.nodes = ends[side].node >= g.nodes ? ends[side].node + 1 : g.nodes;
            g.rails = ends[side].rail >= g.rails ? ends[side].rail + 1 : g.rails;
        }
    }
    struct count *counts = arena_alloc(a, ((size_t)g.nodes * (size_t)g.rails + 1) * sizeof *counts);
    g.values = arena_alloc(a, ((size_t)n + 1) * sizeof *g.values);
    int *members = arena_alloc(a, ((size_t)n + 1) * sizeof *members);
    *faults = NULL;
    if (failed == n && n > 1) { /* nobody can tell who is at fault; a single try says nothing of others */
        for (int i = 0; i < n; i++)
            members[i] = i;
        g.verdict = VERBS_FAILED;
        add_fault(&g, faults, &count, (struct verbs_fault){.kind = VERBS_FAULT_ALL}, members, n);
        return count;
    }
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        enum verbs_fault_kind kind = VERBS_FAULT_PAIR;
        int number = 0;
        g.verdict = turns[turn];
        while (find_wide(&g, counts, &kind, &number)) {
            int nmembers = 0;
            for (int i = 0; i < n; i++)
                if (fault_concerns(&g, kind, number, i))
                    members[nmembers++] = i;
            add_fault(&g, faults, &count, wide_fault(&g, kind, number), members, nmembers);
        }
        add_pairs(&g, faults, &count, members);
    }
    return count;
}

/* ---- what to try next ---- */

static int is_port_of(struct verbs_end p, const struct verbs_try *t)
{
    return !port_order(p, t->from) || !port_order(p, t->to);
}

/* Who may be at fault for a pair: a port that may not work at all, or one that may be slow in one direction. */
struct doubt {
    struct verbs_end port;
    int slow, receives;
};

static int is_about(const struct doubt *d, const struct verbs_try *t)
{
    return d->slow ? !port_order(d->port, d->receives ? t->to : t->from) : is_port_of(d->port, t);
}

static int has_good(const struct verbs_outcome *outcomes, int n, const struct doubt *d)
{
    for (int i = 0; i < n; i++)
        if (outcomes[i].verdict == VERBS_GOOD && is_about(d, &outcomes[i].pair))
            return 1;
    return 0;
}

static int was_tried(const struct verbs_outcome *outcomes, int n, const struct doubt *d, struct verbs_end with)
{
    for (int i = 0; i < n; i++)
        if (is_about(d, &outcomes[i].pair) && is_port_of(with, &outcomes[i].pair))
            return 1;
    return 0;
}

static int is_used(const struct verbs_round *r, struct verbs_end p)
{
    for (int i = 0; i < r->ntries; i++)
        if (is_port_of(p, &r->tries[i]))
            return 1;
    return 0;
}

/* Adds a try of the doubtful port with a good one: of its own rail if there is one, since crossing may be impossible;
 * it may also be slower, so that it says nothing about slowness. */
static void add_try(struct verbs_round *r, const struct verbs_outcome *outcomes, int n, const struct doubt *d)
{
    struct verbs_end p = d->port;
    for (int any_rail = 0; any_rail < (d->slow ? 1 : 2); any_rail++)
        for (int i = 0; i < 2 * n; i++) {
            struct verbs_end q = i % 2 ? outcomes[i / 2].pair.to : outcomes[i / 2].pair.from;
            if (outcomes[i / 2].verdict != VERBS_GOOD || q.node == p.node || (q.rail != p.rail && !any_rail) ||
                is_used(r, q) || was_tried(outcomes, n, d, q))
                continue;
            r->tries[r->ntries++] = d->receives ? (struct verbs_try){q, p} : (struct verbs_try){p, q};
            return;
        }
}

/* The direction in which a faulty pair is slow; of one that failed any will do. */
static struct verbs_try direction_of(const struct verbs_outcome *outcomes, int n, const struct verbs_fault *s)
{
    for (int i = 0; i < n; i++)
        if (outcomes[i].verdict == s->verdict && is_port_of(s->a, &outcomes[i].pair) &&
            is_port_of(s->b, &outcomes[i].pair))
            return outcomes[i].pair;
    return (struct verbs_try){s->a, s->b};
}

struct verbs_round verbs_localise_next(const struct verbs_outcome *outcomes, int n, const struct verbs_fault *faults,
                                       int nfaults, struct arena *a)
{
    struct verbs_round r = {.tries = arena_alloc(a, ((size_t)nfaults * 2 + 1) * sizeof *r.tries)};
    for (int i = 0; i < nfaults; i++) {
        const struct verbs_fault *s = &faults[i];
        if (s->kind != VERBS_FAULT_PAIR)
            continue;
        struct verbs_try t = direction_of(outcomes, n, s);
        for (int side = 0; side < 2; side++) {
            int slow = s->verdict == VERBS_SLOW;
            const struct doubt d = {.port = side ? t.to : t.from, .slow = slow, .receives = slow && side};
            if (!has_good(outcomes, n, &d) && !is_used(&r, d.port))
                add_try(&r, outcomes, n, &d);
        }
    }
    return r;
}
