/* Launches alone, then the best ones together; each is left at the first point at which it is hopeless. */
#include "bench/search/screening.h"

#include <math.h>
#include <string.h>

#include "bench/results/sessions.h"
#include "bench/search/budget.h"
#include "bench/search/session.h"

/* What launches gain together is tried as long as there is time for so many pairs of sessions behind it, and which of
 * them it takes while there is time for more. */
#define LEAST_PAIRS BENCH_FEWEST_SESSIONS
#define GOOD_PAIRS  (2 * BENCH_FEWEST_SESSIONS)

/* What the default's two sessions differ by says what one session is good for, up to this. */
#define MOST_SPREAD 0.1

/* Together with others a launch may cost so much alone; and what they gain together over the best one alone has to be
 * as much to be looked into. */
#define HARMLESS 1.03
#define TOGETHER 0.96

/* Two launches are worth trying together when the second is not much slower: of two interfaces each carries a part of a
 * message in proportion to announced speeds, and the slower part is waited for. */
#define WORTH_COMBINING 2.5

static void add_launch(struct screening *f, struct arena *a, const struct bench_knobs *launch)
{
    f->items = arena_grow(a, f->items, (size_t)f->count, sizeof *f->items);
    f->items[f->count++] = (struct screening_launch){.launch = launch, .score = INFINITY};
}

void screening_begin(const struct bench_study *s, struct screening *f)
{
    for (int i = 0; i < s->plan.nlaunches; i++)
        add_launch(f, s->arena, &s->plan.launches[i]);
}

static int screen_in(struct bench_study *s, const struct bench_knobs *launch, int round, struct err *e)
{
    if (history_dead(s->results, launch->label))
        return 0;
    struct search_session v = {
        .launch = launch, .round = round, .screening = 1, .part = 0.2, .least_s = s->want_visit_s};
    return search_session_run(s, &v, e);
}

static int screen(struct bench_study *s, const struct bench_knobs *launch, struct err *e)
{
    return screen_in(s, launch, BENCH_SCREENING_ROUND, e);
}

/* Whether one more session starts before. */
static int has_time(const struct bench_study *s, double until_s)
{
    return progress_now_s() + s->start_s <= until_s;
}

/* Times of the default call of `launch` at the screening points, 0 unknown: of the default launch the mean of both its
 * sessions. */
static int screening_times(const struct bench_study *s, const struct bench_knobs *launch,
                           double times[BENCH_SCREENING_POINTS])
{
    struct bench_place places[BENCH_SCREENING_POINTS];
    int n = bench_screening_points(s, places);
    for (int i = 0; i < n; i++) {
        struct history_place at = bench_place_of(s, places[i], launch->label);
        double us = history_undisturbed_us(s->results, &at, BENCH_DEFAULT, BENCH_SCREENING_ROUND);
        double again = history_undisturbed_us(s->results, &at, BENCH_DEFAULT, BENCH_AGAIN_ROUND);
        times[i] = us > 0 && again > 0 ? sqrt(us * again) : us;
    }
    return n;
}

/* By how much two sessions of the same launch differ here: the default's. */
static double spread_of(const struct bench_study *s)
{
    struct bench_place places[BENCH_SCREENING_POINTS];
    int n = bench_screening_points(s, places), both = 0;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        struct history_place at = bench_place_of(s, places[i], BENCH_DEFAULT);
        double us = history_undisturbed_us(s->results, &at, BENCH_DEFAULT, BENCH_SCREENING_ROUND);
        double again = history_undisturbed_us(s->results, &at, BENCH_DEFAULT, BENCH_AGAIN_ROUND);
        if (!(us > 0) || !(again > 0))
            continue;
        sum += log(us / again);
        both++;
    }
    return both ? fmin(fabs(sum / both), MOST_SPREAD) : 0;
}

/* What each screening point counts: the time that a step spends there, as far as the default tells; all the same
 * without a workload. */
static void screening_weights(const struct bench_study *s, double weights[BENCH_SCREENING_POINTS])
{
    struct bench_place places[BENCH_SCREENING_POINTS];
    double us[BENCH_SCREENING_POINTS] = {0};
    int n = bench_screening_points(s, places);
    screening_times(s, &s->plan.launches[0], us);
    for (int i = 0; i < n; i++)
        weights[i] =
            !s->calls ? 1 : bench_calls(s, places[i]) * (us[i] > 0 ? us[i] : bench_guess_us(s->sizes[places[i].size]));
}

