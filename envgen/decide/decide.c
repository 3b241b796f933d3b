/* Decisions: the points of every shape, the launch that is best over all sizes and shapes, and the calls in it
 * (calls.c).
 */
#include "envgen/decide/decide.h"

#include <string.h>

#include "bench/results/points.h"
#include "bench/search/workload_profile.h"
#include "core/coll.h"
#include "core/units.h"
#include "envgen/decide/steps.h"

/* ---- the launch: which set of process-wide settings, if any, beats the untouched library ---- */

static void add_launch(struct env_decisions *d, struct env_shape *shape, const struct bench_knobs *knobs)
{
    if (env_find_launch(shape, knobs->label) >= 0)
        return;
    ARENA_ADD(d->arena, shape->launches, shape->nlaunches) =
        (struct env_launch){.knobs = decide_knobs(d->arena, knobs), .why = ""};
}

static void collect_launches(struct env_decisions *d, struct env_shape *shape, struct decide_slice s)
{
    for (int pass = 0; pass < 2; pass++) /* the baseline launch first */
        for (int i = 0; i < s.count; i++)
            for (int c = 0; c < s.points[i].ncandidates; c++) {
                const struct bench_knobs *k = &s.points[i].candidates[c].launch;
                if (pass || !strcmp(k->label, BENCH_DEFAULT))
                    add_launch(d, shape, k);
            }
}

/* For a shape of other types or places of the data: the launch of the usual shape like it. */
static void follow_usual(struct env_decisions *d, struct env_shape *shape)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *u = &d->shapes[i];
        if (u->chosen < 0 || u->buffers || u->others != shape->others || !env_shapes_alike(u, shape))
            continue;
        add_launch(d, shape, &u->launches[u->chosen].knobs);
        shape->chosen = env_find_launch(shape, u->launches[u->chosen].knobs.label);
        shape->why = u->why;
    }
}

/* The fastest candidate of a launch at a point. One that was dropped tells how slow the launch is when there is no
 * other. NULL: nothing was timed. */
static const struct bench_candidate *best_of(const struct bench_point *p, const char *launch)
{
    const struct bench_candidate *best = NULL;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        if (strcmp(c->launch.label, launch) != 0 || !decide_timed(c))
            continue;
        if (!best || (c->status == best->status ? c->time_us.median < best->time_us.median : c->status == BENCH_OK))
            best = c;
    }
    return best;
}

static int works_untouched(struct decide_slice s, int coll, const char *call)
{
    for (int i = 0; i < s.count; i++)
        for (int c = 0; c < s.points[i].ncandidates; c++) {
            const struct bench_candidate *x = &s.points[i].candidates[c];
            if (s.points[i].coll == coll && decide_timed(x) && !strcmp(x->launch.label, BENCH_DEFAULT) &&
                !strcmp(x->call.label, call))
                return 1;
        }
    return 0;
}

/* The first failure that speaks against the launch: any of its default call; of another call a death or wrong data that
 * the same call, tried untouched, does not show. A call that the library refuses is the call's own matter. */
static const struct bench_candidate *own_failure(struct decide_slice s, const char *launch,
                                                 const struct bench_point **where)
{
    for (*where = s.points; *where < s.points + s.count; ++*where)
        for (int c = 0; c < (*where)->ncandidates; c++) {
            const struct bench_candidate *x = &(*where)->candidates[c];
            if (x->status >= BENCH_WRONG && !strcmp(x->launch.label, launch) &&
                (!strcmp(x->call.label, BENCH_DEFAULT) ||
                 (x->status != BENCH_FAILED && works_untouched(s, (*where)->coll, x->call.label))))
                return x;
        }
    return NULL;
}

