/* The candidates of a point. */
#include "bench/search/candidates.h"

#include <math.h>
#include <string.h>

/* A call that lost at both neighbouring sizes is tried when it is expected within this factor of the best. */
#define NEAR_BEST 1.1

/* And this much behind the best in the untouched launch is so in others. */
#define FAR_BEHIND 2.0

/* As many of those who came through the first round meet again in the later ones, the fastest. */
#define FINALISTS 2

struct ranked {
    const struct bench_knobs *knobs;
    const char *refines;
    double expect_us;
};

static void add_candidate(struct rounds *r, const struct bench_knobs *knobs, const char *refines)
{
    r->candidates[r->ncandidates++] = (struct candidate){.knobs = knobs, .refines = refines, .status = BENCH_OK};
}

/* What it took in the untouched launch, as much faster here as the default is; 0 unknown. */
static double elsewhere_us(const struct bench_results *r, const struct history_place *at, const char *call)
{
    struct history_place there = *at;
    there.launch = BENCH_DEFAULT;
    double here_us = history_time_us(r, at, BENCH_DEFAULT), there_us = history_time_us(r, &there, BENCH_DEFAULT);
    return here_us > 0 && there_us > 0 ? history_expect_us(r, &there, call) * here_us / there_us : 0;
}

/* From what was measured nearby, else in another launch; 0 unknown. */
static double known_us(const struct bench_results *r, const struct history_place *at, const char *call)
{
    double us = history_expect_us(r, at, call);
    return us > 0 ? us : elsewhere_us(r, at, call);
}

/* Else what the library itself predicts; INFINITY unknown, below 0 not offered. */
static double expect_call_us(const struct candidate_source *e, const struct history_place *at,
                             const struct bench_call *c)
{
    const struct bench_study *s = e->study;
    double predicted = s->engine->expect_us ? s->engine->expect_us(e->session, at, &c->knobs, s->stop) : 0;
    double known = known_us(s->results, at, c->knobs.label);
    return predicted < 0 ? predicted : known > 0 ? known : predicted > 0 ? predicted : INFINITY;
}

static int has_refinements(const struct bench_plan *p, const char *label)
{
    for (int i = 0; i < p->ncalls; i++)
        if (p->calls[i].refines && !strcmp(p->calls[i].refines, label))
            return 1;
    return 0;
}

/* The least that any call is expected to take here, as far as its past tells; INFINITY when nobody has one. The default
 * does not count: it may be another algorithm at every size, and so no straight line. */
static double best_expected_us(const struct candidate_source *e, const struct history_place *at)
{
    const struct bench_plan *p = &e->study->plan;
    double best = INFINITY;
    for (int i = 0; i < p->ncalls; i++) {
        const struct bench_call *c = &p->calls[i];
        if (c->coll != at->coll || !strcmp(c->knobs.label, BENCH_DEFAULT))
            continue;
        double us = known_us(e->study->results, at, c->knobs.label);
        if (us > 0 && us < best)
            best = us;
    }
    return best;
}

/* Whether it and what refines it took so much longer in the untouched launch that another one does not change that. */
static int was_far_behind(const struct candidate_source *e, const struct history_place *at, const char *label,
                          double best_us)
{
    const struct bench_plan *p = &e->study->plan;
    if (!strcmp(at->launch, BENCH_DEFAULT))
        return 0;
    double least = elsewhere_us(e->study->results, at, label);
    for (int i = 0; i < p->ncalls && least > 0; i++)
        if (p->calls[i].coll == at->coll && p->calls[i].refines && !strcmp(p->calls[i].refines, label)) {
            double us = elsewhere_us(e->study->results, at, p->calls[i].knobs.label);
            least = us > 0 && us < least ? us : least;
        }
    return least > FAR_BEHIND * best_us;
}

/* Left behind at both neighbouring sizes is not hopeless by itself: one may have won below and one above, and a third
 * lie between. What it took there says what it will take here. */
static int is_hopeless(const struct candidate_source *e, const struct history_place *at, const struct bench_call *c,
                       double best_us)
{
    const struct bench_study *s = e->study;
    const char *label = c->knobs.label;
    if (history_hopeless(s->results, at, label) || was_far_behind(e, at, label, best_us))
        return 1;
    if (!history_losing(s->results, at, label) || history_expect_us(s->results, at, label) <= NEAR_BEST * best_us)
        return 0;
    return !has_refinements(&s->plan, label) || !history_close(s->results, at, label, ROUNDS_CLOSE);
}

