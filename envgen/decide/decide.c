/* Decisions: grouping of the points by shape, agreement between shapes. The two steps themselves are in
 * launch.c and calls.c. */
#include "envgen/decide/decide.h"

#include <string.h>

#include "envgen/decide/calls.h"
#include "envgen/decide/gain.h"
#include "envgen/decide/launch.h"

/* ---- shapes ---------------------------------------------------------------------------------------------------------
 */

static int same_shape(const struct bench_point *x, const struct bench_point *y)
{
    return !strcmp(x->engine, y->engine) && x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others &&
           !strcmp(x->buffers ? x->buffers : "", y->buffers ? y->buffers : "");
}

static int check_libraries(const struct bench_points *points, struct err *e)
{
    for (int i = 1; i < points->count; i++) {
        const struct bench_point *x = &points->items[i - 1], *y = &points->items[i];
        if (!strcmp(x->engine, y->engine) && strcmp(x->library, y->library) != 0)
            return err_set(e, ERR_FAILED,
                           "the results of engine %s come from two libraries, '%s' and '%s': one profile holds for one",
                           x->engine, x->library, y->library);
    }
    return 0;
}

static int check_defaults(const struct bench_points *points, struct err *e)
{
    for (int i = 0; i < points->count; i++)
        for (int c = 0; c < points->items[i].ncandidates; c++) {
            const struct bench_candidate *x = &points->items[i].candidates[c];
            if ((!strcmp(x->launch.label, BENCH_DEFAULT) && x->launch.nsettings) ||
                (!strcmp(x->call.label, BENCH_DEFAULT) && x->call.nsettings))
                return err_set(e, ERR_FAILED,
                               "a result is labelled '%s' and has settings: expected the untouched library",
                               BENCH_DEFAULT);
        }
    return 0;
}

/* A shape with a choice of launches; on one node the network is not used, and there is only the untouched launch. */
static int had_choice(const struct env_shape *s)
{
    return s->chosen >= 0 && s->nlaunches > 1;
}

/* Launch settings are common to all jobs: when shapes of one engine disagree, all stay with the untouched launch. */
static void agree(struct env_decisions *d, struct env_shape *first, struct env_shape *end)
{
    const struct env_shape *other = NULL, *voter = NULL;
    for (struct env_shape *s = first; s < end; s++) {
        if (!had_choice(s))
            continue;
        if (!voter)
            voter = s;
        else if (strcmp(voter->launches[voter->chosen].knobs.label, s->launches[s->chosen].knobs.label) != 0)
            other = s;
    }
    if (!other)
        return;
    const char *why = arena_printf(
        d->arena,
        "jobs of %d nodes and %d ranks would choose launch '%s', jobs of %d nodes and %d ranks '%s'; a launch "
        "setting is common to all jobs, so it stays with the library",
        voter->nodes, voter->ranks, voter->launches[voter->chosen].knobs.label, other->nodes, other->ranks,
        other->launches[other->chosen].knobs.label);
    for (struct env_shape *s = first; s < end; s++)
        if (had_choice(s)) {
            s->chosen = 0;
            s->why = why;
        }
}

/* What the user gets: the geometric mean of all points' gains over the library as it comes. */
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
                gains = arena_grow(d->arena, gains, (size_t)n, sizeof *gains);
                gains[n++] = g;
            }
    s->total_gain = env_mean_gain(gains, n);
}

int env_decide(struct env_decisions *d, const struct bench_points *points, const struct env_source *sources,
               int nsources, struct err *e)
{
    int rc = check_libraries(points, e);
    if (!rc)
        rc = check_defaults(points, e);
    if (rc)
        return rc;
    struct decide_index *index = decide_index_new(d->arena, sources, nsources);
    struct decide_slice *slices = arena_alloc(d->arena, ((size_t)points->count + 1) * sizeof *slices);
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (i && same_shape(p, p - 1)) {
            slices[d->nshapes - 1].count++;
            continue;
        }
        d->shapes = arena_grow(d->arena, d->shapes, (size_t)d->nshapes, sizeof *d->shapes);
        slices[d->nshapes] = (struct decide_slice){p, 1};
        d->shapes[d->nshapes++] = (struct env_shape){
            .engine = arena_strdup(d->arena, p->engine),
            .library = arena_strdup(d->arena, p->library),
            .buffers = arena_strdup(d->arena, p->buffers),
            .nodes = p->nodes,
            .ranks = p->ranks,
            .others = p->others,
        };
    }
    for (int i = 0; i < d->nshapes; i++)
        decide_launch(d, &d->shapes[i], slices[i]);
    for (int i = 0, k; i < d->nshapes; i = k) {
        for (k = i + 1; k < d->nshapes && !strcmp(d->shapes[k].engine, d->shapes[i].engine);)
            k++;
        agree(d, &d->shapes[i], &d->shapes[k]);
    }
    for (int i = 0; i < d->nshapes; i++) {
        decide_calls(d, &d->shapes[i], slices[i], index);
        sum_up(d, &d->shapes[i]);
    }
    return 0;
}