/* The gain that the model sees, over all points where `from` was timed: best call against best call. */
static struct bench_interval predicted_gain(struct env_decisions *d, struct decide_slice s, const char *from,
                                            const char *to)
{
    struct bench_interval *gains = arena_alloc(d->arena, (size_t)(s.count + 1) * sizeof *gains);
    double *weights = arena_alloc(d->arena, (size_t)(s.count + 1) * sizeof *weights);
    int n = 0;
    for (int i = 0; i < s.count; i++) {
        const struct bench_candidate *x = best_of(&s.points[i], from), *y = best_of(&s.points[i], to);
        double weight = s.weights ? s.weights[i] : 1;
        if (!x || !(weight > 0))
            continue;
        weights[n] = weight;
        gains[n++] = y ? bench_gain(x->time_us, y->time_us) : (struct bench_interval){1, 1, 1, 0};
    }
    return env_mean_gain(gains, weights, n);
}

/* The mean gain of launch `to` over launch `from`, by the weights of the points: with the default call, session against
 * session, when the best of `rivals` is chosen. */
static struct bench_interval gain_over(struct env_decisions *d, struct decide_slice s, const char *from, const char *to,
                                       int rivals)
{
    return s.points->candidates->time_us.predicted
               ? predicted_gain(d, s, from, to)
               : bench_launch_gain(s.points, s.count, s.weights, from, to, d->confidence, rivals);
}

/* The first point that counts at which the launch loses; NULL: none. */
static const struct bench_point *lost_point(const struct env_decisions *d, const char *launch, struct decide_slice s,
                                            struct bench_interval *loss)
{
    for (int i = 0; i < s.count; i++)
        if ((!s.weights || s.weights[i] > 0) &&
            bench_point_loses(&s.points[i], launch, s.count, d->margin, d->confidence, loss))
            return s.points + i;
    return NULL;
}

/* Whether the launch may be chosen; says why in either case. */
static int eligible(struct env_decisions *d, struct env_launch *l, struct decide_slice s)
{
    const struct bench_point *where;
    const struct bench_candidate *fault = own_failure(s, l->knobs.label, &where);
    if (fault) {
        l->status = fault->status;
        l->why =
            arena_printf(d->arena, "out: %s %s at %s of %llu bytes%s%s", fault->call.label,
                         bench_status_name(fault->status), coll_name(where->coll), (unsigned long long)where->bytes,
                         fault->detail ? ": " : "", fault->detail ? fault->detail : "");
        return 0;
    }
    if (l->points * 2 < s.count) {
        l->why = arena_printf(d->arena, "out: measured at %d of %d points only", l->points, s.count);
        return 0;
    }
    if (!l->gain.predicted && l->gain.n < BENCH_FEWEST) {
        l->why = arena_printf(
            d->arena,
            "not proven: %d run%s beside the baseline, at least %d are needed: run both %d more time%s, in turn",
            l->gain.n, l->gain.n == 1 ? "" : "s", BENCH_FEWEST, BENCH_FEWEST - l->gain.n,
            BENCH_FEWEST - l->gain.n == 1 ? "" : "s");
        return 0;
    }
    if (d->predicted && bench_evidence_of(s.points->engine) == BENCH_PREDICTED) {
        l->why = "out: only predicted, and such predictions have not been proven";
        return 0;
    }
    struct bench_interval loss;
    char size[UNIT_TEXT];
    int clears = bench_gain_clears(l->gain, d->margin);
    if (clears && (where = lost_point(d, l->knobs.label, s, &loss))) {
        l->why = arena_printf(d->arena, "out: %s over the baseline, but %s at %s of %s; it would act on all calls",
                              env_gain_text(d->arena, l->gain), env_gain_text(d->arena, loss), coll_name(where->coll),
                              unit_bytes(size, where->bytes));
        return 0;
    }
    l->why = arena_printf(d->arena, "%s over the baseline, %s the margin of %g %%", env_gain_text(d->arena, l->gain),
                          clears ? "clears" : "does not clear", d->margin * 100);
    return clears;
}

/* Whether `l` is to be preferred to `other`: the faster one, but what departs further from the baseline has
 * to clear the margin, measured against the other. */
