/* From tries to what a map of the fabric shows. */
#include <stdlib.h>

#include "bench/fabric/decide.h"
#include "core/stats.h"

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
    return a->port != b->port ? a->port - b->port : a->side - b->side;
}

/* Medians of both directions; the lesser one stays. */
static void add_medians(struct verbs_cell *cells, struct seen *seen, int n, double *scratch)
{
    qsort(seen, (size_t)n, sizeof *seen, by_port);
    for (int i = 0, next; i < n; i = next) {
        for (next = i; next < n && seen[next].port == seen[i].port && seen[next].side == seen[i].side; next++)
            scratch[next - i] = seen[next].GBps;
        struct verbs_cell *c = &cells[seen[i].port];
        double median = stats_median(scratch, next - i);
        c->GBps = c->GBps > 0 && c->GBps < median ? c->GBps : median;
    }
}

/* What is known of a port, sending (0) and receiving (1). */
struct count {
    int tried[2], bad[2];
    int faulty[2]; /* it is at fault for what goes badly there */
};

static void mark_suspected(const struct verbs_fabric *f, const struct verbs_decision *d, struct count *counts)
{
    for (int i = 0; i < d->nfaults; i++) {
        const struct verbs_fault *s = &d->faults[i];
        int sends = s->kind == VERBS_FAULT_SENDS || s->kind == VERBS_FAULT_PORT;
        int receives = s->kind == VERBS_FAULT_RECEIVES || s->kind == VERBS_FAULT_PORT;
        struct count *c = &counts[port_of(f, s->a)];
        c->faulty[0] |= sends;
        c->faulty[1] |= receives;
        for (int rail = 0; s->kind == VERBS_FAULT_NODE && rail < f->rails; rail++) {
            struct count *of_node = &counts[port_of(f, (struct verbs_end){s->a.node, rail})];
            of_node->faulty[0] = of_node->faulty[1] = 1;
        }
    }
}

struct verbs_cell *verbs_cells(const struct verbs_fabric *f, const struct verbs_decision *d)
{
    size_t ports = (size_t)f->nodes * (size_t)f->rails;
    struct verbs_cell *cells = arena_alloc(f->arena, (ports + 1) * sizeof *cells);
    struct verbs_cell *excused = arena_alloc(f->arena, (ports + 1) * sizeof *excused);
    struct count *counts = arena_alloc(f->arena, (ports + 1) * sizeof *counts);
    struct seen *seen = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *seen);
    struct seen *others = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *others);
    double *scratch = arena_alloc(f->arena, ((size_t)f->ntries * 2 + 1) * sizeof *scratch);
    int nseen = 0, nothers = 0;
    mark_suspected(f, d, counts);
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_outcome *o = &d->outcomes[i];
        const int ends[] = {port_of(f, o->pair.from), port_of(f, o->pair.to)};
        for (int side = 0; side < 2; side++) {
            struct verbs_cell *c = &cells[ends[side]];
            struct count *mine = &counts[ends[side]];
            int bad = o->verdict != VERBS_GOOD;
            int excuse = bad && counts[ends[!side]].faulty[!side] && !mine->faulty[side];
            c->tried++;
            c->failed += o->verdict == VERBS_FAILED;
            c->slow += o->verdict == VERBS_SLOW;
            mine->tried[side] += !excuse;
            mine->bad[side] += bad && !excuse;
            if (o->GBps > 0)
                *(excuse ? &others[nothers++] : &seen[nseen++]) = (struct seen){ends[side], side, o->GBps};
        }
    }
    add_medians(cells, seen, nseen, scratch);
    add_medians(excused, others, nothers, scratch);
    for (size_t i = 0; i < ports; i++) {
        const struct count *c = &counts[i];
        cells[i].outlier = c->bad[0] * 2 > c->tried[0] || c->bad[1] * 2 > c->tried[1];
        /* Where the other ends are at fault for all that was tried, it is all there is to show. */
        if (cells[i].GBps <= 0)
            cells[i].GBps = excused[i].GBps;
    }
    return cells;
}
