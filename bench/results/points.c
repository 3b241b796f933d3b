/* From journal lines to points: sort, group, pool the samples, compare with the default. */
#include "bench/results/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/shape.h"
#include "core/stats.h"

/* ---- order ---- */

static int compare_knobs(const struct bench_knobs *a, const struct bench_knobs *b)
{
    int c = strcmp(a->label, b->label);
    if (!c)
        c = a->nsettings - b->nsettings;
    for (int i = 0; !c && i < a->nsettings; i++) {
        c = strcmp(a->settings[i].name, b->settings[i].name);
        if (!c)
            c = strcmp(a->settings[i].value, b->settings[i].value);
    }
    return c;
}

int bench_results_compare(const struct bench_result *a, const struct bench_result *b)
{
    const int x[] = {a->nodes, a->ranks, a->buffers, a->others, a->coll};
    const int y[] = {b->nodes, b->ranks, b->buffers, b->others, b->coll};
    int c = strcmp(a->engine, b->engine);
    for (size_t i = 0; i < sizeof x / sizeof *x && !c; i++)
        c = (x[i] > y[i]) - (x[i] < y[i]);
    if (!c)
        c = (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return c ? c : strcmp(a->library, b->library);
}

static int same_candidate(const struct bench_result *a, const struct bench_result *b)
{
    return !compare_knobs(&a->launch, &b->launch) && !compare_knobs(&a->call, &b->call);
}

static int is_untouched(const struct bench_result *r)
{
    return !strcmp(r->launch.label, BENCH_DEFAULT) && !strcmp(r->call.label, BENCH_DEFAULT) && !r->launch.nsettings &&
           !r->call.nsettings;
}

static int is_default(const struct bench_knobs *k)
{
    return !strcmp(k->label, BENCH_DEFAULT);
}

/* The baseline stands first within its point, then other calls of that launch, then the rest by name: of two
 * that are equally fast the one that asks for less comes first. Equal ones as they were written. */
static int by_order(const void *pa, const void *pb)
{
    const struct bench_result *a = *(const struct bench_result *const *)pa;
    const struct bench_result *b = *(const struct bench_result *const *)pb;
    int c = bench_results_compare(a, b);
    if (!c)
        c = is_untouched(b) - is_untouched(a);
    if (!c)
        c = is_default(&b->launch) - is_default(&a->launch);
    if (!c)
        c = compare_knobs(&a->launch, &b->launch);
    if (!c)
        c = compare_knobs(&a->call, &b->call);
    return c ? c : (a > b) - (a < b);
}

/* ---- grouping ---- */

struct pooling {
    struct arena *work;
    double *pool, *scratch; /* room for all samples of a point */
};

/* What one start says of a call: the logarithm of the median quotient of the default's times over its own. */
struct start {
    double log;
    int lost; /* the start by itself says that the call is slower */
};

/* Pairs of a start that had no part in choosing; there all samples are pairs. What a coarse clock cuts off is right in
 * the mean only. */
static int start_of_pairs(const struct bench_result *r, double *pool, double *scratch, struct start *s)
{
    double own = 0, beside = 0;
    for (int i = 0; i < r->nbeside; i++) {
        pool[i] = log(r->beside_us[i] / r->times_us[i]);
        own += r->times_us[i];
        beside += r->beside_us[i];
    }
    struct bench_interval v = bench_interval_of(pool, r->nbeside, scratch);
    *s = (struct start){v.median, v.n > BENCH_FEWEST && v.high < log(1 - BENCH_MARGIN)};
    if (bench_count_equal(r->times_us, r->nbeside, scratch) + bench_count_equal(r->beside_us, r->nbeside, scratch) >=
        r->nbeside / 2)
        s->log = log(beside / own);
    return isfinite(s->log);
}

/* The results of a launch's default call, by round: of several in a round the first. */
struct rounds {
    int n;
    struct default_time {
        int round, place;
        double median;
    } * times;
};

static int by_round(const void *pa, const void *pb)
{
    const struct default_time *a = pa, *b = pb;
    return a->round != b->round ? (a->round > b->round) - (a->round < b->round)
                                : (a->place > b->place) - (a->place < b->place);
}

/* Of the `n` results of a launch. */
static struct rounds sort_rounds(const struct bench_result *const *r, int n, const struct pooling *p)
{
    struct rounds d = {.times = arena_alloc(p->work, (size_t)n * sizeof *d.times)};
    for (int i = 0; i < n; i++)
        if (is_default(&r[i]->call) && r[i]->ntimes)
            d.times[d.n++] = (struct default_time){r[i]->round, i, bench_result_us(r[i])};
    if (d.n)
        qsort(d.times, (size_t)d.n, sizeof *d.times, by_round);
    return d;
}

/* A start of its own, as a file of another program is: beside that of the default of the same number. */
static int start_of_rounds(const struct bench_result *r, const struct rounds *d, struct start *s)
{
    if (!r->ntimes)
        return 0;
    int low = 0;
    for (int high = d->n; low < high;) {
        int middle = low + (high - low) / 2;
        if (d->times[middle].round < r->round)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == d->n || d->times[low].round != r->round)
        return 0;
    *s = (struct start){log(d->times[low].median / bench_result_us(r)), 0};
    return isfinite(s->log);
}

/* By what was explored: the geometric mean over those starts. */
static double promise_of(const struct bench_result *const *r, int n)
{
    double sum = 0;
    int starts = 0;
    for (int i = 0; i < n; i++)
        if (r[i]->over_default > 0 && r[i]->status <= BENCH_DROPPED) {
            sum -= log(r[i]->over_default);
            starts++;
        }
    return starts ? exp(sum / starts) : 0;
}

/* What the `n` results of a call say, start by start. */
static void list_starts(struct bench_candidate *c, const struct bench_result *const *r, int n,
                        const struct rounds *defaults, struct arena *a, const struct pooling *p)
{
    double *logs = arena_alloc(a, (size_t)n * sizeof *logs);
    c->starts.logs = logs;
    for (int i = 0, round = -1; i < n; i++) {
        int paired = r[i]->nbeside && r[i]->nbeside == r[i]->ntimes;
        struct start s;
        /* What was measured while calls were chosen, or a run of another program has said already, counts for nothing.
         */
        int skip = !paired && (r[i]->over_default > 0 || r[i]->nbeside || r[i]->round == round);
        if (r[i]->status > BENCH_DROPPED || r[i]->low_us > 0 || skip ||
            !(paired ? start_of_pairs(r[i], p->pool, p->scratch, &s) : start_of_rounds(r[i], defaults, &s)))
            continue;
        logs[c->starts.n++] = s.log;
        round = r[i]->round;
        c->proof.lost += s.lost;
    }
}

/* Pools the `n` results of one candidate. */
static struct bench_candidate pool_candidate(const struct bench_result *const *r, int n, const struct pooling *p)
{
    struct bench_candidate c = {
        .launch = r[0]->launch, .call = r[0]->call, .status = BENCH_OK, .results = r, .nresults = n};
    int samples = 0, deaths = 0;
    enum bench_status alive = BENCH_OK; /* the worst that is no death */
    for (int i = 0; i < n; i++) {
        int died = r[i]->status == BENCH_CRASHED || r[i]->status == BENCH_HUNG;
        deaths += died;
        if (!died && r[i]->status > alive)
            alive = r[i]->status;
        if (r[i]->status >= c.status && r[i]->detail)
            c.detail = r[i]->detail;
        if (r[i]->status > c.status)
            c.status = r[i]->status;
        if (r[i]->ntimes && r[i]->status <= BENCH_DROPPED) {
            memcpy(p->pool + samples, r[i]->times_us, (size_t)r[i]->ntimes * sizeof *p->pool);
            samples += r[i]->ntimes;
        }
    }
    const struct bench_result *last = r[n - 1];
    if (last->low_us > 0)
        c.time_us = (struct bench_interval){last->times_us[0], last->low_us, last->high_us, 1, 1, last->doubt};
    else
        c.time_us = bench_interval_of(p->pool, samples, p->scratch);
    c.promise = promise_of(r, n);
    /* One death, after which all went well, was somebody else's doing. There is nothing to fall back on behind the
     * default: deaths do not rule it out. */
    int well_later = last->ntimes && last->status <= BENCH_DROPPED;
    if (deaths && samples && (is_untouched(r[0]) || (deaths == 1 && well_later)))
        c.status = alive;
    return c;
}

static void compare_candidates(struct bench_point *p, const struct bench_points *all)
{
    const struct bench_interval *from = p->untouched >= 0 ? &p->candidates[p->untouched].time_us : NULL;
    int rivals = 0;
    for (int i = 0; i < p->ncandidates; i++) {
        struct bench_candidate *c = &p->candidates[i];
        if (!i ||
            compare_knobs(&c->launch, &p->candidates[i - 1].launch)) { /* of a launch, which were proven together */
            rivals = 0;
            for (int k = i; k < p->ncandidates && !compare_knobs(&p->candidates[k].launch, &c->launch); k++)
                rivals += p->candidates[k].starts.n > 0;
        }
        if (c->starts.n) {
            int lost = c->proof.lost;
            c->proof = bench_gain_over_starts(c->starts.logs, c->starts.n, all->alike, all->confidence, rivals);
            c->proof.lost = lost;
        }
        if (from)
            c->gain = c->proof.n && is_default(&c->launch) ? c->proof : bench_gain(*from, c->time_us);
        if (c->status == BENCH_OK && c->time_us.n &&
            (p->best < 0 || c->time_us.median < p->candidates[p->best].time_us.median))
            p->best = i;
    }
}

static struct bench_point make_point(const struct bench_result *const *r, int n, const struct pooling *how,
                                     struct arena *a)
{
    struct bench_point p = {.engine = r[0]->engine,
                            .library = r[0]->library,
                            .buffers = r[0]->buffers,
                            .coll = r[0]->coll,
                            .bytes = r[0]->bytes,
                            .nodes = r[0]->nodes,
                            .ranks = r[0]->ranks,
                            .others = r[0]->others,
                            .untouched = -1,
                            .best = -1};
    struct rounds defaults = {0};
    int launch_end = 0, ncandidates = 1;
    for (int i = 1; i < n; i++)
        ncandidates += !same_candidate(r[i - 1], r[i]);
    p.candidates = arena_alloc(a, (size_t)ncandidates * sizeof *p.candidates);
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && same_candidate(r[i], r[j]);)
            j++;
        p.candidates[p.ncandidates] = pool_candidate(r + i, j - i, how);
        if (i >= launch_end) {
            for (launch_end = j; launch_end < n && !compare_knobs(&r[i]->launch, &r[launch_end]->launch);)
                launch_end++;
            defaults = sort_rounds(r + i, launch_end - i, how);
        }
        if (!is_default(&r[i]->call))
            list_starts(&p.candidates[p.ncandidates], r + i, j - i, &defaults, a, how);
        if (is_untouched(r[i]) && p.candidates[p.ncandidates].time_us.n) {
            p.untouched = p.ncandidates;
            p.active = r[j - 1]->active;
            for (int k = i; k < j && p.active; k++)
                if (r[k]->active && strcmp(r[k]->active, p.active) != 0)
                    p.mixed = r[k]->active;
        }
        p.ncandidates++;
    }
    return p;
}

