/* Grouping is by the class of a node and the NCCL that it has, after unhealthy nodes are left out; nodes that are not
 * measured join the class that they equal. */
#include "probe/cluster/groups.h"

#include <stdlib.h>
#include <string.h>

#include "probe/topology/build.h"

#define MOST_SAID 4 /* differences of one host; the first say enough */

struct grouping {
    const struct topology *t;
    struct arena *a;
    struct cluster_groups found;
};

void cluster_leave_out(struct cluster_left_out *all, const char *name, const char *why)
{
    ARENA_ADD(all->arena, all->list, all->n) = (struct topo_missing){name, why};
}

/* ---- who is unhealthy -------------------------------------------------------------------------------------------- */

/* "memlock-low" of "memlock-low: the limit of …". */
static int same_error(const char *x, const char *y)
{
    size_t n = strcspn(x, ":");
    return n == strcspn(y, ":") && !strncmp(x, y, n);
}

/* Whether one of the list is of that kind ("memlock-low: …"). */
static int has_error(const char *const *list, int n, const char *error)
{
    for (int i = 0; i < n; i++)
        if (same_error(list[i], error))
            return 1;
    return 0;
}

/* Kinds of errors are few, so every host is asked once for each. */
static void find_shared_errors(struct grouping *g)
{
    enum { MOST = 64 };
    const char *seen[MOST];
    int nseen = 0;
    for (int i = 0; i < g->t->nhosts; i++)
        for (int k = 0; k < g->t->hosts[i].nerrors && nseen < MOST; k++) {
            const char *error = g->t->hosts[i].errors[k];
            int have = 0;
            if (has_error(seen, nseen, error))
                continue;
            seen[nseen++] = error;
            for (int h = 0; h < g->t->nhosts; h++)
                have += has_error(g->t->hosts[h].errors, g->t->hosts[h].nerrors, error);
            if (have * 2 > g->t->nhosts)
                ARENA_ADD(g->a, g->found.shared, g->found.nshared) = error;
        }
}

/* The first error that speaks against the node; NULL none. */
static const char *find_own_error(const struct grouping *g, const struct topo_host *h)
{
    for (int i = 0; i < h->nerrors; i++)
        if (!has_error(g->found.shared, g->found.nshared, h->errors[i]))
            return h->errors[i];
    return NULL;
}

/* ---- who goes with whom ------------------------------------------------------------------------------------------ */

static const struct topo_class *class_of(const struct grouping *g, int host)
{
    return &g->t->classes[g->t->hosts[host].class_index];
}

/* The NCCL or RCCL that the host's probe found first, "NCCL 2.21.5"; NULL none. */
static const char *host_release(const struct grouping *g, int host)
{
    const struct topo_host *h = &g->t->hosts[host];
    const struct topo_class *c = class_of(g, host);
    int n = h->nlibraries ? h->nlibraries : c->nlibraries;
    const char *const *list = h->nlibraries ? h->libraries : c->libraries;
    for (int i = 0; i < n; i++) {
        const char *path = strstr(list[i], " /");
        if (!strncmp(list[i], "NCCL ", 5) || !strncmp(list[i], "RCCL ", 5))
            return path ? arena_strndup(g->a, list[i], (size_t)(path - list[i])) : list[i];
    }
    return NULL;
}

/* Why the second host is not measured with the first; NULL: it is. */
static const char *hosts_apart(const struct grouping *g, int x, int y)
{
    const struct topo_class *first = class_of(g, x), *other = class_of(g, y);
    const char *why = topo_apart(first, other, g->a), *ours, *theirs;
    if (why)
        return why;
    if (first->ngpus && first->driver && other->driver && strcmp(first->driver, other->driver) != 0)
        return arena_printf(g->a, "GPU driver %s instead of %s", other->driver, first->driver);
    if (first->ngpus && (ours = host_release(g, x)) && (theirs = host_release(g, y)) && strcmp(ours, theirs) != 0)
        return arena_printf(g->a, "%s instead of %s", theirs, ours);
    return NULL;
}

