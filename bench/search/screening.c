/* Launches alone, twice where starts differ, then together; each is left at the first point at which it is hopeless. */
#include "bench/search/study.h"

#include <math.h>
#include <string.h>

#include "bench/candidates/candidates.h"
#include "bench/results/points.h"
#include "core/stats.h"

/* What launches gain together is tried as long as there is time for so many pairs of sessions behind it; which of them
 * it takes while there is time for more; and second sessions, and groups that promise nothing, for many. */
#define LEAST_PAIRS BENCH_FEWEST
#define GOOD_PAIRS  7
#define MANY_PAIRS  9

/* Of the time that is left no launch takes more to be screened, however slow it is. */
#define SESSION_PART 0.2

/* What two sessions of a launch differ by says what one is good for, up to this; below QUIET starts are alike. */
#define MOST_SPREAD 0.1
#define QUIET       0.01

/* Together with others a launch may cost so much alone; up to DOUBTFUL it may only have had a bad start; and what they
 * gain together over the best one alone has to be as much to be looked into. */
#define HARMLESS (1 + BENCH_MARGIN)
#define DOUBTFUL 1.15
#define TOGETHER 0.96

/* Two launches are worth trying together when the second is not much slower: of two interfaces each carries a part of a
 * message in proportion to announced speeds, and the slower part is waited for. */
#define WORTH_COMBINING 2.5

static void add_launch(struct screening *f, struct arena *a, const struct bench_knobs *launch)
{
    ARENA_ADD(a, f->items, f->count) = (struct screening_launch){.launch = launch, .score = INFINITY};
}

void screening_begin(const struct bench_study *s, struct screening *f)
{
    for (int i = 0; i < s->plan.nlaunches; i++)
        add_launch(f, s->arena, &s->plan.launches[i]);
}

static int screen(struct bench_study *s, const struct bench_knobs *launch, int round, struct err *e)
{
    if (known_deaths(s->results, launch->label) > 1)
        return 0;
    struct search_session v = {.launch = launch, .round = round, .what = SEARCH_SCREEN, .part = SESSION_PART};
    return search_session_run(s, &v, e);
}

/* Whether one more session starts before. */
static int has_time(const struct bench_study *s, double until_s)
{
    return progress_now_s() + s->time.start_s <= until_s;
}

/* Until when sessions may start that leave the time for `pairs`, where `until_s` leaves that for the least. */
static double leave_pairs_s(const struct bench_study *s, double until_s, int pairs)
{
    return until_s - (pairs - LEAST_PAIRS) * 2 * (s->time.start_s + s->time.visit_s);
}

/* What the default call of `launch` takes at a screening point in one of its two sessions, microseconds; 0 unknown. */
static double session_us(const struct bench_study *s, const struct bench_knobs *launch, int point, int round)
{
    struct known_place at = s->screening[point].at;
    at.launch = launch->label;
    return known_of(s->results, &at, BENCH_DEFAULT, round).least_us;
}

/* The mean where it had two. */
static double time_at(const struct bench_study *s, const struct bench_knobs *launch, int point)
{
    double us = session_us(s, launch, point, BENCH_SCREENING_ROUND),
           again_us = session_us(s, launch, point, BENCH_AGAIN_ROUND);
    return us > 0 && again_us > 0 ? sqrt(us * again_us) : us;
}

/* By how much two sessions of a launch differ: the mean logarithm of their quotients, as a root mean square over the
 * launches that had two. */
static double spread_of(const struct bench_study *s, const struct screening *f)
{
    double squares = 0;
    int n = 0;
    for (int i = 0; i < f->count; i++) {
        double sum = 0;
        int both = 0;
        for (int k = 0; k < s->nscreening; k++) {
            double us = session_us(s, f->items[i].launch, k, BENCH_SCREENING_ROUND),
                   again_us = session_us(s, f->items[i].launch, k, BENCH_AGAIN_ROUND);
            int had = us > 0 && again_us > 0;
            sum += had ? log(us / again_us) : 0;
            both += had;
        }
        squares += both ? sum / both * (sum / both) : 0;
        n += both > 0;
    }
    return n ? fmin(sqrt(squares / n), MOST_SPREAD) : 0;
}

