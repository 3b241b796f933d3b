/* Decisions: grouping of the points by shape, agreement between shapes, evidence lines. The two steps themselves are in
 * launch.c and calls.c. */
#include "envgen/decide/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envgen/decide/decide_internal.h"

/* ---- where a candidate stands in the journals -----------------------------------------------------------------------
 */

struct entry {
    const struct bench_result *result;
    const char *source;
};

struct decide_index {
    struct entry *entries; /* sorted by key, then as read */
    size_t count;
};

static int compare_keys(const struct bench_result *x, const struct bench_result *y)
{
    int c = strcmp(x->engine, y->engine);
    if (!c)
        c = (x->nodes > y->nodes) - (x->nodes < y->nodes);
    if (!c)
        c = (x->ranks > y->ranks) - (x->ranks < y->ranks);
    if (!c)
        c = (x->coll > y->coll) - (x->coll < y->coll);
    if (!c)
        c = (x->bytes > y->bytes) - (x->bytes < y->bytes);
    if (!c)
        c = strcmp(x->launch.label, y->launch.label);
    return c ? c : strcmp(x->call.label, y->call.label);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = compare_keys(x->result, y->result);
    if (!c)
        c = strcmp(x->source, y->source);
    return c ? c : (x->result->line > y->result->line) - (x->result->line < y->result->line);
}

static void index_sources(struct arena *a, struct decide_index *index, const struct env_source *sources, int nsources)
{
    size_t total = 0;
    for (int i = 0; i < nsources; i++)
        total += (size_t)sources[i].results->count;
    index->entries = arena_alloc(a, (total + 1) * sizeof *index->entries);
    index->count = 0;
    for (int i = 0; i < nsources; i++)
        for (int k = 0; k < sources[i].results->count; k++)
            index->entries[index->count++] = (struct entry){&sources[i].results->items[k], sources[i].name};
    qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
}

static size_t first_of(const struct decide_index *index, const struct bench_result *key)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(index->entries[middle].result, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *decide_lines(struct arena *a, const struct decide_index *index, const struct bench_point *p,
                         const struct bench_candidate *c)
{
    struct bench_result key = {
        .engine = p->engine,
        .nodes = p->nodes,
        .ranks = p->ranks,
        .coll = p->coll,
        .bytes = p->bytes,
        .launch = c->launch,
        .call = c->call,
    };
    const char *text = "", *source = NULL;
    for (size_t i = first_of(index, &key); i < index->count; i++) {
        const struct entry *en = &index->entries[i];
        if (compare_keys(en->result, &key) != 0)
            break;
        if (source && !strcmp(source, en->source))
            text = arena_printf(a, "%s,%ld", text, en->result->line);
        else
            text = arena_printf(a, "%s%s%s:%ld", text, source ? " " : "", en->source, en->result->line);
        source = en->source;
    }
    return text;
}

/* ---- gains ----------------------------------------------------------------------------------------------------------
 */

int decide_clears(struct bench_interval gain, double margin)
{
    return gain.n > 0 && gain.low >= 1 + margin;
}

int decide_timed(const struct bench_candidate *c)
{
    return (c->status == BENCH_OK || c->status == BENCH_DROPPED) && c->time_us.n > 0 && c->time_us.low > 0;
}

struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k)
{
    struct bench_setting *copy = arena_alloc(a, (size_t)(k->nsettings + 1) * sizeof *copy);
    for (int i = 0; i < k->nsettings; i++)
        copy[i] = (struct bench_setting){arena_strdup(a, k->settings[i].name), arena_strdup(a, k->settings[i].value)};
    return (struct bench_knobs){arena_strdup(a, k->label), copy, k->nsettings};
}

struct bench_interval env_weighted_gain(const struct bench_interval *gains, const double *weights, int n)
{
    double middle = 0, below[2] = {0}, above[2] = {0}; /* of measurements, and of predictions */
    double sum = 0;
    int predicted = 0;
    for (int i = 0; i < n; i++) {
        double weight = weights ? weights[i] : 1;
        double down = weight * log(gains[i].median / gains[i].low), up = weight * log(gains[i].high / gains[i].median);
        middle += weight * log(gains[i].median);
        sum += weight;
        below[0] += down * down;
        above[0] += up * up;
        below[1] += down;
        above[1] += up;
        predicted |= gains[i].predicted;
    }
    if (!(sum > 0))
        return (struct bench_interval){0};
    double low = predicted ? below[1] : sqrt(below[0]), high = predicted ? above[1] : sqrt(above[0]);
    return (struct bench_interval){exp(middle / sum), exp((middle - low) / sum), exp((middle + high) / sum), n,
                                   predicted};
}

struct bench_interval env_mean_gain(const struct bench_interval *gains, int n)
{
    return env_weighted_gain(gains, NULL, n);
}

const char *env_gain_text(struct arena *a, struct bench_interval gain)
{
    return arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------
 */

static int same_shape(const struct bench_point *x, const struct bench_point *y)
{
    return !strcmp(x->engine, y->engine) && x->nodes == y->nodes && x->ranks == y->ranks;
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

struct env_decisions *env_decisions_new(double margin)
{
    struct arena *a = arena_new();
    struct env_decisions *d = ARENA_NEW(a, struct env_decisions);
    d->arena = a;
    d->margin = margin;
    d->tool = NCCLTUNE_VERSION;
    d->topology = "";
    return d;
}

void env_decisions_free(struct env_decisions *d)
{
    if (d)
        arena_free(d->arena);
}

int env_decide(struct env_decisions *d, const struct bench_points *points, const struct env_source *sources,
               int nsources, struct err *e)
{
    int rc = check_libraries(points, e);
    if (!rc)
        rc = check_defaults(points, e);
    if (rc)
        return rc;
    struct decide_index index;
    index_sources(d->arena, &index, sources, nsources);

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
            .nodes = p->nodes,
            .ranks = p->ranks,
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
        decide_calls(d, &d->shapes[i], slices[i], &index);
        sum_up(d, &d->shapes[i]);
    }
    return 0;
}
