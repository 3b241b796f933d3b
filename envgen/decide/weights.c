/* Candidates of a point; what each point is worth to a workload: the time that one of its steps spends there by
 * default. */
#include "envgen/decide/steps.h"

#include "bench/search/workload_profile.h"
#include "core/coll.h"

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

static double untouched_us(const struct bench_point *p)
{
    return p->untouched >= 0 && decide_timed(&p->candidates[p->untouched]) ? p->candidates[p->untouched].time_us.median
                                                                           : 0;
}

/* The points of one collective stand together, by size. */
static void weigh_coll(const struct workload *w, const struct bench_point *p, int n, double *weights, struct arena *a)
{
    uint64_t *sizes = arena_alloc(a, (size_t)n * sizeof *sizes);
    for (int i = 0; i < n; i++)
        sizes[i] = p[i].bytes;
    workload_profile_calls(w, p->coll, &(struct bench_shape){p->nodes, p->ranks}, sizes, n, weights);
    for (int i = 0; i < n; i++)
        weights[i] *= untouched_us(&p[i]);
}

double *decide_weights(const struct env_decisions *d, struct decide_slice s)
{
    if (!d->workload)
        return NULL;
    double *weights = arena_alloc(d->arena, (size_t)(s.count + 1) * sizeof *weights), sum = 0;
    for (int i = 0, k; i < s.count; i = k) {
        for (k = i + 1; k < s.count && s.points[k].coll == s.points[i].coll;)
            k++;
        weigh_coll(d->workload, s.points + i, k - i, weights + i, d->arena);
    }
    for (int i = 0; i < s.count; i++)
        sum += weights[i];
    return sum > 0 ? weights : NULL;
}
