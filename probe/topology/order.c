/* The order in which devices are numbered: GPUs as the vendor's tools do, RDMA ports by their HCA's name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/build.h"

struct numbered {
    int gpu, index; /* `index` is INT_MAX where the GPU brought none */
    const char *pci;
};

/* "10000:00:00.0" comes after "ffff:00:00.0": domains have four digits or more. */
static int compare_pci(const char *a, const char *b)
{
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    size_t la = strlen(a), lb = strlen(b);
    return la != lb ? (la > lb) - (la < lb) : strcmp(a, b);
}

static int by_index(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    if (a->index != b->index)
        return (a->index > b->index) - (a->index < b->index);
    int by_pci = compare_pci(a->pci, b->pci);
    return by_pci ? by_pci : a->gpu - b->gpu;
}

/* Gives the GPUs without an index, or with one that an earlier GPU has, the free ones. */
static void number(struct topo_class *c, const struct numbered *order)
{
    int next = 0, taken = 0;
    while (taken < c->ngpus && order[taken].index != INT_MAX)
        taken++;
    for (int i = 0; i < c->ngpus; i++) {
        struct topo_gpu *g = &c->gpus[order[i].gpu];
        if (order[i].index != INT_MAX && (i == 0 || order[i].index != order[i - 1].index)) {
            g->index = order[i].index;
            continue;
        }
        /* `order` is sorted up to `taken`, so one pass over it finds every free number. */
        for (int k = 0; k < taken && order[k].index <= next; k++)
            next += order[k].index == next;
        g->index = next++;
    }
}

void build_order_gpus(struct topology *t, struct topo_class *c)
{
    int n = c->ngpus;
    if (n <= 0)
        return;
    struct numbered *order = arena_alloc(t->arena, (size_t)n * sizeof *order);
    int *where = arena_alloc(t->arena, (size_t)n * sizeof *where);
    for (int i = 0; i < n; i++) {
        int index = c->gpus[i].index;
        order[i] = (struct numbered){i, index < 0 ? INT_MAX : index, c->objects[c->gpus[i].object].pci};
    }
    qsort(order, (size_t)n, sizeof *order, by_index);
    number(c, order);

    for (int i = 0; i < n; i++)
        order[i].index = c->gpus[order[i].gpu].index;
    qsort(order, (size_t)n, sizeof *order, by_index);
    struct topo_gpu *sorted = arena_alloc(t->arena, (size_t)n * sizeof *sorted);
    for (int i = 0; i < n; i++) {
        sorted[i] = c->gpus[order[i].gpu];
        where[order[i].gpu] = i;
        struct topo_object *o = &c->objects[sorted[i].object];
        int shared = i > 0 && sorted[i - 1].object == sorted[i].object;
        o->name = shared ? arena_printf(t->arena, "%s+%d", o->name, sorted[i].index)
                         : arena_printf(t->arena, "GPU%d", sorted[i].index);
    }
    memcpy(c->gpus, sorted, (size_t)n * sizeof *sorted); /* where there is room for more */
    for (int i = 0; i < c->nlinks; i++) {
        c->links[i].gpu = where[c->links[i].gpu];
        if (c->links[i].peer_gpu >= 0)
            c->links[i].peer_gpu = where[c->links[i].peer_gpu];
    }
}

static int by_name(const void *x, const void *y)
{
    const struct topo_port *a = x, *b = y;
    int order = strverscmp(a->hca, b->hca);
    return order ? order : (a->port > b->port) - (a->port < b->port);
}

void build_order_ports(struct topo_class *c)
{
    if (!c->nports)
        return;
    struct topo_port *before = malloc((size_t)c->nports * sizeof *before);
    if (!before)
        abort();
    memcpy(before, c->ports, (size_t)c->nports * sizeof *before);
    qsort(c->ports, (size_t)c->nports, sizeof *c->ports, by_name);
    for (int i = 0; i < c->ngids; i++) {
        const struct topo_port *p = &before[c->gids[i].port];
        for (int k = 0; k < c->nports; k++)
            if (c->ports[k].port == p->port && !strcmp(c->ports[k].hca, p->hca)) {
                c->gids[i].port = k;
                break;
            }
    }
    free(before);
}
