/* What was decided, beside the best there is. */
#include "tests/lib/search_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/candidates/candidates.h"
#include "bench/results/points.h"
#include "envgen/decide/decide.h"

static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};

/* The best that the launch can do here without dying. */
static double best_us(int coll, uint64_t bytes, const struct bench_knobs *launch)
{
    double best = INFINITY;
    for (int i = 0; i < world.study.plan.ncalls; i++)
        if (world_is_candidate(&world.study.plan.calls[i], coll, bytes) &&
            !world_may_die(coll, &world.study.plan.calls[i].knobs))
            best = fmin(best, world_true_us(coll, bytes, launch, &world.study.plan.calls[i].knobs));
    return best;
}

/* How many times as fast it makes calls, as a geometric mean over the places. */
static double gain_of(const struct bench_knobs *launch)
{
    double sum = 0;
    for (int i = 0; i < world.nplaces; i++)
        sum -= log(world_launch_factor(launch, world.places[i].bytes));
    return exp(sum / world.nplaces);
}

/* The launch, alone or in a pair, under which all places together could be fastest. */
static struct bench_knobs best_launch(void)
{
    const struct bench_plan *p = &world.study.plan;
    struct bench_knobs best = untouched, both;
    double most = 0;
    for (int i = 0; i < p->nlaunches; i++)
        for (int k = 0; k <= i; k++) {
            struct bench_knobs l = p->launches[i];
            if (k && nccl_plan_combine(&p->launches[k], &p->launches[i], world.study.arena, &both))
                l = both;
            else if (k)
                continue;
            if (gain_of(&l) > most * (1 + 1e-9)) {
                most = gain_of(&l);
                best = l;
            }
        }
    return best;
}

/* A label that outlives the run. */
static const char *kept(const char *label)
{
    static char labels[1024][48];
    static int n;
    int k = 0;
    while (k < n && strcmp(labels[k], label) != 0)
        k++;
    if (k == 1024)
        abort();
    if (k == n)
        snprintf(labels[n++], sizeof labels[0], "%s", label);
    return labels[k];
}

void score_place(struct world_score *s, const struct world_place *p, const struct bench_knobs *best,
                 const struct bench_knobs *launch, const struct bench_knobs *call)
{
    double own = world_true_us(p->coll, p->bytes, &untouched, &untouched),
           us = world_true_us(p->coll, p->bytes, launch, call);
    double own_here = world_true_us(p->coll, p->bytes, launch, &untouched), least = best_us(p->coll, p->bytes, best);
    if (s->places == WORLD_SCORES)
        abort();
    s->regret[s->places] = us / least - 1;
    s->us[s->places] = us;
    s->chosen[s->places++] = kept(call->label);
    s->gained += log(own / us);
    s->possible += log(own / least);
    s->replaced += call->nsettings > 0;
    s->deadly += world_may_die(p->coll, call);
    s->false_gains += call->nsettings > 0 && (us > own_here * 1.0001 || world.options.alike);
    s->missed += us / least > 1.05;
    if (call->nsettings > 0)
        s->worst_row = fmax(s->worst_row, us / own_here);
}

/* Count the settings without which the launch is as fast, within 1 %. */
static int count_idle(const struct bench_knobs *launch)
{
    struct bench_setting *rest = arena_alloc(world.study.arena, (size_t)(launch->nsettings + 1) * sizeof *rest);
    int idle = 0;
    for (int i = 0; i < launch->nsettings; i++) {
        for (int k = 0, n = 0; k < launch->nsettings; k++)
            if (k != i)
                rest[n++] = launch->settings[k];
        idle += gain_of(launch) < 1.01 * gain_of(&(struct bench_knobs){"", rest, launch->nsettings - 1});
    }
    return idle;
}

static const struct env_range *range_of(const struct env_coll *c, uint64_t bytes)
{
    for (int i = 0; i < c->nranges; i++)
        if (c->ranges[i].min_bytes <= bytes && bytes <= c->ranges[i].max_bytes)
            return &c->ranges[i];
    return NULL;
}

