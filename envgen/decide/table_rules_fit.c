/* Rows for node counts between two measured ones that differ: by a law, where it is sure enough. */
#include <math.h>
#include <string.h>

#include "envgen/decide/gain.h"
#include "envgen/decide/table_rules_internal.h"

#define LAWS 2

/* How far `nodes` is on the way from x to y, 0 to 1, by each law. */
static void ways(int x, int y, int nodes, double way[LAWS])
{
    way[0] = (double)(nodes - x) / (y - x);
    way[1] = log((double)nodes / x) / log((double)y / x);
}

static struct bench_interval between(struct bench_interval x, struct bench_interval y, double way)
{
    return (struct bench_interval){x.median + (y.median - x.median) * way, x.low + (y.low - x.low) * way,
                                   x.high + (y.high - x.high) * way, x.n < y.n ? x.n : y.n};
}

static const struct env_option *find_option(const struct env_point *p, const char *label)
{
    for (int i = 0; i < p->noptions; i++)
        if (!strcmp(p->options[i].call.label, label))
            return &p->options[i];
    return NULL;
}

static int usable(const struct env_option *o)
{
    return o && o->status == BENCH_OK && o->time_us.n >= ENV_FEWEST && o->time_us.low > 0;
}

/* One size that was measured on x and on y nodes. */
struct pair {
    const struct env_point *p, *q;
    int x, y;
};

/* The least gain of a call over the default by both laws at both ends; n 0: it cannot be said. */
static struct bench_interval least_gain(const struct pair *s, const struct env_option *o, int low, int high)
{
    struct bench_interval worst = {0};
    const struct env_option *there = find_option(s->q, o->call.label);
    const struct env_option *from = &s->p->options[s->p->fallback], *to = &s->q->options[s->q->fallback];
    if (!usable(o) || !usable(there) || !usable(from) || !usable(to))
        return worst;
    for (int end = 0; end < 2; end++) {
        double way[LAWS];
        ways(s->x, s->y, end ? high : low, way);
        for (int l = 0; l < LAWS; l++) {
            struct bench_interval g =
                bench_gain(between(from->time_us, to->time_us, way[l]), between(o->time_us, there->time_us, way[l]));
            if (!worst.n || g.low < worst.low)
                worst = g;
        }
    }
    return worst;
}

static const char *chosen(const struct env_point *p)
{
    return p->chosen < 0 ? "" : p->options[p->chosen].call.label;
}

/* The best call at this size; NULL: none is sure enough, or both ends agree and no law is needed. */
static const struct env_option *best(const struct pair *s, int low, int high, double margin,
                                     struct bench_interval *gain)
{
    const struct env_option *found = NULL;
    if (s->p->fallback < 0 || s->q->fallback < 0 || !strcmp(chosen(s->p), chosen(s->q)))
        return NULL;
    for (int i = 0; i < s->p->noptions; i++) {
        const struct env_option *o = &s->p->options[i];
        struct bench_interval g = least_gain(s, o, low, high);
        if (i == s->p->fallback || g.n < ENV_FEWEST || g.low < 1 + margin || (found && g.median <= gain->median))
            continue;
        found = o;
        *gain = g;
    }
    return found;
}

/* ---- sizes ----------------------------------------------------------------------------------------------------------
 */

static int points_of(const struct env_coll *c, struct arena *a, const struct env_point ***points)
{
    int n = 0;
    *points = NULL;
    for (int r = 0; r < c->nranges; r++)
        for (int i = 0; i < c->ranges[r].npoints; i++) {
            *points = arena_grow(a, (void *)*points, (size_t)n, sizeof(struct env_point *));
            (*points)[n++] = &c->ranges[r].points[i];
        }
    return n;
}

/* Measured sizes hold half the way to their neighbours; the last one no further than it was measured. */
static uint64_t middle(uint64_t smaller, uint64_t larger)
{
    return (uint64_t)ceil(sqrt((double)smaller) * sqrt((double)larger));
}

struct work {
    const struct env_decisions *d;
    const struct env_shape *x, *y;
    int low, high;
    struct arena *arena;
    struct env_table_rule *rows;
    int nrows;
};

static int add(struct work *w, int coll, uint64_t min, uint64_t max, const struct env_option *o,
               struct bench_interval gain, struct err *e)
{
    int per_node = w->x->ranks / w->x->nodes;
    struct env_table_rule row = {.coll = coll,
                                 .min_bytes = min,
                                 .max_bytes = max,
                                 .algorithm = -1,
                                 .protocol = -1,
                                 .channels = -1,
                                 .chunk_bytes = -1,
                                 .nodes_low = w->low,
                                 .nodes_high = w->high,
                                 .ranks_low = w->low * per_node,
                                 .ranks_high = w->high * per_node,
                                 .basis = ENV_FITTED,
                                 .base = w->x->nodes};
    int rc = rows_read_call(&o->call, &row, e);
    if (rc)
        return rc;
    row.why =
        arena_printf(w->arena, "%s would be at least %s over the default, from what was measured on %d and %d nodes",
                     o->call.label, env_gain_text(w->arena, gain), w->x->nodes, w->y->nodes);
    w->rows = arena_grow(w->arena, w->rows, (size_t)w->nrows, sizeof *w->rows);
    w->rows[w->nrows++] = row;
    return 0;
}

static int fit_coll(struct work *w, const struct env_coll *x, const struct env_coll *y, struct err *e)
{
    const struct env_point **ps, **qs;
    int np = points_of(x, w->arena, &ps), nq = points_of(y, w->arena, &qs), rc = 0;
    for (int i = 0, k = 0; i < np && !rc; i++) {
        while (k < nq && qs[k]->bytes < ps[i]->bytes)
            k++;
        if (k == nq || qs[k]->bytes != ps[i]->bytes)
            continue;
        struct pair s = {ps[i], qs[k], w->x->nodes, w->y->nodes};
        struct bench_interval gain = {0};
        const struct env_option *o = best(&s, w->low, w->high, w->d->margin, &gain);
        uint64_t min = i ? middle(ps[i - 1]->bytes, ps[i]->bytes) : ps[i]->bytes;
        uint64_t max = i + 1 < np ? middle(ps[i]->bytes, ps[i + 1]->bytes) - 1 : ps[i]->bytes;
        if (o && min <= max)
            rc = add(w, x->coll, min, max, o, gain, e);
    }
    return rc;
}

static const char *launch(const struct env_shape *s)
{
    return s->chosen < 0 ? "" : s->launches[s->chosen].knobs.label;
}

int rows_fit(const struct env_decisions *d, const struct env_shape *x, const struct env_shape *y, int low, int high,
             struct arena *a, struct env_table_rule **rows, struct err *e)
{
    struct work w = {.d = d, .x = x, .y = y, .low = low, .high = high, .arena = a};
    if (x->nlaunches && y->nlaunches && strcmp(launch(x), launch(y)) != 0)
        return 0; /* times of different launches do not lie on one line */
    for (int i = 0; i < x->ncolls; i++)
        for (int k = 0; k < y->ncolls; k++)
            if (x->colls[i].coll == y->colls[k].coll && fit_coll(&w, &x->colls[i], &y->colls[k], e))
                return -1;
    *rows = w.rows;
    return w.nrows;
}