static void add_ranked(struct ranked *ranked, int *n, struct ranked new)
{
    int k = (*n)++;
    for (; k > 0 && ranked[k - 1].expect_us > new.expect_us; k--)
        ranked[k] = ranked[k - 1];
    ranked[k] = new;
}

static int is_planned(const struct bench_plan *p, int coll, const char *label)
{
    for (int i = 0; i < p->ncalls; i++)
        if (p->calls[i].coll == coll && !strcmp(p->calls[i].knobs.label, label))
            return 1;
    return 0;
}

/* Variations of earlier winners: they stand in no plan, only in the results. */
static void list_variations(const struct candidate_source *e, const struct history_place *at, struct ranked *ranked,
                            int *n, int room)
{
    const struct bench_study *s = e->study;
    for (int i = 0; i < s->results->count && *n < room; i++) {
        const struct bench_result *x = &s->results->items[i];
        if (!history_is_of(x, at) || x->bytes != at->bytes || strcmp(x->launch.label, at->launch) != 0 ||
            is_planned(&s->plan, at->coll, x->call.label) || history_hopeless(s->results, at, x->call.label) ||
            history_done(s->results, at, x->call.label, e->round))
            continue;
        int listed = 0;
        for (int k = 0; k < *n; k++)
            listed |= !strcmp(ranked[k].knobs->label, x->call.label);
        if (listed)
            continue;
        struct bench_knobs *knobs = ARENA_NEW(s->arena, struct bench_knobs); /* `items` moves when it grows */
        *knobs = x->call;
        add_ranked(ranked, n, (struct ranked){knobs, NULL, history_time_us(s->results, at, x->call.label)});
    }
}

void candidates_list(const struct candidate_source *e, const struct history_place *at, struct rounds *r)
{
    const struct bench_study *s = e->study;
    int n = 0, room = s->plan.ncalls + BENCH_VARIATIONS;
    struct ranked *ranked = arena_alloc(r->arena, (size_t)room * sizeof *ranked);
    double best_us = e->full ? best_expected_us(e, at) : INFINITY;
    r->candidates = arena_alloc(r->arena, (size_t)(room + BENCH_VARIATIONS) * sizeof *r->candidates);
    for (int i = 0; i < s->plan.ncalls; i++) {
        const struct bench_call *c = &s->plan.calls[i];
        if (c->coll != at->coll)
            continue;
        if (!strcmp(c->knobs.label, BENCH_DEFAULT)) {
            add_candidate(r, &c->knobs, NULL);
            continue;
        }
        if (!e->full || at->bytes < c->min_bytes || is_hopeless(e, at, c, best_us) ||
            history_done(s->results, at, c->knobs.label, e->round))
            continue;
        double us = expect_call_us(e, at, c);
        if (us >= 0)
            add_ranked(ranked, &n, (struct ranked){&c->knobs, c->refines, us});
    }
    if (e->full)
        list_variations(e, at, ranked, &n, room);
    for (int i = 0, finalists = 0; i < n; i++) {
        int again = history_time_us(s->results, at, ranked[i].knobs->label) > 0;
        if (!again || finalists++ < FINALISTS)
            add_candidate(r, ranked[i].knobs, again ? NULL : ranked[i].refines);
    }
}

int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner)
{
    const struct candidate_source *e = user;
    const struct bench_study *s = e->study;
    struct history_place at = {r->coll,         r->bytes,        r->shape.nodes, r->shape.ranks, e->launch,
                               s->engine->name, r->shape.others, r->shape.load,  r->buffers};
    struct bench_knobs *out = arena_alloc(s->arena, BENCH_VARIATIONS * sizeof *out);
    int n = s->engine->vary(e->session, r->bytes, winner, s->arena, out), added = 0;
    for (int i = 0; i < n; i++) {
        if (history_status(s->results, &at, out[i].label) != BENCH_STATUS_COUNT ||
            history_hopeless(s->results, &at, out[i].label) || history_losing(s->results, &at, out[i].label))
            continue;
        add_candidate(r, &out[i], winner->label);
        added++;
    }
    return added;
}
