/* Questions to the results. Of one call under one launch only those with the same hash are looked at, the latest first.
 */
#include "bench/results/known.h"

#include <math.h>
#include <string.h>

/* A search asks for some thousand calls. */
#define CHAINS 512

struct known_index {
    int first[CHAINS]; /* number of a result, counted from 1 */
    int *next, count;  /* of each result that was added */
};

struct known_place known_place_of(const struct bench_result *x)
{
    return (struct known_place){.coll = x->coll,
                                .bytes = x->bytes,
                                .nodes = x->nodes,
                                .ranks = x->ranks,
                                .launch = x->launch.label,
                                .engine = x->engine,
                                .others = x->others,
                                .buffers = x->buffers};
}

int known_same(const struct known_place *x, const struct known_place *at)
{
    return x->coll == at->coll && x->nodes == at->nodes && x->ranks == at->ranks && x->others == at->others &&
           x->buffers == at->buffers && (!at->engine || !strcmp(x->engine, at->engine));
}

int known_is_of(const struct bench_result *x, const struct known_place *at)
{
    struct known_place own = known_place_of(x);
    return known_same(&own, at);
}

/* ---- walking ---- */

static int *chain_of(struct known_index *x, int coll, const char *launch, const char *call)
{
    uint64_t hash = hash_add(hash_add(hash_text(call), hash_text(launch)), (uint64_t)coll);
    return &x->first[(hash ^ hash >> 32) % CHAINS];
}

void known_add(struct bench_results *r)
{
    r->index = r->index ? r->index : ARENA_NEW(r->arena, struct known_index);
    for (int *n = &r->index->count; *n < r->count; ++*n) {
        const struct bench_result *x = &r->items[*n];
        int *first = chain_of(r->index, x->coll, x->launch.label, x->call.label);
        r->index->next = arena_grow(r->arena, r->index->next, (size_t)*n, sizeof *r->index->next);
        r->index->next[*n] = *first;
        *first = *n + 1;
    }
}

struct question {
    const struct bench_results *results;
    const struct known_place *at;
    const char *call;
    int any_size, round;
    int is_chain, number; /* of the result that comes next, from 1; 0 none */
};

static struct question ask(const struct bench_results *r, const struct known_place *at, const char *call, int round)
{
    struct question q = {r, at, call, !at->bytes, round, .number = r->count};
    if (call && r->index && at->coll >= 0 && at->launch) {
        q.is_chain = 1;
        q.number = *chain_of(r->index, at->coll, at->launch, call);
    }
    return q;
}

static const struct bench_result *next_answer(struct question *q)
{
    while (q->number) {
        const struct bench_result *x = &q->results->items[q->number - 1];
        const struct known_place *at = q->at;
        q->number = q->is_chain ? q->results->index->next[q->number - 1] : q->number - 1;
        if ((q->any_size || x->bytes == at->bytes) && (q->round < 0 || x->round == q->round) &&
            (!q->call || !strcmp(x->call.label, q->call)) && (!at->launch || !strcmp(x->launch.label, at->launch)) &&
            (at->coll < 0 || known_is_of(x, at)))
            return x;
    }
    return NULL;
}

/* ---- answers ---- */

static int has_time(const struct bench_result *r)
{
    return r->status <= BENCH_DROPPED && r->ntimes;
}

static int is_death(const struct bench_result *r)
{
    return r->status == BENCH_CRASHED || r->status == BENCH_HUNG;
}

/* The median, or what the default usually takes there by as much as it was beside the default: one may have been
 * measured while the machine was busy, and another not. */
static double time_of(const struct bench_results *r, const struct bench_result *x, double median)
{
    const struct known_place at = known_place_of(x);
    int beside = x->over_default > 0 && strcmp(x->call.label, BENCH_DEFAULT) != 0;
    double default_us = beside ? known_of(r, &at, BENCH_DEFAULT, KNOWN_ANY).us : 0;
    return default_us > 0 ? x->over_default * default_us : median;
}

struct known known_of(const struct bench_results *r, const struct known_place *at, const char *call, int round)
{
    struct known k = {.status = BENCH_STATUS_COUNT};
    struct question q = ask(r, at, call, round);
    double sum = 0;
    for (const struct bench_result *x; (x = next_answer(&q));) {
        k.status = k.status == BENCH_STATUS_COUNT || x->status > k.status ? x->status : k.status;
        k.deaths += is_death(x);
        if (!has_time(x))
            continue;
        double median = bench_result_us(x);
        sum += time_of(r, x, median) * x->ntimes;
        k.least_us = k.samples ? fmin(k.least_us, median) : median;
        k.samples += x->ntimes;
    }
    k.us = k.samples ? sum / k.samples : 0;
    return k;
}

/* The latest result of `call` at the nearest size below the place (`side` < 0) or above it (> 0). */
static const struct bench_result *find_neighbour(const struct bench_results *r, const struct known_place *at,
                                                 const char *call, int side)
{
    const struct bench_result *nearest = NULL;
    struct question q = ask(r, at, call, KNOWN_ANY);
    q.any_size = 1;
    for (const struct bench_result *x; (x = next_answer(&q));) {
        int beyond = side < 0 ? x->bytes < at->bytes : x->bytes > at->bytes;
        int nearer = !nearest || (side < 0 ? x->bytes > nearest->bytes : x->bytes < nearest->bytes);
        nearest = beyond && nearer ? x : nearest;
    }
    return nearest;
}

double known_expect_us(const struct bench_results *r, const struct known_place *at, const char *call)
{
    double here = known_of(r, at, call, KNOWN_ANY).us;
    if (here > 0)
        return here;
    const struct bench_result *below = find_neighbour(r, at, call, -1), *above = find_neighbour(r, at, call, 1);
    double from = below && has_time(below) ? time_of(r, below, bench_result_us(below)) : 0;
    double to = above && has_time(above) ? time_of(r, above, bench_result_us(above)) : 0;
    if (from > 0 && to > 0)
        return from + (to - from) * (double)(at->bytes - below->bytes) / (double)(above->bytes - below->bytes);
    return from > 0 ? from * (double)at->bytes / (double)below->bytes : to;
}

int known_hopeless(const struct bench_results *r, const struct known_place *at, const char *call)
{
    struct known_place places[] = {*at, *at};
    int deaths = 0, n = at->launch && strcmp(at->launch, BENCH_DEFAULT) != 0 ? 2 : 1;
    places[1].launch = BENCH_DEFAULT;
    for (int i = 0; i < n; i++) {
        struct question q = ask(r, &places[i], call, KNOWN_ANY);
        q.any_size = 1;
        for (const struct bench_result *x; (x = next_answer(&q));) {
            int died = is_death(x), here = x->bytes == at->bytes && x->status > (i ? BENCH_DROPPED : BENCH_OK);
            if (x->status == BENCH_FAILED || (here && !died))
                return 1;
            deaths += died;
        }
    }
    return deaths > 1;
}

int known_deaths(const struct bench_results *r, const char *launch)
{
    const struct known k = known_of(r, &(struct known_place){.coll = -1, .launch = launch}, NULL, KNOWN_ANY);
    return k.samples ? 0 : k.deaths;
}
