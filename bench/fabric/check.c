/* A fabric against what it was. */
#include <stdlib.h>
#include <string.h>

#include "bench/fabric/fabric.h"

#include "core/stats.h"

/* The same port of the other fabric; -1 when it has none of that name. */
static int same_port(const struct verbs_fabric *f, const struct verbs_fabric_port *like)
{
    for (int i = 0; like->name && i < f->nodes * f->rails; i++)
        if (f->ports[i].name && !strcmp(f->ports[i].name, like->name) && !strcmp(f->ports[i].node, like->node))
            return i;
    return -1;
}

/* What port `from` (-1: any) reached when it sent, as a median; 0 nothing. */
static double median_sent(const struct verbs_fabric *f, int from)
{
    double *values = malloc(((size_t)f->ntries + 1) * sizeof *values), median = 0;
    int n = 0;
    for (int i = 0; values && i < f->ntries; i++) {
        const struct verbs_outcome *o = &f->tries[i].outcome;
        if (o->verdict == VERBS_GOOD && o->GBps > 0 && (from < 0 || verbs_port_index(f, o->pair.from) == from))
            values[n++] = o->GBps;
    }
    median = stats_median(values, n);
    free(values);
    return median;
}

struct baseline {
    double GBps; /* 0: nothing to compare with */
    int failed;  /* these two had not reached one another then */
};

/* The same try, else the same two the other way round, else what the sender reached, else anybody. */
static struct baseline baseline_of(const struct verbs_fabric *then, int from, int to)
{
    struct baseline b = {0};
    double reverse_GBps = 0;
    for (int i = 0; from >= 0 && to >= 0 && i < then->ntries; i++) {
        const struct verbs_outcome *o = &then->tries[i].outcome;
        int x = verbs_port_index(then, o->pair.from), y = verbs_port_index(then, o->pair.to);
        if ((x != from || y != to) && (x != to || y != from))
            continue;
        b.failed = b.failed || o->verdict == VERBS_FAILED;
        *(x == from ? &b.GBps : &reverse_GBps) = o->GBps;
    }
    if (b.GBps <= 0)
        b.GBps = reverse_GBps;
    if (b.GBps <= 0 && from >= 0)
        b.GBps = median_sent(then, from);
    if (b.GBps <= 0)
        b.GBps = median_sent(then, -1);
    return b;
}

static void add_worse(struct verbs_fabric *f, struct verbs_check *c, const char *text)
{
    ARENA_ADD(f->arena, c->worse, c->nworse) = text;
}

static void add_fault(struct verbs_fabric *f, struct verbs_check *c, const struct verbs_fault *s)
{
    if (s->verdict == VERBS_FAILED)
        add_worse(f, c, verbs_fault_text(f, s));
    else
        add_worse(f, c,
                  arena_printf(f->arena, "%s %d of %d tries slower, at %.0f %% of the profile's bandwidth",
                               verbs_fault_name(f, s), s->bad, s->tried, s->GBps * 100));
}

static void compare_ports(struct verbs_fabric *now, const struct verbs_fabric *then, struct verbs_check *c)
{
    for (int i = 0; i < now->nodes * now->rails; i++) {
        const struct verbs_fabric_port *p = &now->ports[i];
        int at = same_port(then, p);
        const struct verbs_fabric_port *old = at < 0 ? NULL : &then->ports[at];
        if (old && p->rate_Gbps > 0 && p->rate_Gbps < old->rate_Gbps)
            add_worse(now, c,
                      arena_printf(now->arena, "%s %s: a rate of %g Gb/s, %g in the profile", p->node, p->name,
                                   p->rate_Gbps, old->rate_Gbps));
        if (old && p->mtu_bytes > 0 && p->mtu_bytes < old->mtu_bytes)
            add_worse(now, c,
                      arena_printf(now->arena, "%s %s: an RDMA MTU of %d bytes, %d in the profile", p->node, p->name,
                                   p->mtu_bytes, old->mtu_bytes));
    }
}

int verbs_check(struct verbs_fabric *now, const struct verbs_fabric *then, double ratio, struct verbs_check *c,
                struct err *e)
{
    /* Bandwidths as parts of what they were, so that fast and slow ports can be judged together. */
    struct verbs_outcome *relative = arena_alloc(now->arena, ((size_t)now->ntries + 1) * sizeof *relative);
    struct verbs_fault *faults;
    *c = (struct verbs_check){0};
    if (median_sent(then, -1) <= 0)
        return err_set(e, ERR_FAILED, "the profile's fabric has no bandwidth to compare with");
    for (int i = 0; i < now->ntries; i++) {
        struct verbs_outcome o = now->tries[i].outcome;
        struct baseline b = baseline_of(then, same_port(then, &now->ports[verbs_port_index(now, o.pair.from)]),
                                        same_port(then, &now->ports[verbs_port_index(now, o.pair.to)]));
        if (b.failed)
            continue;
        o.GBps /= b.GBps;
        if (o.verdict == VERBS_GOOD && o.GBps < ratio)
            o.verdict = VERBS_SLOW;
        relative[c->compared++] = o;
    }
    int n = verbs_localise(relative, c->compared, now->arena, &faults);
    for (int i = 0; i < n; i++)
        add_fault(now, c, &faults[i]);
    compare_ports(now, then, c);
    return 0;
}

void verbs_check_better(struct verbs_fabric *now, const struct verbs_fabric *other)
{
    for (int i = 0; i < now->ntries; i++) {
        struct verbs_outcome *o = &now->tries[i].outcome;
        int from = same_port(other, &now->ports[verbs_port_index(now, o->pair.from)]);
        int to = same_port(other, &now->ports[verbs_port_index(now, o->pair.to)]);
        int at = from < 0 || to < 0 ? -1 : verbs_find_try(other, from, to);
        if (at < 0 || other->tries[at].outcome.verdict == VERBS_FAILED || other->tries[at].outcome.GBps <= o->GBps)
            continue;
        o->verdict = VERBS_GOOD;
        o->GBps = other->tries[at].outcome.GBps;
    }
}

static const char *ports_of_node(const struct verbs_fabric *f, int node, struct arena *a)
{
    const char *list = "";
    for (int rail = 0; rail < f->rails; rail++) {
        const char *name = f->ports[node * f->rails + rail].name;
        if (name)
            list = arena_printf(a, "%s%s%s", list, *list ? "," : "", name);
    }
    return list;
}

const char *verbs_check_ports(const struct verbs_fabric *then, struct arena *a)
{
    const char *lists = "";
    for (int node = 0; node < then->nodes; node++) {
        const char *list = ports_of_node(then, node, a);
        int known = !*list;
        for (int before = 0; before < node && !known; before++)
            known = !strcmp(list, ports_of_node(then, before, a));
        if (!known)
            lists = arena_printf(a, "%s%s%s", lists, *lists ? "/" : "", list);
    }
    return *lists ? lists : "-";
}
