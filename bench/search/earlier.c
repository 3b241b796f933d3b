/* Launches and calls that lost by far before. */
#include "bench/search/earlier.h"

#include <string.h>

#include "bench/results/points.h"

/* What the journal says of one candidate. */
struct record {
    int seen, close;
};

static int is_default(const struct bench_knobs *k)
{
    return !strcmp(k->label, BENCH_DEFAULT);
}

/* The least median at a point, under `launch` alone or any (NULL); 0 none. */
static double best_us(const struct bench_point *p, const char *launch)
{
    double best = 0;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        if (c->status == BENCH_OK && c->time_us.n && (!launch || !strcmp(c->launch.label, launch)) &&
            (!best || c->time_us.median < best))
            best = c->time_us.median;
    }
    return best;
}

static void look_at_call(const struct bench_point *p, const char *label, struct record *r)
{
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        if (strcmp(c->call.label, label) != 0 || !c->time_us.n)
            continue;
        r->seen = 1;
        r->close |= c->time_us.median <= EARLIER_BEHIND * best_us(p, c->launch.label);
    }
}

static void look_at_launch(const struct bench_point *p, const char *label, struct record *r)
{
    double us = best_us(p, label);
    r->seen |= us > 0;
    r->close |= us > 0 && us <= EARLIER_BEHIND * best_us(p, NULL);
}

/* A call counts with those that refine it, which are only tried where it stays. */
static int call_is_behind(const struct bench_plan *p, const struct bench_call *c, const struct bench_points *points,
                          const char *engine)
{
    struct record r = {0};
    for (int i = 0; i < points->count && !r.close; i++) {
        const struct bench_point *at = &points->items[i];
        if (at->coll != c->coll || strcmp(at->engine, engine) != 0)
            continue;
        look_at_call(at, c->knobs.label, &r);
        for (int k = 0; k < p->ncalls; k++)
            if (p->calls[k].coll == c->coll && p->calls[k].refines && !strcmp(p->calls[k].refines, c->knobs.label))
                look_at_call(at, p->calls[k].knobs.label, &r);
    }
    return !is_default(&c->knobs) && r.seen && !r.close;
}

static int launch_is_behind(const struct bench_knobs *k, const struct bench_points *points, const char *engine)
{
    struct record r = {0};
    for (int i = 0; i < points->count && !r.close; i++)
        if (!strcmp(points->items[i].engine, engine))
            look_at_launch(&points->items[i], k->label, &r);
    return !is_default(k) && r.seen && !r.close;
}

int search_leave_out_losers(struct bench_plan *p, const char *engine, const char *path, struct log *log, struct err *e)
{
    struct bench_results *r = bench_results_load(path, NULL, e);
    int ncalls = 0, nlaunches = 0;
    if (!r)
        return e->code;
    const struct bench_points *points = bench_points_of(r, r->arena);
    unsigned char *behind = arena_alloc(r->arena, (size_t)p->ncalls + 1);
    for (int i = 0; i < p->ncalls; i++)
        behind[i] = (unsigned char)call_is_behind(p, &p->calls[i], points, engine);
    for (int i = 0; i < p->ncalls; i++)
        if (!behind[i])
            p->calls[ncalls++] = p->calls[i];
    for (int i = 0; i < p->nlaunches; i++)
        if (!launch_is_behind(&p->launches[i], points, engine))
            p->launches[nlaunches++] = p->launches[i];
    log_info(log, "not tried again, for it was far behind everywhere in %s: %d of %d launches, %d of %d calls", path,
             p->nlaunches - nlaunches, p->nlaunches, p->ncalls - ncalls, p->ncalls);
    p->ncalls = ncalls;
    p->nlaunches = nlaunches;
    bench_results_free(r);
    return 0;
}
