/* From a workload's calls to points that can be measured. */
#include "bench/search/workload_profile.h"

#include <math.h>
#include <stdlib.h>

/* Sizes closer than this are one; where that leaves too many, the factor grows by its own square. */
#define SAME_SIZE 1.1

/* The next call after `at` in the order of the file; NULL at the end. */
struct position {
    int phase, call;
};

static const struct workload_call *next_call(const struct workload *w, struct position *at)
{
    while (at->phase < w->nphases && at->call >= w->phases[at->phase].ncalls)
        *at = (struct position){at->phase + 1, 0};
    return at->phase < w->nphases ? &w->phases[at->phase].calls[at->call++] : NULL;
}

static int is_measured(const struct workload_call *c)
{
    return c->kind >= 0 && c->kind < COLL_MEASURED;
}

unsigned workload_profile_collectives(const struct workload *w)
{
    struct position at = {0};
    unsigned set = 0;
    for (const struct workload_call *c; (c = next_call(w, &at));)
        if (is_measured(c))
            set |= 1u << c->kind;
    return set;
}

/* ---- sizes ---- */

static int by_bytes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of each run of sizes within `factor` of its first the last one stays: in place, the new count. */
static int thin_out(const uint64_t *from, int n, double factor, uint64_t *to)
{
    int kept = 0;
    for (int i = 0, first = 0; i < n; i++) {
        if (i && (double)from[i] <= factor * (double)from[first]) {
            to[kept - 1] = from[i];
            continue;
        }
        first = i;
        to[kept++] = from[i];
    }
    return kept;
}

uint64_t *workload_profile_sizes(const struct workload *w, unsigned collectives, uint64_t min_bytes, uint64_t max_bytes,
                                 struct arena *a, int *count)
{
    struct position at = {0};
    uint64_t *all = NULL;
    int n = 0;
    for (const struct workload_call *c; (c = next_call(w, &at));) {
        if (!is_measured(c) || !(collectives & 1u << c->kind))
            continue;
        ARENA_ADD(a, all, n) = c->bytes < min_bytes ? min_bytes : c->bytes > max_bytes ? max_bytes : c->bytes;
    }
    *count = 0;
    if (!n)
        return NULL;
    qsort(all, (size_t)n, sizeof *all, by_bytes);
    uint64_t *sizes = arena_alloc(a, (size_t)n * sizeof *sizes);
    double factor = SAME_SIZE;
    while ((*count = thin_out(all, n, factor, sizes)) > WORKLOAD_PROFILE_SIZES)
        factor *= factor;
    return sizes;
}

/* ---- shapes ---- */

struct bench_shape *workload_profile_shapes(const struct workload *w, unsigned collectives, struct arena *a, int *count)
{
    struct position at = {0};
    struct bench_shape *shapes = NULL;
    *count = 0;
    for (const struct workload_call *c; (c = next_call(w, &at));) {
        struct bench_shape shape = {workload_call_nodes(w, c), c->group_size, BENCH_SHAPE_ALL};
        int skip = !is_measured(c) || !(collectives & 1u << c->kind) || shape.ranks % shape.nodes != 0;
        for (int i = 0; i < *count && !skip; i++)
            skip = bench_shape_same(&shapes[i], &shape);
        if (skip)
            continue;
        ARENA_ADD(a, shapes, *count) = shape;
    }
    return shapes;
}

/* ---- calls ---- */

static int is_of_group(const struct workload *w, const struct workload_call *c, int nodes, int ranks)
{
    return is_measured(c) && c->group_size == ranks && workload_call_nodes(w, c) == nodes;
}

int workload_profile_has(const struct workload *w, int nodes, int ranks)
{
    struct position at = {0};
    for (const struct workload_call *c; (c = next_call(w, &at));)
        if (is_of_group(w, c, nodes, ranks))
            return 1;
    return 0;
}

void workload_profile_calls(const struct workload *w, int coll, const struct bench_shape *shape, const uint64_t *sizes,
                            int n, double *calls)
{
    int any = !workload_profile_has(w, shape->nodes, shape->ranks);
    struct position at = {0};
    for (int i = 0; i < n; i++)
        calls[i] = 0;
    for (const struct workload_call *c; n && (c = next_call(w, &at));) {
        if (c->kind != coll || !c->bytes || (!any && !is_of_group(w, c, shape->nodes, shape->ranks)))
            continue;
        int i = 0; /* the nearest size, the larger of two */
        for (int k = 1; k < n; k++)
            if (fabs(log((double)sizes[k] / (double)c->bytes)) <= fabs(log((double)sizes[i] / (double)c->bytes)))
                i = k;
        calls[i] += c->count * (double)c->bytes / (double)sizes[i];
    }
}
