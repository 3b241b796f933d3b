/* Decisions: grouping of the points by shape. The steps themselves are in launch.c and calls.c. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "envgen/decide/steps.h"

/* ---- shapes ---- */

/* A profile is for one library, and for one default: under one tuner and under another it is not the same (`active`
 * NULL is not known, "" nobody's). */
static int check(const struct bench_points *points, struct err *e)
{
    const struct bench_point *before = NULL; /* whose `active` is known */
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (i && !strcmp(p->engine, p[-1].engine) && strcmp(p->library, p[-1].library) != 0)
            return err_set(e, ERR_FAILED,
                           "the results of engine %s come from two libraries, '%s' and '%s': a profile is for one",
                           p->engine, p[-1].library, p->library);
    }
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
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
    for (int i = 0; i < points->count; i++)
        for (int c = 0; c < points->items[i].ncandidates; c++) {
            const struct bench_candidate *x = &points->items[i].candidates[c];
            if ((!strcmp(x->launch.label, BENCH_DEFAULT) && x->launch.nsettings) ||
                (!strcmp(x->call.label, BENCH_DEFAULT) && x->call.nsettings))
                return err_set(e, ERR_FAILED, "a result is labelled '%s' and has settings: expected the baseline",
                               BENCH_DEFAULT);
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

int env_decide(struct env_decisions *d, const struct bench_points *points, struct err *e)
{
    int rc = check(points, e);
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
        d->shapes = arena_grow(d->arena, d->shapes, (size_t)d->nshapes, sizeof *d->shapes);
        slices[d->nshapes] = (struct decide_slice){p, 1};
        d->shapes[d->nshapes++] = (struct env_shape){
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
        decide_weigh(d, &slices[i]);
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
