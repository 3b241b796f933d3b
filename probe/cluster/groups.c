/* Grouping is by what a class of nodes is and which NCCL a node has; who is unhealthy is out before that. */
#include "probe/cluster/groups.h"

#include <string.h>

#include "probe/topology/select.h"

/* Nodes that are alike in all that counts, on the way to a group. */
struct kind {
    int class_index;
    const char *release; /* of NCCL; NULL none */
};

struct grouping {
    const struct topology *t;
    struct arena *a;
    struct cluster_groups found;
    struct kind *kinds; /* the first of every group */
};

void cluster_leave_out(struct cluster_left_out *all, const char *name, const char *why)
{
    all->list = arena_grow(all->arena, all->list, (size_t)all->n, sizeof *all->list);
    all->list[all->n++] = (struct cluster_left){name, why};
}

/* ---- who is unhealthy -------------------------------------------------------------------------------------------- */

/* "memlock-low" of "memlock-low: the limit of …". */
static int same_error(const char *x, const char *y)
{
    size_t n = strcspn(x, ":");
    return n == strcspn(y, ":") && !strncmp(x, y, n);
}

int cluster_has_error(const struct topo_host *h, const char *error)
{
    for (int i = 0; i < h->nerrors; i++)
        if (same_error(h->errors[i], error))
            return 1;
    return 0;
}

static int is_shared(const struct grouping *g, const char *error)
{
    for (int i = 0; i < g->found.nshared; i++)
        if (same_error(g->found.shared[i], error))
            return 1;
    return 0;
}

/* Kinds of errors are few, so every host is asked once for each. */
static void find_shared(struct grouping *g)
{
    const int most = 64;
    const char *seen[64];
    int nseen = 0;
    for (int i = 0; i < g->t->nhosts; i++)
        for (int k = 0; k < g->t->hosts[i].nerrors && nseen < most; k++) {
            const char *error = g->t->hosts[i].errors[k];
            int known = 0, have = 0;
            for (int s = 0; s < nseen && !known; s++)
                known = same_error(seen[s], error);
            if (known)
                continue;
            seen[nseen++] = error;
            for (int h = 0; h < g->t->nhosts; h++)
                have += cluster_has_error(&g->t->hosts[h], error);
            if (have * 2 <= g->t->nhosts)
                continue;
            g->found.shared = arena_grow(g->a, g->found.shared, (size_t)g->found.nshared, sizeof *g->found.shared);
            g->found.shared[g->found.nshared++] = error;
        }
}

/* The first error that speaks against the node; NULL none. */
static const char *unhealthy(const struct grouping *g, const struct topo_host *h)
{
    for (int i = 0; i < h->nerrors; i++)
        if (!is_shared(g, h->errors[i]))
            return h->errors[i];
    return NULL;
}

/* ---- who goes with whom ------------------------------------------------------------------------------------------ */

/* Why nodes of the second kind are not measured with those of the first; NULL: they are. */
static const char *kinds_apart(const struct grouping *g, struct kind x, struct kind y)
{
    const struct topo_class *first = &g->t->classes[x.class_index], *other = &g->t->classes[y.class_index];
    const char *why = topo_apart(first, other, g->a);
    if (why)
        return why;
    if (first->ngpus && first->driver && other->driver && strcmp(first->driver, other->driver) != 0)
        return arena_printf(g->a, "GPU driver %s instead of %s", other->driver, first->driver);
    if (first->ngpus && x.release && y.release && strcmp(x.release, y.release) != 0)
        return arena_printf(g->a, "%s instead of %s", y.release, x.release);
    return NULL;
}

static void add_host(struct grouping *g, int host)
{
    struct kind k = {g->t->hosts[host].class_index, topo_host_release(g->t, host, g->a)};
    int at = 0;
    while (at < g->found.n && kinds_apart(g, g->kinds[at], k))
        at++;
    if (at == g->found.n) {
        g->kinds = arena_grow(g->a, g->kinds, (size_t)at, sizeof *g->kinds);
        g->found.list = arena_grow(g->a, g->found.list, (size_t)at, sizeof *g->found.list);
        g->kinds[at] = k;
        g->found.list[g->found.n++] = (struct cluster_group){.name = g->t->classes[k.class_index].name};
    }
    struct cluster_group *group = &g->found.list[at];
    group->hosts = arena_grow(g->a, group->hosts, (size_t)group->nhosts, sizeof *group->hosts);
    group->hosts[group->nhosts++] = host;
}

/* ---- what is large enough ---------------------------------------------------------------------------------------- */

static int gpus_of(const struct grouping *g, int group)
{
    return g->t->classes[g->kinds[group].class_index].ngpus;
}

static int matters_more(const struct grouping *g, int x, int y)
{
    if (!gpus_of(g, x) != !gpus_of(g, y))
        return gpus_of(g, x) > 0;
    return g->found.list[x].nhosts > g->found.list[y].nhosts;
}

static void put_first(struct grouping *g)
{
    int best = 0;
    for (int i = 1; i < g->found.n; i++)
        if (matters_more(g, i, best))
            best = i;
    struct cluster_group group = g->found.list[best];
    struct kind kind = g->kinds[best];
    memmove(g->found.list + 1, g->found.list, (size_t)best * sizeof group);
    memmove(g->kinds + 1, g->kinds, (size_t)best * sizeof kind);
    g->found.list[0] = group;
    g->kinds[0] = kind;
}

static void leave_group_out(struct grouping *g, int group, const char *verdict)
{
    const struct cluster_group *x = &g->found.list[group];
    const char *why = arena_printf(g->a, "%s: %s", verdict, kinds_apart(g, g->kinds[0], g->kinds[group]));
    for (int i = 0; i < x->nhosts; i++)
        cluster_leave_out(&g->found.left, g->t->hosts[x->hosts[i]].name, why);
}

/* Of the groups behind the first those stay that are worth a measurement of their own. */
static void drop_small(struct grouping *g)
{
    int n = 1;
    for (int i = 1; i < g->found.n; i++) {
        const char *verdict = gpus_of(g, 0) && !gpus_of(g, i) ? "has no GPU to measure"
                              : g->found.list[i].nhosts == 1  ? "goes with no other node"
                                                              : NULL;
        if (verdict) {
            leave_group_out(g, i, verdict);
            continue;
        }
        g->found.list[n] = g->found.list[i];
        g->kinds[n++] = g->kinds[i];
    }
    g->found.n = n;
}

struct cluster_groups cluster_groups_of(const struct topology *t, struct arena *a)
{
    struct grouping g = {.t = t, .a = a, .found = {.left = {.arena = a}}};
    for (int i = 0; i < t->nmissing; i++)
        cluster_leave_out(&g.found.left, t->missing[i].name, t->missing[i].why);
    find_shared(&g);
    for (int i = 0; i < t->nhosts; i++) {
        const char *error = unhealthy(&g, &t->hosts[i]);
        if (error)
            cluster_leave_out(&g.found.left, t->hosts[i].name, error);
        else
            add_host(&g, i);
    }
    if (g.found.n > 1) {
        put_first(&g);
        drop_small(&g);
    }
    return g.found;
}
