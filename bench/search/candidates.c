/* The candidates of a point. */
#include "bench/search/candidates.h"

#include <math.h>
#include <string.h>

/* A call that lost at both neighbouring sizes is tried when it is expected within this factor of the best. */
#define NEAR_BEST 1.1

/* And this much behind the best in the baseline launch is so in others. */
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

/* What one of the plan's calls is expected to take at a place, from what was measured nearby, else in the untouched
 * launch, as much faster here as the default is; and how many times what the best there takes it took there. 0 unknown.
 */
struct known {
    double us, behind;
};

/* Of every call of the collective, the default left out: it may be another algorithm at every size, and so no straight
 * line. Returns the least that any is expected to take; INFINITY when nothing is known of any. */
static double look_up(const struct candidate_source *e, const struct history_place *at, struct known *known)
{
    const struct bench_results *r = e->study->results;
    const struct bench_plan *p = &e->study->plan;
    struct history_place there = *at;
    int elsewhere = strcmp(at->launch, BENCH_DEFAULT) != 0;
    double best = INFINITY, best_there = INFINITY, faster = elsewhere ? history_time_us(r, at, BENCH_DEFAULT) : 0;
    there.launch = BENCH_DEFAULT;
    if (faster > 0)
        faster /= history_time_us(r, &there, BENCH_DEFAULT);
    faster = isnormal(faster) ? faster : 0;
    for (int i = 0; i < p->ncalls; i++) {
        const char *label = p->calls[i].knobs.label;
        if (p->calls[i].coll != at->coll || !strcmp(label, BENCH_DEFAULT))
            continue;
        double us = history_expect_us(r, at, label);
        known[i].behind = faster > 0 ? history_expect_us(r, &there, label) : 0;
        known[i].us = us > 0 ? us : faster * known[i].behind;
        best = known[i].us > 0 ? fmin(best, known[i].us) : best;
        best_there = known[i].behind > 0 ? fmin(best_there, known[i].behind) : best_there;
    }
    for (int i = 0; i < p->ncalls; i++)
        known[i].behind /= best_there;
    return best;
}

/* That, else what the library itself predicts; INFINITY unknown, below 0 not offered. */
static double expect_us(const struct candidate_source *e, const struct history_place *at, const struct bench_call *c,
                        double known_us)
{
    const struct bench_study *s = e->study;
    double predicted =
        s->engine->measures->expect_us ? s->engine->measures->expect_us(e->session, at, &c->knobs, s->stop) : 0;
    return predicted < 0 ? predicted : known_us > 0 ? known_us : predicted > 0 ? predicted : INFINITY;
}

/* Whether number `i` of the plan's calls refines `label`: such calls stand right behind that one. */
static int refines(const struct bench_plan *p, int i, const char *label)
{
    return i < p->ncalls && p->calls[i].refines && !strcmp(p->calls[i].refines, label);
}

/* Whether it and what refines it took so much longer in the baseline launch that another one does not change that. */
static int was_far_behind(const struct bench_plan *p, int call, const struct known *known)
{
    double least = known[call].behind;
    for (int i = call + 1; least > 0 && refines(p, i, p->calls[call].knobs.label); i++)
        least = known[i].behind > 0 ? fmin(least, known[i].behind) : least;
    return least > FAR_BEHIND;
}

/* Left behind at both neighbouring sizes is not hopeless by itself: one may have won below and one above, and a third
 * lie between. What it took there says what it will take here. */
static int is_hopeless(const struct candidate_source *e, const struct history_place *at, int call,
                       const struct known *known, double best_us)
{
    const struct bench_plan *p = &e->study->plan;
    const struct bench_results *r = e->study->results;
    const char *label = p->calls[call].knobs.label;
    if (history_hopeless(r, at, label) || was_far_behind(p, call, known))
        return 1;
    if (!history_losing(r, at, label) || known[call].us <= NEAR_BEST * best_us)
        return 0;
    return !refines(p, call + 1, label) || !history_close(r, at, label, ROUNDS_CLOSE);
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

/* Of those that were measured here the fastest meet again. What refines one of those, and has not been tried, stands by
 * itself where that one was close. */
static void add_listed(const struct bench_results *h, const struct history_place *at, double best_us,
                       const struct ranked *ranked, int n, struct rounds *r)
{
    for (int i = 0, finalists = 0; i < n; i++) {
        const struct ranked *x = &ranked[i];
        int again = history_time_us(h, at, x->knobs->label) > 0;
        double refined_us = x->refines ? history_time_us(h, at, x->refines) : 0;
        if (again ? finalists++ < FINALISTS : refined_us <= ROUNDS_CLOSE * best_us)
            add_candidate(r, x->knobs, again || refined_us > 0 ? NULL : x->refines);
    }
}

void candidates_list(const struct candidate_source *e, const struct history_place *at, struct rounds *r)
{
    const struct bench_study *s = e->study;
    int n = 0, room = s->plan.ncalls + BENCH_VARIATIONS;
    struct ranked *ranked = arena_alloc(r->arena, (size_t)room * sizeof *ranked);
    struct known *known = arena_alloc(r->arena, (size_t)s->plan.ncalls * sizeof *known);
    double best_us = e->full ? look_up(e, at, known) : INFINITY;
    r->candidates = arena_alloc(r->arena, (size_t)(room + BENCH_VARIATIONS) * sizeof *r->candidates);
    for (int i = 0; i < s->plan.ncalls; i++) {
        const struct bench_call *c = &s->plan.calls[i];
        if (c->coll != at->coll)
            continue;
        if (!strcmp(c->knobs.label, BENCH_DEFAULT)) {
            add_candidate(r, &c->knobs, NULL);
            continue;
        }
        if (!e->full || at->bytes < c->min_bytes || is_hopeless(e, at, i, known, best_us) ||
            history_done(s->results, at, c->knobs.label, e->round))
            continue;
        double us = expect_us(e, at, c, known[i].us);
        if (us >= 0)
            add_ranked(ranked, &n, (struct ranked){&c->knobs, c->refines, us});
    }
    if (e->full)
        list_variations(e, at, ranked, &n, room);
    add_listed(s->results, at, best_us, ranked, n, r);
}

int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner)
{
    const struct candidate_source *e = user;
    const struct bench_study *s = e->study;
    struct history_place at = {r->coll,         r->bytes,        r->shape.nodes, r->shape.ranks, e->launch,
                               s->engine->name, r->shape.others, r->shape.load,  r->buffers};
    struct bench_knobs *out = arena_alloc(s->arena, BENCH_VARIATIONS * sizeof *out);
    int n = s->engine->measures->vary(e->session, r->bytes, winner, s->arena, out), added = 0;
    for (int i = 0; i < n; i++) {
        if (history_status(s->results, &at, out[i].label) != BENCH_STATUS_COUNT ||
            history_hopeless(s->results, &at, out[i].label) || history_losing(s->results, &at, out[i].label))
            continue;
        add_candidate(r, &out[i], winner->label);
        added++;
    }
    return added;
}

