/* Nodes that are not measured join the class that they equal. */
#include "probe/cluster/serve.h"

#include <stdlib.h>
#include <string.h>

#include "probe/topology/classes.h"
#include "probe/topology/differences.h"

#define MOST_SAID 4 /* differences of one host; the first say enough */

/* For each class of the probed: the class that it equals in the other, or -1 and what sets it apart from the nearest.
 */
struct match {
    int class_index;
    const char *why;
};

static const char *nearest(const struct topology *t, const struct topo_class *c, struct arena *a)
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
        matches[i] =
            at < t->nclasses ? (struct match){at, NULL} : (struct match){-1, nearest(t, &probed->classes[i], a)};
    }
    classes_index_free(&index);
    return matches;
}

/* The first error that the measured nodes of the class do not have themselves; NULL none. */
static const char *unhealthy(const struct topology *t, int class_index, const struct topo_host *h)
{
    const struct topo_host *like = NULL;
    for (int i = 0; i < t->nhosts && !like; i++)
        if (t->hosts[i].class_index == class_index && !t->hosts[i].served)
            like = &t->hosts[i];
    for (int i = 0; i < h->nerrors; i++)
        if (!like || !cluster_has_error(like, h->errors[i]))
            return h->errors[i];
    return NULL;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Takes the hosts of `probed` out of `t`. */
static void forget(struct topology *t, const struct topology *probed, struct arena *a)
{
    const char **names = arena_alloc(a, ((size_t)probed->nhosts + 1) * sizeof *names);
    int n = 0;
    for (int i = 0; i < probed->nhosts; i++)
        names[i] = probed->hosts[i].name;
    qsort(names, (size_t)probed->nhosts, sizeof *names, by_name);
    for (int i = 0; i < t->nhosts; i++)
        if (!bsearch(&t->hosts[i].name, names, (size_t)probed->nhosts, sizeof *names, by_name))
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
        const char *why = m->class_index < 0 ? m->why : unhealthy(t, m->class_index, h);
        places[i] = (struct place){why ? -1 : m->class_index, is_measured(t, h->name)};
        if (why)
            cluster_leave_out(&s.out, h->name, why);
    }
    for (int i = 0; i < probed->nmissing; i++)
        cluster_leave_out(&s.out, probed->missing[i].name, probed->missing[i].why);
    forget(t, probed, a);
    for (int i = 0; i < probed->nhosts; i++) {
        const struct topo_host *h = &probed->hosts[i];
        if (places[i].class_index < 0)
            continue;
        classes_add_host(t, places[i].class_index, &probed->classes[h->class_index], h, h->name);
        t->hosts[t->nhosts - 1].served = !places[i].measured;
        s.joined++;
    }
    return s;
}
