/* Predictions of everything that can be tried, into the journal. */
#include "bench/search/study.h"

#include <math.h>
#include <string.h>

#include "bench/search/workload_profile.h"
#include "core/coll.h"

/* Refinements of a call are written where the call itself comes this close to the best. */
#define CLOSE_TO_BEST 1.3

/* One time is below another when it is by more than rounding. */
#define ROUNDING 1e-9

/* One number of nodes, and the groups that their ranks make. */
struct work {
    struct bench_study *study;
    struct arena *arena;
    struct bench_prediction *guesses; /* by call, for the point that is looked at */
    struct bench_result *lines;       /* of one launch, before they are written */
    int nlines;
};

/* ---- one launch ---- */

static void add_line(struct work *w, const struct bench_knobs *launch, const struct study_point *p,
                     const struct bench_knobs *call, const struct bench_prediction *g)
{
    const struct bench_study *s = w->study;
    struct known_place where = p->at;
    where.launch = launch->label;
    if (known_of(s->results, &where, call->label, KNOWN_ANY).status != BENCH_STATUS_COUNT)
        return;
    double *us = ARENA_NEW(w->arena, double);
    struct bench_doubt *doubt = ARENA_NEW(w->arena, struct bench_doubt);
    *us = g->us;
    *doubt = g->doubt;
    struct bench_result *line = &ARENA_ADD(w->arena, w->lines, w->nlines);
    *line = (struct bench_result){.launch = *launch,
                                  .call = *call,
                                  .round = 1,
                                  .times_us = us,
                                  .ntimes = 1,
                                  .low_us = g->low_us,
                                  .high_us = g->high_us,
                                  .doubt = doubt,
                                  .detail = arena_strdup(w->arena, g->detail)};
    bench_place_result(s, &where, line);
}

/* Fills the guesses for one point; us 0: not offered there, or a refinement of what is far from the best. Returns the
 * index of the fastest, the default's unless another is faster; -1: nothing is offered. */
static int guess_calls(const struct work *w, const struct bench_knobs *launch, const struct study_point *at)
{
    const struct bench_predict_ops *ops = w->study->engine->predicts;
    struct bench_plan *p = &w->study->plan;
    struct bench_prediction *guesses = w->guesses;
    int best = -1;
    memset(guesses, 0, (size_t)p->ncalls * sizeof *guesses);
    double best_us = INFINITY, base_us = INFINITY;
    for (int i = 0; i < p->ncalls; i++) {
        const struct bench_call *c = &p->calls[i];
        if (c->coll != at->at.coll || c->refines || ops->predict(p, &at->at, launch, &c->knobs, &guesses[i]))
            continue;
        best_us = fmin(best_us, guesses[i].us);
    }
    for (int i = 0; i < p->ncalls; i++) { /* refinements stand behind what they refine */
        const struct bench_call *c = &p->calls[i];
        if (c->coll != at->at.coll)
            continue;
        if (!c->refines)
            base_us = guesses[i].us > 0 ? guesses[i].us : INFINITY;
        else if (at->at.bytes >= c->min_bytes && base_us <= CLOSE_TO_BEST * best_us)
            ops->predict(p, &at->at, launch, &c->knobs, &guesses[i]);
    }
    for (int i = 0; i < p->ncalls; i++) /* the default stands before the other calls */
        if (guesses[i].us > 0 && (best < 0 || guesses[i].us < guesses[best].us * (1 - ROUNDING)))
            best = i;
    return best;
}

/* All calls of a launch, or of every point its default and its best. The default last: its line says that the point is
 * done. */
static int write_launch(struct work *w, const struct bench_knobs *launch, int full, struct err *e)
{
    struct bench_study *s = w->study;
    const struct bench_plan *p = &s->plan;
    w->nlines = 0;
    for (int i = 0; i < s->npoints; i++) {
        int best = guess_calls(w, launch, &s->points[i]);
        for (int pass = 0; pass < 2; pass++)
            for (int c = 0; c < p->ncalls; c++)
                if (w->guesses[c].us > 0 && (strcmp(p->calls[c].knobs.label, BENCH_DEFAULT) == 0) == pass &&
                    (full || pass || c == best))
                    add_line(w, launch, &s->points[i], &p->calls[c].knobs, &w->guesses[c]);
    }
    s->summary->measured += w->nlines;
    return w->nlines ? bench_journal_append(s->journal, w->lines, w->nlines, e) : 0;
}

/* ---- one number of nodes ---- */

/* What is to be small: the time of a step of the workload, or the mean of log(time), of the best calls; INFINITY when
 * one cannot be had. */
static double score(const struct work *w, const struct bench_knobs *launch)
{
    const struct bench_study *s = w->study;
    double sum = 0;
    for (int i = 0; i < s->npoints; i++) {
        int best = guess_calls(w, launch, &s->points[i]);
        double us = best < 0 ? INFINITY : w->guesses[best].us;
        sum += s->workload ? s->points[i].calls * us : log(us);
    }
    if (!s->npoints)
        return INFINITY;
    return s->workload ? log(sum) : sum / s->npoints;
}

static int predict_nodes(struct bench_study *s, int nodes, struct err *e)
{
    struct work w = {.study = s, .arena = arena_new()};
    const struct bench_knobs *launches = s->plan.launches;
    int best = 0;
    s->nodes = nodes;
    s->ranks = nodes * s->plan.ranks_per_node;
    s->nshapes = 0;
    int rc = search_shapes_take(s, e);
    if (!rc)
        study_list_points(s);
    w.guesses = arena_alloc(w.arena, (size_t)s->plan.ncalls * sizeof *w.guesses);
    double least = rc ? 0 : score(&w, &launches[0]);
    if (!isfinite(least))
        rc = err_set(e, ERR_FAILED, "the %s engine has no prediction for %d ranks on %d nodes", s->engine->name,
                     s->ranks, nodes);
    for (int i = 1; i < s->plan.nlaunches && !rc; i++) {
        double mine = score(&w, &launches[i]);
        if (mine < least - ROUNDING) {
            least = mine;
            best = i;
        }
    }
    for (int i = 0; i < s->plan.nlaunches && !rc && !bench_stopped(s); i++)
        rc = write_launch(&w, &launches[i], i == 0 || i == best, e);
    arena_free(w.arena);
    return rc;
}

/* A prediction is not bound to the nodes that are there: a workload's groups have as many as they want. */
static int most_nodes(const struct bench_study *s)
{
    int n, most = s->plan.nodes[s->plan.nnodes - 1];
    const struct bench_shape *shapes = workload_profile_shapes(s->workload, s->options->collectives, s->arena, &n);
    for (int i = 0; i < n; i++)
        most = shapes[i].nodes > most ? shapes[i].nodes : most;
    return most;
}

int bench_predict(struct bench_study *s, struct err *e)
{
    int rc = s->workload ? predict_nodes(s, most_nodes(s), e) : 0;
    for (int i = 0; i < s->plan.nnodes && !s->workload && !rc && !bench_stopped(s); i++)
        rc = predict_nodes(s, s->plan.nodes[i], e);
    s->summary->interrupted = bench_stopped(s);
    return rc;
}