static int is_better(struct env_decisions *d, struct decide_slice s, const struct env_launch *l,
                     const struct env_launch *other)
{
    const char *ours = l->knobs.label, *theirs = other->knobs.label;
    int more = bench_departs_more(&l->knobs, &other->knobs);
    if (more > 0)
        return bench_gain_clears(gain_over(d, s, theirs, ours, 1), d->margin);
    if (more < 0)
        return !bench_gain_clears(gain_over(d, s, ours, theirs, 1), d->margin);
    return l->gain.median > other->gain.median;
}

/* Where a launch was measured, if that is one collective of those that it acts on; else "". */
static const char *narrowly(struct env_decisions *d, struct decide_slice s)
{
    const struct bench_point *p = s.points, *last = p + s.count - 1; /* by collective and size */
    char sizes[3 * UNIT_TEXT];
    if (p->coll != last->coll)
        return "";
    return arena_printf(d->arena, "; it acts on all calls and was measured for %s of %s alone", coll_name(p->coll),
                        unit_range(sizes, p->bytes, last->bytes));
}

static void choose_launch(struct env_decisions *d, struct env_shape *shape, struct decide_slice s)
{
    int rivals = 0; /* those that had the chance to be the best */
    collect_launches(d, shape, s);
    if (env_find_launch(shape, BENCH_DEFAULT) != 0) {
        shape->chosen = -1;
        shape->why = "the baseline was not measured, so no gain can be proven";
        return;
    }
    for (int i = 1; i < shape->nlaunches; i++)
        rivals += gain_over(d, s, BENCH_DEFAULT, shape->launches[i].knobs.label, 1).n >= BENCH_FEWEST;
    for (int i = 0; i < shape->nlaunches; i++) {
        struct env_launch *l = &shape->launches[i];
        l->gain = gain_over(d, s, BENCH_DEFAULT, l->knobs.label, rivals);
        for (int k = 0; k < s.count; k++)
            l->points += best_of(&s.points[k], l->knobs.label) != NULL;
        if (i == 0)
            l->why = "the baseline";
        else if (eligible(d, l, s) && (!shape->chosen || is_better(d, s, l, &shape->launches[shape->chosen])))
            shape->chosen = i;
    }
    const struct env_launch *best = &shape->launches[shape->chosen];
    if (shape->nlaunches == 1)
        shape->why = "no other launch was tried";
    else if (!shape->chosen)
        shape->why = arena_printf(d->arena, "no launch beats the baseline by %g %% or more", d->margin * 100);
    else
        shape->why = arena_printf(d->arena, "%s is %s over the baseline, over %d %s%s%s", best->knobs.label,
                                  env_gain_text(d->arena, best->gain), best->gain.n,
                                  best->gain.predicted ? "points" : "pairs of sessions",
                                  s.weights ? ", each by its share of the workload's step" : "", narrowly(d, s));
}

/* ---- one launch for all jobs ---- */

/* A shape with a choice of launches; on one node the network is not used, and there is only the baseline launch. */
static int had_choice(const struct env_shape *s)
{
    return s->chosen >= 0 && s->nlaunches > 1 && !env_shape_follows(s);
}

/* A launch's gain over all shapes that had a choice; n is 0 where it was not measured in one, does not work there or is
 * proven to be slower. */
static struct bench_interval gain_of_all(struct env_decisions *d, const struct env_shape *shapes,
                                         const struct decide_slice *slices, int n, const char *label)
{
    struct bench_interval *gains = arena_alloc(d->arena, (size_t)n * sizeof *gains);
    double *weights = arena_alloc(d->arena, (size_t)n * sizeof *weights);
    int known = 0;
    for (int i = 0; i < n; i++) {
        int launch = env_find_launch(&shapes[i], label);
        if (!had_choice(&shapes[i]))
            continue;
        const struct env_launch *l = launch < 0 ? NULL : &shapes[i].launches[launch];
        if (!l || l->status > BENCH_DROPPED || !l->gain.n || l->gain.high < 1 / (1 + d->margin))
            return (struct bench_interval){0};
        weights[known] = slices[i].worth;
        gains[known++] = l->gain;
    }
    return env_mean_gain(gains, weights, known);
}