static void add_host(struct grouping *g, int host)
{
    int at = 0;
    while (at < g->found.n && hosts_apart(g, g->found.list[at].hosts[0], host))
        at++;
    if (at == g->found.n)
        ARENA_ADD(g->a, g->found.list, g->found.n).name = class_of(g, host)->name;
    struct cluster_group *group = &g->found.list[at];
    ARENA_ADD(g->a, group->hosts, group->nhosts) = host;
}

/* ---- what is large enough ---------------------------------------------------------------------------------------- */

static int count_gpus(const struct grouping *g, int group)
{
    return class_of(g, g->found.list[group].hosts[0])->ngpus;
}

static int matters_more(const struct grouping *g, int x, int y)
{
    if (!count_gpus(g, x) != !count_gpus(g, y))
        return count_gpus(g, x) > 0;
    return g->found.list[x].nhosts > g->found.list[y].nhosts;
}

static void put_best_first(struct grouping *g)
{
    int best = 0;
    for (int i = 1; i < g->found.n; i++)
        if (matters_more(g, i, best))
            best = i;
    struct cluster_group group = g->found.list[best];
    memmove(g->found.list + 1, g->found.list, (size_t)best * sizeof group);
    g->found.list[0] = group;
}

static void leave_group_out(struct grouping *g, int group, const char *verdict)
{
    const struct cluster_group *x = &g->found.list[group];
    const char *why = arena_printf(g->a, "%s: %s", verdict, hosts_apart(g, g->found.list[0].hosts[0], x->hosts[0]));
    for (int i = 0; i < x->nhosts; i++)
        cluster_leave_out(&g->found.left, g->t->hosts[x->hosts[i]].name, why);
}

/* Of the groups behind the first those stay that are worth a measurement of their own. */
static void drop_small_groups(struct grouping *g)
{
    int n = 1;
    for (int i = 1; i < g->found.n; i++) {
        const char *verdict = count_gpus(g, 0) && !count_gpus(g, i) ? "has no GPU to measure"
                              : g->found.list[i].nhosts == 1        ? "goes with no other node"
                                                                    : NULL;
        if (verdict) {
            leave_group_out(g, i, verdict);
            continue;
        }
        g->found.list[n++] = g->found.list[i];
    }
    g->found.n = n;
}

struct cluster_groups cluster_groups_of(const struct topology *t, struct arena *a)
{
    struct grouping g = {.t = t, .a = a, .found = {.left = {.arena = a}}};
    for (int i = 0; i < t->nmissing; i++)
        cluster_leave_out(&g.found.left, t->missing[i].name, t->missing[i].why);
    find_shared_errors(&g);
    for (int i = 0; i < t->nhosts; i++) {
        const char *error = find_own_error(&g, &t->hosts[i]);
        if (error)
            cluster_leave_out(&g.found.left, t->hosts[i].name, error);
        else
            add_host(&g, i);
    }
    if (g.found.n > 1) {
        put_best_first(&g);
        drop_small_groups(&g);
    }
    return g.found;
}

/* ---- nodes that are not measured --------------------------------------------------------------------------------- */

/* For each class of the probed: the class that it equals in the other, or -1 and what sets it apart from the nearest.
 */
struct match {
    int class_index;
    const char *why;
};

static const char *explain_nearest(const struct topology *t, const struct topo_class *c, struct arena *a)
{
    const char *why = "the profile has no class of nodes";
    int least = DIFFERENCES_MOST + 1;
    for (int i = 0; i < t->nclasses; i++) {
        const char **sentences;
        int n = differences_of(&t->classes[i], c, a, &sentences);
        if (n >= least)
            continue;
        least = n;
        why = arena_printf(a, "not as %s: ", t->classes[i].name);
        for (int k = 0; k < n && k < MOST_SAID; k++)
            why = arena_printf(a, "%s%s%s", why, k ? "; " : "", sentences[k]);
        if (n > MOST_SAID)
            why = arena_printf(a, "%s; and %d more", why, n - MOST_SAID);
    }
    return why;
}

