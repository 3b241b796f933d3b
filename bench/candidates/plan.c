/* How plans grow. */
#include "bench/candidates/candidates.h"

#include <string.h>

struct bench_call *bench_plan_add_call(struct bench_plan *p, struct arena *a, int coll)
{
    struct bench_call *c = &ARENA_ADD(a, p->calls, p->ncalls);
    *c = (struct bench_call){.coll = coll, .min_bytes = 1, .knobs = {.label = BENCH_DEFAULT}};
    return c;
}

void bench_plan_add_launch(struct bench_plan *p, struct arena *a, struct bench_knobs knobs)
{
    ARENA_ADD(a, p->launches, p->nlaunches) = knobs;
}

void bench_plan_jobs(struct bench_plan *p, struct arena *a, const struct bench_setup *s)
{
    int kept = 0;
    for (int i = 0; i < p->ncalls; i++)
        if (!p->calls[i].knobs.nsettings)
            p->calls[kept++] = p->calls[i];
    p->ncalls = kept;
    p->nlaunches = 0;
    bench_plan_add_launch(p, a, (struct bench_knobs){.label = BENCH_DEFAULT});
    for (int i = 0; i < s->njobs; i++)
        bench_plan_add_launch(p, a, s->jobs[i]);
    p->keep_all = 1;
}

struct bench_knobs bench_plan_knob(struct arena *a, const char *label, const char *name, const char *value)
{
    struct bench_setting *s = ARENA_NEW(a, struct bench_setting);
    *s = (struct bench_setting){name, value};
    return (struct bench_knobs){label, s, 1};
}

static int has_setting(const struct bench_knobs *k, const struct bench_setting *x)
{
    for (int i = 0; i < k->nsettings; i++)
        if (!strcmp(k->settings[i].name, x->name) && !strcmp(k->settings[i].value, x->value))
            return 1;
    return 0;
}

int bench_plan_same(const struct bench_knobs *x, const struct bench_knobs *y)
{
    int same = x->nsettings == y->nsettings;
    for (int i = 0; i < y->nsettings && same; i++)
        same = has_setting(x, &y->settings[i]);
    return same;
}
