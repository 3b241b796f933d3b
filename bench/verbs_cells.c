/* From tries to what a map of the fabric shows. */
#include <stdlib.h>

#include "bench/verbs_decide.h"

static int port_of(const struct verbs_fabric *f, struct verbs_end p)
{
    return p.node * f->rails + p.rail;
}

int verbs_find_try(const struct verbs_fabric *f, int from, int to)
{
    for (int i = f->ntries - 1; i >= 0; i--) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        if (port_of(f, t->from) == from && port_of(f, t->to) == to)
            return i;
    }
    return -1;
}

/* A bandwidth that a port has seen, for sorting. */
struct seen {
    int port;
    double GBps;
};

static int by_port(const void *x, const void *y)
{
    const struct seen *a = x, *b = y;
    return a->port != b->port ? a->port - b->port : (a->GBps > b->GBps) - (a->GBps < b->GBps);
}

struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d)
{
    struct verbs_cell *cells = arena_alloc(f->arena, ((size_t)f->nodes * (size_t)f->rails + 1) * sizeof *cells);
    struct seen *seen = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *seen);
    int n = 0;
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_outcome *o = &d->outcomes[i];
        const int ports[] = {port_of(f, o->pair.from), port_of(f, o->pair.to)};
        for (int side = 0; side < 2; side++) {
            struct verbs_cell *c = &cells[ports[side]];
            c->tried++;
            c->failed += o->verdict == VERBS_FAILED;
            c->slow += o->verdict == VERBS_SLOW;
            if (o->GBps > 0)
                seen[n++] = (struct seen){ports[side], o->GBps};
        }
    }
    qsort(seen, (size_t)n, sizeof *seen, by_port);
    for (int i = 0, next; i < n; i = next) {
        for (next = i; next < n && seen[next].port == seen[i].port; next++)
            ;
        cells[seen[i].port].GBps = seen[i + (next - i) / 2].GBps;
    }
    return cells;
}