/* What lasts longer than a start is found in all calls together. */
static double find_alike(const struct bench_points *points, struct arena *work)
{
    struct bench_starts *calls = NULL;
    int n = 0;
    for (int i = 0; i < points->count; i++)
        for (int k = 0; k < points->items[i].ncandidates; k++)
            if (points->items[i].candidates[k].starts.n)
                ARENA_ADD(work, calls, n) = points->items[i].candidates[k].starts;
    return bench_starts_alike(calls, n);
}

struct bench_points *bench_points_of(const struct bench_results *r, struct arena *a)
{
    struct bench_points *points = ARENA_NEW(a, struct bench_points);
    struct arena *work = arena_new();
    struct pooling how = {.work = work};
    size_t samples = 0, most = 0, npoints = 0;
    points->confidence = r->confidence > 0 ? r->confidence : BENCH_CONFIDENCE;
    const struct bench_result **order = arena_alloc(a, (size_t)r->count * sizeof(struct bench_result *));
    for (int i = 0; i < r->count; i++)
        order[i] = &r->items[i];
    if (r->count)
        qsort(order, (size_t)r->count, sizeof(struct bench_result *), by_order);
    for (int i = 0; i < r->count; i++) {
        const int more = i && !bench_results_compare(order[i - 1], order[i]);
        npoints += !more;
        samples = (more ? samples : 0) + (size_t)order[i]->ntimes;
        most = samples > most ? samples : most;
    }
    points->items = arena_alloc(a, npoints * sizeof *points->items);
    how.pool = arena_alloc(work, most * sizeof *how.pool);
    how.scratch = arena_alloc(work, most * sizeof *how.scratch);
    for (int i = 0, j; i < r->count; i = j) {
        for (j = i + 1; j < r->count && !bench_results_compare(order[i], order[j]);)
            j++;
        points->items[points->count++] = make_point(order + i, j - i, &how, a);
    }
    points->alike = find_alike(points, work);
    for (int i = 0; i < points->count; i++)
        compare_candidates(&points->items[i], points);
    arena_free(work);
    return points;
}

