/* The candidates of a point. */
#include "bench/search/candidates.h"

#include <math.h>
#include <string.h>

static void add_candidate(struct rounds *r, const struct bench_knobs *knobs, const char *refines)
{
    r->candidates[r->ncandidates++] = (struct candidate){.knobs = knobs, .refines = refines, .status = BENCH_OK};
}

/* What was measured near there, else what the library predicts; INFINITY unknown, below 0 not offered. */
static double expect_us(const struct bench_study *s, const struct rounds *r, const struct bench_knobs *call)
{
    double us = r->engine->expect_us ? r->engine->expect_us(r->session, &r->at, call, s->stop) : 0;
    double near_us = us < 0 ? 0 : known_expect_us(s->results, &r->at, call->label);
    return near_us > 0 ? near_us : us == 0 ? INFINITY : us;
}

void candidates_list(const struct bench_study *s, int full, struct rounds *r)
{
    const struct known_place *at = &r->at;
    int n = 0;
    struct ranked {
        const struct bench_knobs *knobs;
        const char *refines;
        double expect_us;
    } *ranked = arena_alloc(r->arena, (size_t)s->plan.ncalls * sizeof *ranked);
    r->candidates = arena_alloc(r->arena, (size_t)(s->plan.ncalls + BENCH_VARIATIONS) * sizeof *r->candidates);
    for (int i = 0; i < s->plan.ncalls; i++) {
        const struct bench_call *c = &s->plan.calls[i];
        if (c->coll != at->coll)
            continue;
        double us = 0;
        if (!strcmp(c->knobs.label, BENCH_DEFAULT))
            add_candidate(r, &c->knobs, NULL);
        else if (full && at->bytes >= c->min_bytes && !known_hopeless(s->results, at, c->knobs.label) &&
                 (us = expect_us(s, r, &c->knobs)) >= 0) {
            int k = n++;
            for (; k > 0 && ranked[k - 1].expect_us > us; k--)
                ranked[k] = ranked[k - 1];
            ranked[k] = (struct ranked){&c->knobs, c->refines, us};
        }
    }
    for (int i = 0; i < n; i++)
        add_candidate(r, ranked[i].knobs, ranked[i].refines);
}

int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner)
{
    const struct bench_study *s = user;
    struct bench_knobs *out = arena_alloc(s->arena, BENCH_VARIATIONS * sizeof *out);
    int n = r->engine->vary(r->session, r->at.bytes, winner, s->arena, out), added = 0;
    for (int i = 0; i < n; i++) {
        if (known_hopeless(s->results, &r->at, out[i].label))
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

const struct bench_point *candidates_point(const struct bench_points *p, const struct known_place *at)
{
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *x = &p->items[i];
        if (x->coll == at->coll && x->bytes == at->bytes && x->nodes == at->nodes && x->ranks == at->ranks &&
            x->others == at->others && x->buffers == at->buffers && (!at->engine || !strcmp(x->engine, at->engine)))
            return x;
    }
    return NULL;
}

/* The best by what was explored, within reach of one another. */
static int list_promising(const struct bench_study *s, const struct bench_point *p, const char *launch,
                          struct contender found[CONTENDERS])
{
    const char *explored = BENCH_DEFAULT;
    int n = 0;
    for (int i = 0; i < p->ncandidates; i++)
        if (p->candidates[i].promise > 0 && !strcmp(p->candidates[i].launch.label, launch))
            explored = launch;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *x = &p->candidates[i], *own = NULL;
        for (int j = 0; j < p->ncandidates && !own; j++)
            if (!strcmp(p->candidates[j].launch.label, launch) && !strcmp(p->candidates[j].call.label, x->call.label))
                own = &p->candidates[j];
        if (strcmp(x->launch.label, explored) != 0 || x->status != BENCH_OK || (own && own->status != BENCH_OK) ||
            x->promise < 1 + s->options->margin / 2)
            continue;
        int k = n < CONTENDERS ? n++ : CONTENDERS;
        for (; k > 0 && found[k - 1].candidate->promise < x->promise; k--)
            if (k < CONTENDERS)
                found[k] = found[k - 1];
        if (k < CONTENDERS)
            found[k] = (struct contender){x, own ? own->proof : (struct bench_interval){0}};
    }
    while (n && found[n - 1].candidate->promise * CONTEND_WITHIN < found[0].candidate->promise)
        n--;
    return n;
}

const struct bench_candidate *candidates_promising(const struct bench_study *s, const struct bench_point *p)
{
    const struct bench_candidate *usual = p ? bench_point_default(p, BENCH_DEFAULT) : NULL;
    struct contender found[CONTENDERS];
    return usual && list_promising(s, p, BENCH_DEFAULT, found) ? found[0].candidate : usual;
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
        const struct bench_interval *proof = &found[i].proof;
        if (proof->n < BENCH_FEWEST || (!proof->lost && proof->high >= 1 + s->options->margin))
            found[kept++] = found[i];
    }
    return starts < looks[BENCH_LOOKS - 1] ? kept : 0;
}

void candidates_list_contenders(const struct bench_study *s, const struct bench_point *p, struct rounds *r)
{
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    struct contender found[CONTENDERS];
    int n = p ? candidates_contend(s, p, r->at.launch, found) : 0;
    r->candidates = arena_alloc(r->arena, (CONTENDERS + 1) * sizeof *r->candidates);
    add_candidate(r, &untouched, NULL);
    for (int i = 0; i < n; i++)
        add_candidate(r, &found[i].candidate->call, NULL);
}