/* How many times as long as `than` a launch takes: a geometric mean over the screening points, of a workload by the
 * time that a step spends there in the baseline launch; INFINITY where it has no time and the other one has. */
static double time_over(const struct bench_study *s, const struct bench_knobs *launch, const struct bench_knobs *than)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < s->nscreening; i++) {
        double own = time_at(s, launch, i), other = time_at(s, than, i);
        double weight = s->workload ? s->screening[i].calls * time_at(s, &s->plan.launches[0], i) : 1;
        if (!(other > 0) || !(weight > 0))
            continue;
        sum += weight * (own > 0 ? log(own / other) : INFINITY);
        weights += weight;
    }
    return weights > 0 ? exp(sum / weights) : INFINITY;
}

static void score_all(const struct bench_study *s, struct screening *f)
{
    for (int i = 0; i < f->count; i++)
        f->items[i].score = time_over(s, f->items[i].launch, f->items[0].launch);
}

/* The best candidate after `before` (NULL: of all) in the order of scores, among launches other than the default; NULL
 * none. */
static struct screening_launch *next_single(struct screening *f, const struct screening_launch *before)
{
    struct screening_launch *next = NULL;
    for (int i = 1; i < f->count; i++) {
        struct screening_launch *x = &f->items[i];
        int later = !before || x->score > before->score || (x->score == before->score && x > before);
        if (isfinite(x->score) && later && (!next || x->score < next->score))
            next = x;
    }
    return next;
}

/* The launches of `list` but number `without` (-1: all of them) in one; NULL: they cannot be had together. */
static const struct bench_knobs *join(const struct bench_study *s, const struct bench_knobs *const *list, int n,
                                      int without)
{
    const struct bench_knobs *all = NULL;
    for (int i = 0; i < n; i++) {
        struct bench_knobs *both = ARENA_NEW(s->arena, struct bench_knobs);
        if (i == without)
            continue;
        if (all && !s->engine->measures->combine(all, list[i], s->arena, both))
            return NULL;
        all = all ? both : list[i];
    }
    return all;
}

/* Screens it, if it has not been; its score. */
static int screen_joined(struct bench_study *s, struct screening *f, const struct bench_knobs *launch, double *score,
                         struct err *e)
{
    const struct screening_launch *same = NULL;
    int rc = 0;
    for (int i = 0; i < f->count && launch->nsettings && !same; i++)
        same = bench_plan_same(f->items[i].launch, launch) ? &f->items[i] : NULL;
    if (!same) {
        add_launch(f, s->arena, launch);
        rc = screen(s, launch, BENCH_SCREENING_ROUND, e);
        score_all(s, f);
        same = &f->items[f->count - 1];
    }
    *score = same->score;
    return rc;
}

/* Screens both launches together, if that can be had; `*screened` says so. */
static int screen_together(struct bench_study *s, struct screening *f, const struct bench_knobs *x,
                           const struct bench_knobs *y, int *screened, struct err *e)
{
    const struct bench_knobs *list[] = {x, y}, *both = s->engine->measures->combine ? join(s, list, 2, -1) : NULL;
    double score;
    *screened = both != NULL;
    return both ? screen_joined(s, f, both, &score, e) : 0;
}

/* The best launch with each of what is tried beside any, while there is time. */
static int screen_beside(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct screening_launch *best = next_single(f, NULL);
    const struct bench_knobs *launch = best ? best->launch : NULL;
    int rc = 0, screened, n = s->plan.nbeside;
    for (int i = 0; i < n && launch && !rc && has_time(s, until_s); i++)
        rc = screen_together(s, f, launch, &s->plan.beside[i], &screened, e);
    return rc;
}