/* Launch settings are common to all jobs. Where the `n` shapes, which are of one engine, would choose differently, the
 * launch is taken that gains most over all of them together, if that clears the margin and it loses in none; else all
 * stay with the untouched one. */
static void agree_on_launch(struct env_decisions *d, struct env_shape *shapes, const struct decide_slice *slices, int n)
{
    struct bench_interval best = {0};
    const char *label = BENCH_DEFAULT, *before = NULL, *own = "", *why;
    int differ = 0;
    for (int i = 0; i < n; i++) {
        if (!had_choice(&shapes[i]))
            continue;
        const char *chosen = shapes[i].launches[shapes[i].chosen].knobs.label;
        struct bench_interval gain = {0};
        if (shapes[i].chosen)
            gain = gain_of_all(d, shapes, slices, n, chosen);
        if (gain.n && bench_gain_clears(gain, d->margin) && gain.median > best.median) {
            best = gain;
            label = chosen;
        }
        differ |= before && strcmp(before, chosen) != 0;
        own = arena_printf(d->arena, "%s%s'%s' for jobs of %s", own, before ? ", " : "", chosen,
                           env_shape_text(d->arena, &shapes[i]));
        before = chosen;
    }
    if (best.n)
        why = arena_printf(d->arena,
                           "a launch setting is common to all jobs; alone they would choose %s; '%s' is %s over the "
                           "baseline for all together, and slower for none",
                           own, label, env_gain_text(d->arena, best));
    else
        why = arena_printf(d->arena,
                           "a launch setting is common to all jobs, and they would choose differently: %s; none gains "
                           "for all together without a loss for some, so the default stays",
                           own);
    for (int i = 0; i < n && differ; i++)
        if (had_choice(&shapes[i])) {
            shapes[i].chosen = env_find_launch(&shapes[i], label);
            shapes[i].why = why;
        }
}

static void decide_launches(struct env_decisions *d, const struct decide_slice *slices)
{
    for (int i = 0; i < d->nshapes; i++)
        choose_launch(d, &d->shapes[i], slices[i]);
    for (int i = 0, k; i < d->nshapes; i = k) {
        for (k = i + 1; k < d->nshapes && !strcmp(d->shapes[k].engine, d->shapes[i].engine);)
            k++;
        agree_on_launch(d, &d->shapes[i], &slices[i], k - i);
    }
    for (int i = 0; i < d->nshapes; i++)
        if (env_shape_follows(&d->shapes[i]))
            follow_usual(d, &d->shapes[i]);
}

/* ---- shapes ---- */

/* A profile is for one library, and for one default: under one tuner and under another it is not the same (`active`
 * NULL is not known, "" nobody's). */
static int check_points(const struct bench_points *points, struct err *e)
{
    const struct bench_point *before = NULL; /* whose `active` is known */
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (i && !strcmp(p->engine, p[-1].engine) && strcmp(p->library, p[-1].library) != 0)
            return err_set(e, ERR_FAILED,
                           "the results of engine %s come from two libraries, '%s' and '%s': a profile is for one",
                           p->engine, p[-1].library, p->library);
        for (int c = 0; c < p->ncandidates; c++) {
            const struct bench_knobs *launch = &p->candidates[c].launch, *call = &p->candidates[c].call;
            if ((!strcmp(launch->label, BENCH_DEFAULT) && launch->nsettings) ||
                (!strcmp(call->label, BENCH_DEFAULT) && call->nsettings))
                return err_set(e, ERR_FAILED, "a result is labelled '%s' and has settings: expected the baseline",
                               BENCH_DEFAULT);
        }
        if (!p->active)
            continue;
        int same_engine = before && !strcmp(before->engine, p->engine);
        const char *other = p->mixed ? p->mixed : same_engine ? before->active : p->active;
        if (strcmp(other, p->active) != 0)
            return err_set(e, ERR_FAILED,
                           "the default of engine %s was measured over '%s' and over '%s': a profile is for one",
                           p->engine, *other ? other : "NCCL alone", *p->active ? p->active : "NCCL alone");
        before = p;
    }
    return 0;
}