/* ---- what is to be proven ---- */

/* Further behind the best than this nobody contends: exploring tells so much. */
#define CONTEND_WITHIN 1.05

/* Starts after which a proof is looked at. */
static const int looks[BENCH_LOOKS] = {BENCH_FEWEST, 8, 12, 20};

const struct bench_point *candidates_point(const struct bench_points *p, const struct history_place *at)
{
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *x = &p->items[i];
        if (x->coll == at->coll && x->bytes == at->bytes && x->nodes == at->nodes && x->ranks == at->ranks &&
            x->others == at->others && x->load == at->load && x->buffers == at->buffers &&
            (!at->engine || !strcmp(x->engine, at->engine)))
            return x;
    }
    return NULL;
}

/* The candidate of that launch and call; NULL: it was not measured. */
static const struct bench_candidate *find_candidate(const struct bench_point *p, const char *launch, const char *call)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (!strcmp(p->candidates[i].launch.label, launch) && !strcmp(p->candidates[i].call.label, call))
            return &p->candidates[i];
    return NULL;
}

/* The launch that says which calls are promising. */
static const char *explored_launch(const struct bench_point *p, const char *launch)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (p->candidates[i].promise > 0 && !strcmp(p->candidates[i].launch.label, launch))
            return launch;
    return BENCH_DEFAULT;
}

/* The best by what was explored, within reach of one another. */
static int list_promising(const struct bench_study *s, const struct bench_point *p, const char *launch,
                          struct contender found[CONTENDERS])
{
    const char *explored = explored_launch(p, launch);
    int n = 0;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *x = &p->candidates[i], *own = find_candidate(p, launch, x->call.label);
        if (strcmp(x->launch.label, explored) != 0 || x->status != BENCH_OK || (own && own->status != BENCH_OK) ||
            x->promise < 1 + s->options->margin / 2)
            continue;
        int k = n < CONTENDERS ? n++ : CONTENDERS;
        for (; k > 0 && found[k - 1].promise < x->promise; k--)
            if (k < CONTENDERS)
                found[k] = found[k - 1];
        if (k < CONTENDERS)
            found[k] = (struct contender){&x->call, x->promise, own ? own->proof : (struct bench_interval){0}};
    }
    while (n && found[n - 1].promise * CONTEND_WITHIN < found[0].promise)
        n--;
    return n;
}

/* Whether it cannot prove anything any more. */
static int is_futile(const struct bench_study *s, const struct contender *x)
{
    return x->proof.n >= BENCH_FEWEST && (x->proof.lost || x->proof.high < 1 + s->options->margin);
}

int candidates_contend(const struct bench_study *s, const struct bench_point *p, const char *launch,
                       struct contender found[CONTENDERS])
{
    int n = list_promising(s, p, launch, found), kept = 0, is_look = 0, starts = 0;
    for (int i = 0; i < n; i++)
        starts = found[i].proof.n > starts ? found[i].proof.n : starts;
    for (int i = 0; i < BENCH_LOOKS; i++)
        is_look |= starts == looks[i];
    if (!is_look)
        return starts < looks[BENCH_LOOKS - 1] ? n : 0;
    for (int i = 0; i < n; i++) {
        if (bench_gain_clears(found[i].proof, s->options->margin))
            return 0;
        if (!is_futile(s, &found[i]))
            found[kept++] = found[i];
    }
    return starts < looks[BENCH_LOOKS - 1] ? kept : 0;
}

void candidates_list_contenders(const struct candidate_source *e, const struct bench_point *p, struct rounds *r)
{
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    struct contender found[CONTENDERS];
    int n = p ? candidates_contend(e->study, p, e->launch, found) : 0;
    r->candidates = arena_alloc(r->arena, (CONTENDERS + 1) * sizeof *r->candidates);
    add_candidate(r, &untouched, NULL);
    for (int i = 0; i < n; i++)
        add_candidate(r, found[i].call, NULL);
}