/* The best launch with the next best that goes with it, where that may pay. */
static int screen_pair(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct screening_launch *first = next_single(f, NULL), *second = first;
    const struct bench_knobs *launch = first ? first->launch : NULL;
    double limit = first ? WORTH_COMBINING * first->score : 0;
    int rc = 0, screened = 0;
    while (!rc && !screened && has_time(s, until_s) && (second = next_single(f, second)) && second->score <= limit)
        rc = screen_together(s, f, launch, second->launch, &screened, e);
    return rc;
}

/* Settings that are tried together. */
struct group {
    const struct bench_knobs **list;
    int n;
    double apart, together; /* scores: that of all if each does what it does alone; that of all */
    double spread;          /* spread_of */
};

/* The planned launches that are harmless alone and can be had together. Where all seem to cost something the default
 * has been lucky. */
static struct group list_harmless(const struct bench_study *s, struct screening *f)
{
    struct group g = {arena_alloc(s->arena, (size_t)f->count * sizeof(struct bench_knobs *)), 0, 1, 1, spread_of(s, f)};
    const struct screening_launch *best = next_single(f, NULL);
    double limit = (HARMLESS + g.spread) * (best ? fmax(1, best->score) : 1);
    for (int i = 1; i < s->plan.nlaunches && s->engine->measures->combine; i++) {
        g.list[g.n] = f->items[i].launch;
        if (f->items[i].score > limit || !join(s, g.list, g.n + 1, -1))
            continue;
        g.apart *= f->items[i].score;
        g.n++;
    }
    return g;
}

/* Leaves in `g` those without which the others are slower; who was not left out for lack of time stays. Most make no
 * difference: the median says what all do together, better than the one session of all. What was left out only to ask
 * goes no further. `apart`: the score to be had without them. */
static int keep_missed(struct bench_study *s, struct screening *f, struct group *g, double apart, double until_s,
                       struct err *e)
{
    double *scores = arena_alloc(s->arena, (size_t)(2 * g->n + 1) * sizeof *scores), *order = scores + g->n;
    int done = 0, rc = 0, kept = 0, known = f->count;
    for (; done < g->n && !rc && has_time(s, until_s); done++)
        rc = screen_joined(s, f, join(s, g->list, g->n, done), &scores[done], e);
    memcpy(order, scores, (size_t)done * sizeof *order);
    order[done] = g->together;
    stats_sort(order, done + 1);
    double all = order[done / 2], limit = all * fmin(HARMLESS + g->spread, fmax(HARMLESS, sqrt(apart / all)));
    for (int i = 0; i < g->n; i++)
        if (i >= done || scores[i] > limit)
            g->list[kept++] = g->list[i];
    g->n = kept;
    f->count = known;
    return rc;
}

/* Whether each can be left out once before; where starts are alike, one of them. */
static int has_time_to_ask(const struct bench_study *s, const struct group *g, double until_s)
{
    return has_time(s, until_s - (g->spread < QUIET ? 0 : g->n - 1) * (s->time.start_s + s->time.visit_s));
}

/* Settings may gain only together, whatever each costs or does alone: all that are harmless alone are tried at once,
 * and where that may pay each is left out once, until all that are left are missed. A factorial design takes more
 * sessions and finds fewer (doc/STATISTICS.md). */
static int screen_groups(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    struct group g = list_harmless(s, f);
    const struct screening_launch *best = next_single(f, NULL);
    double alone = best ? fmin(1, best->score * (1 + g.spread)) : 1;
    if (g.n < 3 || !has_time(s, until_s))
        return 0;
    int rc = screen_joined(s, f, join(s, g.list, g.n, -1), &g.together, e), before = g.n + 1;
    /* Whether it is worth the time to ask which of them it takes: they gain more than the best alone, or than all
     * should; or those that cost something may hide it, and there is much time. */
    int asked = rc || g.together < TOGETHER * alone ||
                g.together < TOGETHER * g.apart * exp(-g.spread * sqrt(g.n) / 2) ||
                (g.spread >= QUIET && has_time_to_ask(s, &g, leave_pairs_s(s, until_s, MANY_PAIRS)));
    until_s = leave_pairs_s(s, until_s, GOOD_PAIRS);
    while (asked && !rc && g.n > 2 && g.n < before && has_time_to_ask(s, &g, until_s)) {
        before = g.n;
        rc = keep_missed(s, f, &g, fmax(alone, g.apart), until_s, e);
        if (!rc && g.n > 1 && g.n < before)
            rc = screen_joined(s, f, join(s, g.list, g.n, -1), &g.together, e);
    }
    return rc;
}

