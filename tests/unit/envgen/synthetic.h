/* Points made up for a test: medians that are known, intervals of a known width. */
#pragma once

#include <string.h>

#include "bench/results/points.h"
#include "core/coll.h"
#include "envgen/decide/decide.h"

struct synthetic {
    struct arena *arena;
    struct bench_points points;
    int nodes, ranks, others, buffers;
    const char *engine, *library;
    double spread; /* half an interval, as a fraction of the median */
};

static inline struct synthetic synthetic_new(void)
{
    return (struct synthetic){
        .arena = arena_new(), .nodes = 4, .ranks = 4, .engine = "mpi", .library = "Open MPI 4.1.4", .spread = 0.01};
}

static inline struct bench_knobs synthetic_knobs(struct arena *a, const char *label, const char *name)
{
    struct bench_knobs k = {.label = label};
    if (!strcmp(label, BENCH_DEFAULT))
        return k;
    struct bench_setting *s = ARENA_NEW(a, struct bench_setting);
    *s = (struct bench_setting){name, label};
    k.settings = s;
    k.nsettings = 1;
    return k;
}

/* Six sessions; the default, one launch and two together are off by `spread` in different ones. */
static inline void synthetic_visits(struct synthetic *s, struct bench_candidate *c)
{
    unsigned slow = !strcmp(c->launch.label, BENCH_DEFAULT) ? 0x2a : strchr(c->launch.label, ',') ? 0x25 : 0x31;
    struct bench_result *r = arena_alloc(s->arena, 6 * sizeof *r);
    const struct bench_result **list = arena_alloc(s->arena, 6 * sizeof(struct bench_result *));
    double *us = arena_alloc(s->arena, 6 * sizeof *us);
    c->results = list;
    c->nresults = c->time_us.n ? 6 : 0;
    for (int i = 0; i < 6; i++) {
        us[i] = c->time_us.median * (1 + (slow >> i & 1 ? s->spread : -s->spread));
        r[i] = (struct bench_result){.round = i + 1, .times_us = us + i, .ntimes = 1};
        list[i] = &r[i];
    }
}

/* What nine starts say of a call beside the default of its launch, where that stands before it. */
static inline void synthetic_prove(const struct bench_point *p, struct bench_candidate *c)
{
    for (int i = 0; i < p->ncandidates && strcmp(c->call.label, BENCH_DEFAULT) != 0; i++) {
        const struct bench_candidate *x = &p->candidates[i];
        if (strcmp(x->launch.label, c->launch.label) != 0 || strcmp(x->call.label, BENCH_DEFAULT) != 0 ||
            !x->time_us.n || !c->time_us.n)
            continue;
        c->proof = bench_gain(x->time_us, c->time_us);
        c->proof.sure = c->proof.low;
    }
}

/* A candidate at a point; points must come in the order of bench_points. The call's label is its algorithm's number,
 * the launch's label its interface. */
static inline void synthetic_add(struct synthetic *s, int coll, uint64_t bytes, const char *launch, const char *call,
                                 double median_us, enum bench_status status)
{
    static const char *const names[] = {"coll_tuned_bcast_algorithm", "coll_tuned_reduce_algorithm",
                                        "coll_tuned_allgather_algorithm", "coll_tuned_reduce_scatter_algorithm",
                                        "coll_tuned_allreduce_algorithm"};
    struct bench_points *p = &s->points;
    struct bench_point *last = p->count ? &p->items[p->count - 1] : NULL;
    if (!last || last->coll != coll || last->bytes != bytes || last->nodes != s->nodes || last->ranks != s->ranks ||
        last->others != s->others || last->buffers != s->buffers || strcmp(last->engine, s->engine) != 0) {
        p->items = arena_grow(s->arena, p->items, (size_t)p->count, sizeof *p->items);
        last = &p->items[p->count++];
        *last = (struct bench_point){.engine = s->engine,
                                     .library = s->library,
                                     .coll = coll,
                                     .bytes = bytes,
                                     .nodes = s->nodes,
                                     .ranks = s->ranks,
                                     .others = s->others,
                                     .buffers = s->buffers,
                                     .untouched = -1,
                                     .best = -1};
    }
    last->candidates = arena_grow(s->arena, last->candidates, (size_t)last->ncandidates, sizeof *last->candidates);
    struct bench_candidate *c = &last->candidates[last->ncandidates];
    *c = (struct bench_candidate){.launch = synthetic_knobs(s->arena, launch, "btl_tcp_if_include"),
                                  .call = synthetic_knobs(s->arena, call, names[coll]),
                                  .status = status};
    if (median_us > 0)
        c->time_us = (struct bench_interval){median_us, median_us * (1 - s->spread), median_us * (1 + s->spread), 9};
    synthetic_visits(s, c);
    synthetic_prove(last, c);
    if (!strcmp(launch, BENCH_DEFAULT) && !strcmp(call, BENCH_DEFAULT))
        last->untouched = last->ncandidates;
    last->ncandidates++;
}

static inline struct env_decisions *synthetic_decide(struct synthetic *s)
{
    struct err e = {0};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    if (env_decide(d, &s->points, &e)) {
        env_decisions_free(d);
        return NULL;
    }
    return d;
}
