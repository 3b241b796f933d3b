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

/* A bandwidth that a port has seen, sending (0) or receiving (1), for sorting. */
struct seen {
    int port, side;
    double GBps;
};

static int by_port(const void *x, const void *y)
{
    const struct seen *a = x, *b = y;
    if (a->port != b->port || a->side != b->side)
        return a->port != b->port ? a->port - b->port : a->side - b->side;
    return (a->GBps > b->GBps) - (a->GBps < b->GBps);
}

/* Medians of both directions; the lesser one stays. */
static void add_medians(struct verbs_cell *cells, struct seen *seen, int n)
{
    qsort(seen, (size_t)n, sizeof *seen, by_port);
    for (int i = 0, next; i < n; i = next) {
        for (next = i; next < n && seen[next].port == seen[i].port && seen[next].side == seen[i].side; next++)
            ;
        struct verbs_cell *c = &cells[seen[i].port];
        double median = seen[i + (next - i) / 2].GBps;
        c->GBps = c->GBps > 0 && c->GBps < median ? c->GBps : median;
    }
}

struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d)
{
    struct count {
        int tried[2], bad[2];
    };
    size_t ports = (size_t)f->nodes * (size_t)f->rails;
    struct verbs_cell *cells = arena_alloc(f->arena, (ports + 1) * sizeof *cells);
    struct count *counts = arena_alloc(f->arena, (ports + 1) * sizeof *counts);
    struct seen *seen = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *seen);
    int n = 0;
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_outcome *o = &d->outcomes[i];
        const int ends[] = {port_of(f, o->pair.from), port_of(f, o->pair.to)};
        for (int side = 0; side < 2; side++) {
            struct verbs_cell *c = &cells[ends[side]];
            c->tried++;
            c->failed += o->verdict == VERBS_FAILED;
            c->slow += o->verdict == VERBS_SLOW;
            counts[ends[side]].tried[side]++;
            counts[ends[side]].bad[side] += o->verdict != VERBS_GOOD;
            if (o->GBps > 0)
                seen[n++] = (struct seen){ends[side], side, o->GBps};
        }
    }
    for (size_t i = 0; i < ports; i++)
        cells[i].outlier = counts[i].bad[0] * 2 > counts[i].tried[0] || counts[i].bad[1] * 2 > counts[i].tried[1];
    add_medians(cells, seen, n);
    return cells;
}