static struct match *match_classes(const struct topology *t, const struct topology *probed, struct arena *a)
{
    struct class_index index = {0};
    struct match *matches = arena_alloc(a, ((size_t)probed->nclasses + 1) * sizeof *matches);
    for (int i = 0; i < t->nclasses; i++)
        classes_find(&index, &t->classes[i], i);
    for (int i = 0; i < probed->nclasses; i++) {
        int at = classes_find(&index, &probed->classes[i], t->nclasses);
        matches[i] = at < t->nclasses ? (struct match){at, NULL}
                                      : (struct match){-1, explain_nearest(t, &probed->classes[i], a)};
    }
    classes_index_free(&index);
    return matches;
}

/* The first error that the measured nodes of the class do not have themselves; NULL none. */
static const char *find_new_error(const struct topology *t, int class_index, const struct topo_host *h)
{
    const struct topo_host *like = NULL;
    for (int i = 0; i < t->nhosts && !like; i++)
        if (t->hosts[i].class_index == class_index && !t->hosts[i].served)
            like = &t->hosts[i];
    for (int i = 0; i < h->nerrors; i++)
        if (!like || !has_error(like->errors, like->nerrors, h->errors[i]))
            return h->errors[i];
    return NULL;
}

/* Takes the hosts of `probed` out of `t`. */
static void drop_probed(struct topology *t, const struct topology *probed, struct arena *a)
{
    const char **names = arena_alloc(a, ((size_t)probed->nhosts + 1) * sizeof *names);
    int n = 0;
    for (int i = 0; i < probed->nhosts; i++)
        names[i] = probed->hosts[i].name;
    qsort(names, (size_t)probed->nhosts, sizeof *names, arena_compare_texts);
    for (int i = 0; i < t->nhosts; i++)
        if (!bsearch(&t->hosts[i].name, names, (size_t)probed->nhosts, sizeof *names, arena_compare_texts))
            t->hosts[n++] = t->hosts[i];
    t->nhosts = n;
}

/* Whether a host of that name has been measured. */
static int is_measured(const struct topology *t, const char *name)
{
    for (int i = 0; i < t->nhosts; i++)
        if (!strcmp(t->hosts[i].name, name))
            return !t->hosts[i].served;
    return 0;
}

/* Where a probed host goes. */
struct place {
    int class_index, measured;
};

struct cluster_served cluster_serve(struct topology *t, const struct topology *probed, struct arena *a)
{
    struct cluster_served s = {.out = {.arena = a}};
    const struct match *matches = match_classes(t, probed, a);
    struct place *places = arena_alloc(a, ((size_t)probed->nhosts + 1) * sizeof *places);
    for (int i = 0; i < probed->nhosts; i++) {
        const struct topo_host *h = &probed->hosts[i];
        const struct match *m = &matches[h->class_index];
        const char *why = m->class_index < 0 ? m->why : find_new_error(t, m->class_index, h);
        places[i] = (struct place){why ? -1 : m->class_index, is_measured(t, h->name)};
        if (why)
            cluster_leave_out(&s.out, h->name, why);
    }
    for (int i = 0; i < probed->nmissing; i++)
        cluster_leave_out(&s.out, probed->missing[i].name, probed->missing[i].why);
    drop_probed(t, probed, a);
    for (int i = 0; i < probed->nhosts; i++) {
        const struct topo_host *h = &probed->hosts[i];
        if (places[i].class_index < 0)
            continue;
        classes_add_host(t, places[i].class_index, &probed->classes[h->class_index], h, h->name);
        t->hosts[t->nhosts - 1].served = !places[i].measured;
        t->hosts[t->nhosts - 1].nsigns = 0; /* of the moment: the same nodes make the same profile */
        s.joined++;
    }
    return s;
}
