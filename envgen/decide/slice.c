/* Candidates of a point. */
#include "envgen/decide/slice.h"

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
