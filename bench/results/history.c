/* Questions to the results: of one call under one launch, which the index finds, or else by a walk over all. */
#include "bench/results/history.h"

#include <stdlib.h>
#include <string.h>

struct history_place history_place_of(const struct bench_result *x)
{
    return (struct history_place){.coll = x->coll,
                                  .bytes = x->bytes,
                                  .nodes = x->nodes,
                                  .ranks = x->ranks,
                                  .launch = x->launch.label,
                                  .engine = x->engine,
                                  .others = x->others,
                                  .buffers = x->buffers};
}

void history_set_place(struct bench_result *x, const struct history_place *at)
{
    x->coll = at->coll;
    x->bytes = at->bytes;
    x->nodes = at->nodes;
    x->ranks = at->ranks;
    x->others = at->others;
    x->buffers = at->buffers;
}

int history_is_of(const struct bench_result *r, const struct history_place *at)
{
    return r->coll == at->coll && r->nodes == at->nodes && r->ranks == at->ranks && r->others == at->others &&
           r->buffers == at->buffers && (!at->engine || !strcmp(r->engine, at->engine));
}

static int same_launch(const struct bench_result *r, const struct history_place *at)
{
    return history_is_of(r, at) && !strcmp(r->launch.label, at->launch);
}

static int is_call(const struct bench_result *r, const struct history_place *at, const char *call)
{
    /* What differs most often is asked first. */
    return r->coll == at->coll && !strcmp(r->call.label, call) && same_launch(r, at);
}

/* The same at this very size, which tells most others apart at once. */
static int is_call_here(const struct bench_result *r, const struct history_place *at, const char *call)
{
    return r->bytes == at->bytes && is_call(r, at, call);
}

/* The first result that may be of `call` under the place's launch, at any size or `here`; and the next. -1 none. */
static int first_of(const struct bench_results *r, const struct history_place *at, const char *call, int here)
{
    struct bench_result like = {.launch.label = at->launch, .call.label = call};
    history_set_place(&like, at);
    return r->index ? bench_index_first(r->index, &like, here) : r->count ? 0 : -1;
}

static int next_of(const struct bench_results *r, int i, int here)
{
    return r->index ? bench_index_next(r->index, i, here) : i + 1 < r->count ? i + 1 : -1;
}

static int has_time(const struct bench_result *r)
{
    return (r->status == BENCH_OK || r->status == BENCH_DROPPED) && r->ntimes;
}

struct bench_interval history_interval(const struct bench_result *r)
{
    struct bench_interval v = {0};
    double *scratch = malloc((size_t)r->ntimes * sizeof *scratch);
    if (scratch)
        v = bench_interval_of(r->times_us, r->ntimes, scratch);
    free(scratch);
    return v;
}

int history_done(const struct bench_results *r, const struct history_place *at, const char *call, int round)
{
    for (int i = first_of(r, at, call, 1); i >= 0; i = next_of(r, i, 1))
        if (r->items[i].round == round && is_call_here(&r->items[i], at, call) && has_time(&r->items[i]))
            return 1;
    return 0;
}

enum bench_status history_status(const struct bench_results *r, const struct history_place *at, const char *call)
{
    enum bench_status worst = BENCH_STATUS_COUNT;
    for (int i = first_of(r, at, call, 1); i >= 0; i = next_of(r, i, 1)) {
        const struct bench_result *x = &r->items[i];
        if (is_call_here(x, at, call) && (worst == BENCH_STATUS_COUNT || x->status > worst))
            worst = x->status;
    }
    return worst;
}

/* The median, or what the default usually takes there by as much as it was beside the default: one may have been
 * measured while the machine was busy, and another not. */
static double time_of(const struct bench_results *r, const struct bench_result *x)
{
    const struct history_place at = history_place_of(x);
    int beside = x->over_default > 0 && strcmp(x->call.label, BENCH_DEFAULT) != 0;
    double default_us = beside ? history_time_us(r, &at, BENCH_DEFAULT) : 0;
    return default_us > 0 ? x->over_default * default_us : history_interval(x).median;
}