const struct bench_points *bench_points_so_far(struct bench_results *r)
{
    if (!r->points || r->npooled != r->count) {
        arena_free(r->points_arena);
        r->points_arena = arena_new();
        r->points = bench_points_of(r, r->points_arena);
        r->npooled = r->count;
    }
    return r->points;
}

int bench_points_alike(const struct bench_point *x, const struct bench_point *y)
{
    return !strcmp(x->engine, y->engine) && x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others &&
           x->buffers == y->buffers;
}

const struct bench_candidate *bench_point_default(const struct bench_point *p, const char *launch)
{
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        if (c->status <= BENCH_DROPPED && c->time_us.n && is_default(&c->call) && !strcmp(c->launch.label, launch))
            return c;
    }
    return NULL;
}

struct bench_interval bench_launch_gain(const struct bench_point *points, int n, const double *weights,
                                        const char *from, const char *to, double confidence, int rivals)
{
    struct arena *a = arena_new();
    const struct bench_candidate **x = arena_alloc(a, 2 * (size_t)n * sizeof(struct bench_candidate *)), **y = x + n;
    for (int i = 0; i < n; i++) {
        x[i] = bench_point_default(&points[i], from);
        y[i] = bench_point_default(&points[i], to);
    }
    struct bench_interval gain = bench_sessions_gain(x, y, weights, n, confidence, rivals);
    arena_free(a);
    return gain;
}

int bench_point_loses(const struct bench_point *p, const char *launch, int points, double margin, double confidence,
                      struct bench_interval *loss)
{
    const struct bench_candidate *from = bench_point_default(p, BENCH_DEFAULT);
    for (const struct bench_candidate *c = p->candidates; from && c < p->candidates + p->ncandidates; c++)
        if (c->status == BENCH_OK && c->time_us.n && c->time_us.median < from->time_us.median &&
            !strcmp(c->launch.label, launch))
            return 0;
    *loss = bench_launch_gain(p, 1, NULL, BENCH_DEFAULT, launch, confidence, points);
    return loss->n >= BENCH_FEWEST && loss->high < 1 / (1 + margin);
}