static void score_all(const struct bench_study *s, struct screening *f)
{
    double best[BENCH_SCREENING_POINTS], times[BENCH_SCREENING_POINTS], weights[BENCH_SCREENING_POINTS];
    for (int k = 0; k < BENCH_SCREENING_POINTS; k++)
        best[k] = INFINITY;
    screening_weights(s, weights);
    for (int i = 0; i < f->count; i++) {
        int n = screening_times(s, f->items[i].launch, times);
        for (int k = 0; k < n; k++)
            if (times[k] > 0 && times[k] < best[k])
                best[k] = times[k];
    }
    for (int i = 0; i < f->count; i++) {
        double sum = 0, weight = 0;
        int n = screening_times(s, f->items[i].launch, times);
        for (int k = 0; k < n; k++) {
            if (!isfinite(best[k])) /* nobody: too few bytes for so many ranks */
                continue;
            sum += weights[k] * (times[k] > 0 ? log(times[k] / best[k]) : INFINITY);
            weight += weights[k];
        }
        f->items[i].score = weight > 0 ? exp(sum / weight) : INFINITY;
    }
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

/* Screens both launches together, if that can be had; `*screened` says so. */
static int screen_together(struct bench_study *s, struct screening *f, const struct bench_knobs *x,
                           const struct bench_knobs *y, int *screened, struct err *e)
{
    struct bench_knobs *both = ARENA_NEW(s->arena, struct bench_knobs);
    *screened = s->engine->combine && s->engine->combine(x, y, s->arena, both);
    if (!*screened)
        return 0;
    add_launch(f, s->arena, both);
    return screen(s, both, e);
}

/* The best launch with each of what is tried beside any, while there is time. */
static int screen_beside(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct screening_launch *best = next_single(f, NULL);
    const struct bench_knobs *launch = best ? best->launch : NULL;
    int rc = 0, screened, n = s->plan.nbeside;
    for (int i = 0; i < n && launch && !rc && has_time(s, until_s) && !bench_stopped(s); i++)
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

/* Those that have died once get a second try: it may have been somebody else's doing. */
static int screen_dead_again(struct bench_study *s, const struct screening *f, int n, double until_s, struct err *e)
{
    int rc = 0;
    for (int i = 1; i < n && !rc && !bench_stopped(s); i++)
        if (history_deaths(s->results, f->items[i].launch->label) == 1 && has_time(s, until_s))
            rc = screen(s, f->items[i].launch, e);
    return rc;
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
        if (all && !s->engine->combine(all, list[i], s->arena, both))
            return NULL;
        all = all ? both : list[i];
    }
    return all;
}

/* Screens it; its score over the default's. */
static int screen_joined(struct bench_study *s, struct screening *f, const struct bench_knobs *launch, double *score,
                         struct err *e)
{
    add_launch(f, s->arena, launch);
    int rc = screen(s, launch, e);
    score_all(s, f);
    *score = f->items[f->count - 1].score / f->items[0].score;
    return rc;
}

/* The planned launches that are harmless alone and can be had together, into `list`. */
static int list_harmless(const struct bench_study *s, const struct screening *f, const struct bench_knobs **list)
{
    int n = 0;
    for (int i = 1; i < s->plan.nlaunches && s->engine->combine; i++)
        if (f->items[i].score <= (HARMLESS + spread_of(s)) * f->items[0].score) {
            list[n++] = f->items[i].launch;
            n -= !join(s, list, n, -1);
        }
    return n;
}

/* Settings may gain only together, whatever each costs or does alone: all that are harmless alone are tried at once,
 * and where that pays they are taken out again one by one, as long as nothing is lost. A factorial design takes more
 * sessions and finds fewer (doc/STATISTICS.md). */
static int screen_groups(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct bench_knobs **list = arena_alloc(s->arena, (size_t)f->count * sizeof(struct bench_knobs *));
    const struct screening_launch *best = next_single(f, NULL);
    double alone = best ? best->score / f->items[0].score : 1, together, score;
    int n = list_harmless(s, f, list), rc;
    if (n < 3 || !has_time(s, until_s))
        return 0;
    rc = screen_joined(s, f, join(s, list, n, -1), &together, e);
    if (rc || !(together < TOGETHER * fmin(alone, 1)))
        return rc;
    until_s -= (GOOD_PAIRS - LEAST_PAIRS) * 2 * (s->start_s + s->visit_s);
    for (int i = n - 1; i >= 0 && n > 1 && !rc && has_time(s, until_s) && !bench_stopped(s); i--) {
        rc = screen_joined(s, f, join(s, list, n, i), &score, e);
        if (!(score <= HARMLESS * together))
            continue;
        memmove(list + i, list + i + 1, (size_t)(n - i - 1) * sizeof(struct bench_knobs *));
        n--;
        together = fmin(score, together);
    }
    return rc;
}

static int screen_singles(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    int rc = 0, n = f->count;
    for (int i = 0; i < n && !rc && !bench_stopped(s); i++) {
        if (i && !has_time(s, until_s)) {
            log_info(s->log, "%d of %d launches were not tried for lack of time; --budget gives more", n - i, n);
            break;
        }
        rc = screen(s, f->items[i].launch, e);
    }
    if (!rc && !bench_stopped(s))
        rc = screen_in(s, f->items[0].launch, BENCH_AGAIN_ROUND, e);
    return rc ? rc : screen_dead_again(s, f, n, until_s, e);
}

/* How long launches may be tried together, when launches alone may be until `until_s`. */
static double together_until_s(const struct bench_study *s, double until_s)
{
    return fmax(until_s, s->deadline_s - s->calls_s - LEAST_PAIRS * 2 * (s->start_s + s->visit_s));
}

static int screen_all(struct bench_study *s, struct screening *f, struct err *e)
{
    static int (*const steps[])(struct bench_study *, struct screening *, double,
                                struct err *) = {screen_singles, screen_beside, screen_pair, screen_groups};
    double now_s = progress_now_s(), until_s = now_s + BUDGET_SCREEN_PART * fmax(0, s->deadline_s - now_s);
    int rc = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !rc && !bench_stopped(s); i++) {
        rc = steps[i](s, f, i ? together_until_s(s, until_s) : until_s, e);
        score_all(s, f);
    }
    return rc;
}

/* Who goes on: the default, and behind it those that are no slower, the best first. */
static void select_finalists(const struct bench_study *s, struct screening *f)
{
    struct screening_launch *order = arena_alloc(s->arena, (size_t)f->count * sizeof *order), *x = NULL;
    double limit = (1 + spread_of(s)) * f->items[0].score;
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
    if (!rc && !bench_stopped(s))
        select_finalists(s, f);
    return rc;
}