/* Between the measured sizes and beyond them, up to 16 GiB. */
static void score_reach(struct world_score *s, const struct env_coll *c, const struct bench_knobs *launch)
{
    uint64_t last = world.study.sizes[world.study.nsizes - 1];
    for (uint64_t bytes = 16; bytes <= (uint64_t)16 << 30; bytes *= 2) {
        struct world_reach *reach = bytes > last ? &s->beyond : &s->between;
        const struct env_range *r = range_of(c, bytes);
        double own = world_true_us(c->coll, bytes, launch, &untouched);
        double us = r && r->call.nsettings ? world_true_us(c->coll, bytes, launch, &r->call) : own;
        reach->replaced += r && r->call.nsettings;
        reach->slower += us > own * 1.0001;
        reach->worst = fmax(reach->worst, us / own);
        reach->gained += log(own / us);
        reach->possible += log(own / best_us(c->coll, bytes, launch));
    }
}

static void check_intervals(struct world_score *s, const struct env_point *p, int coll,
                            const struct bench_knobs *launch)
{
    int stated = (int)s->stated;
    for (int i = 0; i < p->noptions; i++) {
        const struct env_option *o = &p->options[i];
        if (i == p->fallback || o->gain.n < BENCH_FEWEST || !(o->gain.sure > 0))
            continue;
        double gain =
            world_true_us(coll, p->bytes, launch, &untouched) / world_true_us(coll, p->bytes, launch, &o->call);
        s->stated++;
        s->held += o->gain.low <= gain && gain <= o->gain.high;
    }
    s->tested += s->stated > stated;
}

static void check_launches(struct world_score *s, const struct env_shape *shape)
{
    for (int i = 1; i < shape->nlaunches; i++) {
        const struct env_launch *l = &shape->launches[i];
        double gain = gain_of(&l->knobs);
        if (l->gain.n < 1 || l->points * 2 < world.nplaces)
            continue;
        s->launch_stated++;
        s->launch_held += l->gain.low <= gain && gain <= l->gain.high;
    }
}

static const struct bench_knobs *decided(const struct env_shape *shape, int coll, uint64_t bytes)
{
    for (int c = 0; shape && c < shape->ncolls; c++) {
        const struct env_range *r = shape->colls[c].coll == coll ? range_of(&shape->colls[c], bytes) : NULL;
        if (r)
            return &r->call;
    }
    return &untouched;
}

void score_run(struct world_score *s)
{
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct bench_points *points = bench_points_of(world.study.results, world.study.arena);
    struct err e;
    if (env_decide(d, points, &e))
        abort();
    const struct env_shape *shape = d->nshapes ? &d->shapes[0] : NULL;
    struct bench_knobs best = best_launch(), launch = untouched;
    if (shape && shape->chosen > 0)
        launch = shape->launches[shape->chosen].knobs;
    for (int i = 0; i < world.nplaces; i++)
        score_place(s, &world.places[i], &best, &launch, decided(shape, world.places[i].coll, world.places[i].bytes));
    snprintf(s->launch_label, sizeof s->launch_label, "%s", launch.label);
    s->worth = gain_of(&best);
    s->pays = s->worth > 1 + ENV_MARGIN ? best.nsettings : 0;
    s->launch = s->pays && gain_of(&launch) * (1 + ENV_MARGIN) >= s->worth;
    s->settings = launch.nsettings;
    s->idle = world.options.alike ? launch.nsettings : count_idle(&launch);
    s->launch_false = launch.nsettings > 0 && (gain_of(&launch) < 1 || world.options.alike);
    for (int c = 0; shape && c < shape->ncolls; c++) {
        score_reach(s, &shape->colls[c], &launch);
        for (int r = 0; r < shape->colls[c].nranges; r++)
            for (int i = 0; i < shape->colls[c].ranges[r].npoints; i++)
                check_intervals(s, &shape->colls[c].ranges[r].points[i], shape->colls[c].coll, &launch);
    }
    if (shape)
        check_launches(s, shape);
    env_decisions_free(d);
}