/* Who seems to cost a little may have had a bad start: those that are not out of the question have another, unless
 * starts are alike, which may be chance where two are. */
static int screen_doubtful(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    int rc = 0;
    until_s = leave_pairs_s(s, until_s, MANY_PAIRS);
    for (int i = s->plan.nlaunches - 1, twice = 1; i > 0 && !rc && has_time(s, until_s); i--) {
        int alike = twice > 2 && spread_of(s, f) < QUIET;
        if (alike || !(f->items[i].score <= DOUBTFUL))
            continue;
        rc = screen(s, f->items[i].launch, BENCH_AGAIN_ROUND, e);
        twice++;
    }
    return rc;
}

static int screen_singles(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    int rc = 0, n = f->count;
    for (int i = 0; i < n && !rc; i++) {
        if (i && !has_time(s, until_s)) {
            log_info(s->log, "%d of %d launches were not tried for lack of time; --budget gives more", n - i, n);
            break;
        }
        rc = screen(s, f->items[i].launch, BENCH_SCREENING_ROUND, e);
    }
    if (!rc)
        rc = screen(s, f->items[0].launch, BENCH_AGAIN_ROUND, e);
    /* Those that have died once get a second try: it may have been somebody else's doing. */
    for (int i = 1; i < n && !rc; i++)
        if (known_deaths(s->results, f->items[i].launch->label) == 1 && has_time(s, until_s))
            rc = screen(s, f->items[i].launch, BENCH_SCREENING_ROUND, e);
    return rc;
}

static int screen_all(struct bench_study *s, struct screening *f, struct err *e)
{
    static int (*const steps[])(struct bench_study *, struct screening *, double, struct err *) = {
        screen_singles, screen_doubtful, screen_beside, screen_pair, screen_groups};
    double now_s = progress_now_s(), until_s = now_s + BUDGET_SCREEN_PART * fmax(0, s->time.deadline_s - now_s);
    int rc = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !rc; i++) {
        double together_s =
            s->time.deadline_s - s->time.calls_s - LEAST_PAIRS * 2 * (s->time.start_s + s->time.visit_s);
        rc = steps[i](s, f, i ? fmax(until_s, together_s) : until_s, e);
        score_all(s, f);
    }
    return rc;
}

/* Who goes on: the default, and behind it those that are no slower, the best first. */
static void select_finalists(const struct bench_study *s, struct screening *f)
{
    struct screening_launch *order = arena_alloc(s->arena, (size_t)f->count * sizeof *order), *x = NULL;
    double limit = 1 + spread_of(s, f);
    int n = 0;
    order[n++] = f->items[0];
    while ((x = next_single(f, x)) && x->score <= limit)
        order[n++] = *x;
    f->items = order;
    f->count = n;
}

int screening_run(struct bench_study *s, struct screening *f, struct err *e)
{
    int rc = screen_all(s, f, e);
    if (!rc)
        select_finalists(s, f);
    return rc;
}

int screening_default(struct bench_study *s, const struct screening *f, struct err *e)
{
    return screen(s, f->items[0].launch, BENCH_PROBE_ROUND, e);
}

int screening_worth(struct bench_study *s, const struct bench_knobs *launch, const struct bench_knobs *without,
                    double *worth, struct err *e)
{
    int rc = screen(s, launch, BENCH_SCREENING_ROUND, e);
    if (!rc)
        rc = screen(s, without, BENCH_SCREENING_ROUND, e);
    *worth = time_over(s, without, launch);
    return rc;
}