double history_time_us(const struct bench_results *r, const struct history_place *at, const char *call)
{
    double sum = 0;
    int n = 0;
    for (int i = first_of(r, at, call, 1); i >= 0; i = next_of(r, i, 1)) {
        const struct bench_result *x = &r->items[i];
        if (!is_call_here(x, at, call) || !has_time(x))
            continue;
        sum += time_of(r, x) * x->ntimes;
        n += x->ntimes;
    }
    return n ? sum / n : 0;
}

double history_undisturbed_us(const struct bench_results *r, const struct history_place *at, const char *call,
                              int round)
{
    double least = 0;
    for (int i = first_of(r, at, call, 1); i >= 0; i = next_of(r, i, 1)) {
        const struct bench_result *x = &r->items[i];
        if (x->round != round || !is_call_here(x, at, call) || !has_time(x))
            continue;
        double us = history_interval(x).median;
        least = least > 0 && least < us ? least : us;
    }
    return least;
}

/* The nearest measured size of `call` not at this place itself: below it (`side` < 0) or above (> 0). */
static const struct bench_result *neighbour(const struct bench_results *r, const struct history_place *at,
                                            const char *call, int side)
{
    const struct bench_result *nearest = NULL;
    for (int i = first_of(r, at, call, 0); i >= 0; i = next_of(r, i, 0)) {
        const struct bench_result *x = &r->items[i];
        int beyond = side < 0 ? x->bytes < at->bytes : x->bytes > at->bytes;
        int farther = nearest && (side < 0 ? x->bytes < nearest->bytes : x->bytes > nearest->bytes);
        if (beyond && !farther && is_call(x, at, call))
            nearest = x;
    }
    return nearest;
}

double history_expect_us(const struct bench_results *r, const struct history_place *at, const char *call)
{
    double here = history_time_us(r, at, call);
    if (here > 0)
        return here;
    const struct bench_result *below = neighbour(r, at, call, -1), *above = neighbour(r, at, call, 1);
    if (below && has_time(below) && above && has_time(above)) {
        double from = time_of(r, below), way = (double)(at->bytes - below->bytes);
        return from + (time_of(r, above) - from) * way / (double)(above->bytes - below->bytes);
    }
    if (below && has_time(below))
        return time_of(r, below) * (double)at->bytes / (double)below->bytes;
    return above && has_time(above) ? time_of(r, above) : 0;
}

static int is_death(const struct bench_result *r)
{
    return r->status == BENCH_CRASHED || r->status == BENCH_HUNG;
}

int history_hopeless(const struct bench_results *r, const struct history_place *at, const char *call)
{
    int deaths = 0;
    for (int i = first_of(r, at, call, 0); i >= 0; i = next_of(r, i, 0)) {
        const struct bench_result *x = &r->items[i];
        if (!is_call(x, at, call))
            continue;
        int here = x->bytes == at->bytes, died = is_death(x);
        if (x->status == BENCH_FAILED || (here && x->status != BENCH_OK && !died))
            return 1;
        deaths += died;
    }
    return deaths > 1;
}

struct bench_interval history_best(const struct bench_results *r, const struct history_place *at, const char *call,
                                   int others)
{
    struct bench_interval best = {0};
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        const struct bench_result *x = &r->items[i];
        if (x->bytes != at->bytes || strcmp(x->call.label, call) != 0 || !history_is_of(x, at) ||
            x->status != BENCH_OK || (strcmp(x->launch.label, at->launch) != 0) != others)
            continue;
        struct bench_interval v = history_interval(x);
        if (v.n && (!n || v.median < best.median))
            best = v;
        n += v.n;
    }
    best.n = n;
    return best;
}

int history_deaths(const struct bench_results *r, const char *launch)
{
    int deaths = 0;
    for (int i = 0; i < r->count; i++) {
        const struct bench_result *x = &r->items[i];
        if (strcmp(x->launch.label, launch) != 0)
            continue;
        if (x->status == BENCH_OK)
            return 0;
        deaths += is_death(x);
    }
    return deaths;
}

int history_dead(const struct bench_results *r, const char *launch)
{
    return history_deaths(r, launch) > 1;
}
