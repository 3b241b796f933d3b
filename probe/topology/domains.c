/* NVLink domains out of links and cliques; racks, which are cliques of several nodes. */
#include "probe/topology/domains.h"

#include <stdlib.h>
#include <string.h>

static int belong_together(const struct topo_class *c, const struct path_matrix *m, int i, int k)
{
    const char *x = c->gpus[i].clique, *y = c->gpus[k].clique;
    return path_between(m, i, k)->class_ == PATH_NVL || (x && y && !strcmp(x, y));
}

/* Adds to the domain everything that belongs to a GPU in it. The list is the work list as well. */
static void spread(const struct topo_class *c, const struct path_matrix *m, struct nvlink_domain *d,
                   unsigned char *taken)
{
    for (int next = 0; next < d->ngpus; next++) {
        int gpu = d->gpus[next];
        for (int i = 0; i < c->ngpus; i++) {
            if (taken[i] || !belong_together(c, m, gpu, i))
                continue;
            taken[i] = 1;
            d->gpus[d->ngpus++] = i;
            if (path_between(m, gpu, i)->class_ == PATH_NVL)
                d->link_kind = path_between(m, gpu, i)->link_kind;
        }
    }
}

/* Ascending, and the clique of the first GPU that has one. */
static void finish(const struct topo_class *c, struct arena *a, struct nvlink_domain *d)
{
    unsigned char *in = arena_alloc(a, (size_t)c->ngpus);
    for (int i = 0; i < d->ngpus; i++)
        in[d->gpus[i]] = 1;
    d->ngpus = 0;
    for (int i = 0; i < c->ngpus; i++) {
        if (!in[i])
            continue;
        d->gpus[d->ngpus++] = i;
        d->clique = d->clique ? d->clique : c->gpus[i].clique;
    }
}

int nvlink_domains(const struct topo_class *c, const struct path_matrix *m, struct arena *a,
                   struct nvlink_domain **domains)
{
    unsigned char *taken = arena_alloc(a, (size_t)c->ngpus);
    int n = 0;
    *domains = arena_alloc(a, (size_t)c->ngpus * sizeof **domains);
    for (int i = 0; i < c->ngpus; i++) {
        struct nvlink_domain d = {.link_kind = TOPO_NVLINK, .ngpus = 1};
        if (taken[i])
            continue;
        taken[i] = 1;
        d.gpus = arena_alloc(a, (size_t)c->ngpus * sizeof *d.gpus);
        d.gpus[0] = i;
        spread(c, m, &d, taken);
        finish(c, a, &d);
        if (d.ngpus > 1 || d.clique)
            (*domains)[n++] = d;
    }
    return n;
}

static int by_clique(const void *x, const void *y)
{
    const struct topo_host *a = *(const struct topo_host *const *)x, *b = *(const struct topo_host *const *)y;
    int order = strcmp(a->clique, b->clique);
    return order ? order : (a > b) - (a < b);
}

int nvlink_racks(const struct topology *t, struct arena *a, struct nvlink_rack **racks)
{
    const struct topo_host **hosts = arena_alloc(a, (size_t)t->nhosts * sizeof *hosts);
    int n = 0, nracks = 0;
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].clique)
            hosts[n++] = &t->hosts[i];
    if (n)
        qsort(hosts, (size_t)n, sizeof *hosts, by_clique);
    const char **names = arena_alloc(a, (size_t)n * sizeof *names);
    *racks = arena_alloc(a, (size_t)n * sizeof **racks);
    for (int i = 0; i < n; i++) {
        const struct topo_host *h = hosts[i];
        names[i] = h->name;
        if (!i || strcmp(h->clique, hosts[i - 1]->clique) != 0)
            (*racks)[nracks++] = (struct nvlink_rack){.clique = h->clique, .hosts = &names[i]};
        struct nvlink_rack *r = &(*racks)[nracks - 1];
        r->nhosts++;
        r->ngpus += t->classes[h->class_index].ngpus;
    }
    return nracks;
}