/* What the user gets: the geometric mean of all points' gains over the baseline. */
static void sum_up(struct env_decisions *d, struct env_shape *s)
{
    struct bench_interval *gains = NULL;
    int n = 0;
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            for (int p = 0; p < s->colls[c].ranges[r].npoints; p++) {
                struct bench_interval g = s->colls[c].ranges[r].points[p].total_gain;
                if (g.n <= 0)
                    continue;
                ARENA_ADD(d->arena, gains, n) = g;
            }
    s->total_gain = env_mean_gain(gains, NULL, n);
}

/* Fill the weights, in `d`'s arena: the time that a step of its workload spends at each point by default; none without
 * a workload, or where it calls nothing of the kind. `worth` is their sum. */
static void weigh_points(struct env_decisions *d, struct decide_slice *s)
{
    double *weights = arena_alloc(d->arena, (size_t)(s->count + 1) * sizeof *weights);
    uint64_t *sizes = arena_alloc(d->arena, (size_t)(s->count + 1) * sizeof *sizes);
    for (int i = 0, k; i < s->count && d->workload; i = k) { /* the points of one collective stand together, by size */
        const struct bench_point *p = &s->points[i];
        for (k = i; k < s->count && s->points[k].coll == p->coll; k++)
            sizes[k] = s->points[k].bytes;
        workload_profile_calls(d->workload, p->coll, &(struct bench_shape){p->nodes, p->ranks}, sizes + i, k - i,
                               weights + i);
    }
    for (int i = 0; i < s->count; i++) {
        const struct bench_point *p = &s->points[i];
        const struct bench_candidate *c = p->untouched < 0 ? NULL : &p->candidates[p->untouched];
        weights[i] *= c && decide_timed(c) ? c->time_us.median : 0;
        s->worth += weights[i];
    }
    s->weights = s->worth > 0 ? weights : NULL;
}

int env_decide(struct env_decisions *d, const struct bench_points *points, struct err *e)
{
    int rc = check_points(points, e);
    if (points->confidence > 0)
        d->confidence = points->confidence;
    d->spread = bench_noise_of(points).spread;
    if (rc)
        return rc;
    struct decide_slice *slices = arena_alloc(d->arena, ((size_t)points->count + 1) * sizeof *slices);
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (i && bench_points_alike(p, p - 1)) {
            slices[d->nshapes - 1].count++;
            if (p->active && !d->shapes[d->nshapes - 1].active)
                d->shapes[d->nshapes - 1].active = arena_strdup(d->arena, p->active);
            continue;
        }
        slices[d->nshapes] = (struct decide_slice){p, 1};
        ARENA_ADD(d->arena, d->shapes, d->nshapes) = (struct env_shape){
            .engine = arena_strdup(d->arena, p->engine),
            .library = arena_strdup(d->arena, p->library),
            .active = arena_strdup(d->arena, p->active),
            .nodes = p->nodes,
            .ranks = p->ranks,
            .others = p->others,
            .buffers = p->buffers,
        };
    }
    double worth = 0;
    for (int i = 0; i < d->nshapes; i++) {
        weigh_points(d, &slices[i]);
        worth += slices[i].worth;
    }
    for (int i = 0; i < d->nshapes && !(worth > 0); i++)
        slices[i].worth = slices[i].count;
    decide_launches(d, slices);
    for (int i = 0, k; i < d->nshapes; i = k) {
        for (k = i + 1; k < d->nshapes && env_shapes_alike(&d->shapes[k], &d->shapes[i]);)
            k++;
        decide_calls(d, &d->shapes[i], &slices[i], k - i);
    }
    for (int i = 0; i < d->nshapes; i++)
        sum_up(d, &d->shapes[i]);
    return 0;
}
