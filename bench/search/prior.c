/* The order in which launches are tried, by prediction. */
#include "bench/search/prior.h"

#include <math.h>

#include "bench/predict/launch.h"
#include "bench/predict/model.h"
#include "core/coll.h"

/* Launches are told apart by AllReduce, at a size where latency counts, one where bandwidth does, and one between. */
static const uint64_t sizes[] = {(uint64_t)64 << 10, (uint64_t)4 << 20, (uint64_t)256 << 20};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

/* The mean of log(time) under a launch; NAN: the model is silent. */
static double score(const struct model_setup *base, const struct bench_knobs *launch)
{
    struct arena *a = arena_new();
    struct model_setup s = *base;
    double sum = NAN;
    const struct model *m = model_launch_apply(launch, &s.nccl, a) ? NULL : model_new(&s, a, NULL);
    for (int i = 0; m && i < SIZES; i++) {
        struct model_call call = {COLL_ALLREDUCE, sizes[i], -1, -1, 0};
        struct model_time t;
        double us = model_predict(m, &call, &t) ? NAN : log(t.us);
        sum = i ? sum + us : us;
    }
    arena_free(a);
    return sum / SIZES;
}

int search_prior_launches(const struct topology *t, int nodes, int ranks_per_node, struct bench_plan *p)
{
    struct model_setup s = {.nccl = {.topology = t, .nodes = nodes, .ranks_per_node = ranks_per_node}};
    s.nccl.class_index = t ? model_class_of(t) : -1;
    if (s.nccl.class_index < 0 || p->nlaunches < 2)
        return 0;
    double untouched = score(&s, &p->launches[0]);
    if (isnan(untouched))
        return 0;
    struct arena *a = arena_new();
    double *scores = arena_alloc(a, (size_t)p->nlaunches * sizeof *scores);
    int known = 0;
    scores[0] = untouched;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_knobs launch = p->launches[i];
        double mine = score(&s, &launch);
        known += !isnan(mine);
        mine = isnan(mine) ? untouched : mine;
        int k = i;
        for (; k > 1 && scores[k - 1] > mine; k--) {
            scores[k] = scores[k - 1];
            p->launches[k] = p->launches[k - 1];
        }
        scores[k] = mine;
        p->launches[k] = launch;
    }
    arena_free(a);
    return known;
}
