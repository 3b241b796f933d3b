/* The order in which launches are tried. */
#include "bench/search/prior.h"

#include <math.h>

#include "core/call/result.h"

static double launch_log_us(const struct bench_setup *s, int nodes, const struct bench_knobs *launch)
{
    return s->predictor ? s->predictor->launch_log_us(s->topology, nodes, s->ranks_per_node, launch) : NAN;
}

int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p)
{
    double untouched = p->nlaunches < 2 ? NAN : launch_log_us(s, nodes, &p->launches[0]);
    if (isnan(untouched))
        return 0;
    double *scores = arena_alloc(a, (size_t)p->nlaunches * sizeof *scores);
    int known = 0;
    scores[0] = untouched;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_knobs launch = p->launches[i];
        double mine = launch_log_us(s, nodes, &launch);
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
    return known;
}
