/* Launches alone, then the best ones together; each is left at the first point at which it is hopeless. */
#include "bench/search/screening.h"

#include <math.h>

#include "bench/search/session.h"

/* The part of the budget that screening may take. */
#define SCREEN_SHARE 0.35

/* A launch within this factor of the best one, on average over the screening points, is examined with all calls; and as
 * many of them at most, the default aside. */
#define CLOSE_TO_BEST 1.3
#define FULL_LIMIT    2

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

static int screen(struct bench_study *s, const struct bench_knobs *launch, double until_s, struct err *e)
{
    if (history_dead(s->results, launch->label))
        return 0;
    struct search_session v = {.launch = launch, .screening = 1, .until_s = until_s};
    return search_session_run(s, &v, e);
}

/* Times of the default call of `launch` at the screening points, 0 unknown. */
static int screening_times(const struct bench_study *s, const struct bench_knobs *launch,
                           double times[BENCH_SCREENING_POINTS])
{
    struct bench_place places[BENCH_SCREENING_POINTS];
    int n = bench_screening_points(s, places);
    for (int i = 0; i < n; i++) {
        struct history_place at = bench_place_of(s, places[i], launch->label);
        times[i] = history_time_us(s->results, &at, BENCH_DEFAULT);
    }
    return n;
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
            sum += weights[k] * (times[k] > 0 ? log(times[k] / best[k]) : INFINITY);
            weight += weights[k];
        }
        f->items[i].score = n ? exp(sum / weight) : INFINITY;
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
                           const struct bench_knobs *y, double until_s, int *screened, struct err *e)
{
    struct bench_knobs *both = ARENA_NEW(s->arena, struct bench_knobs);
    *screened = s->engine->combine && s->engine->combine(x, y, s->arena, both);
    if (!*screened)
        return 0;
    add_launch(f, s->arena, both);
    return screen(s, both, until_s, e);
}

/* The best launch with each of what is tried beside any, while there is time. */
static int screen_beside(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct screening_launch *best = next_single(f, NULL);
    const struct bench_knobs *launch = best ? best->launch : NULL;
    int rc = 0, screened, n = s->plan.nbeside;
    for (int i = 0; i < n && launch && !rc && !bench_stopped(s); i++) {
        double now = progress_now_s();
        if (now < until_s)
            rc = screen_together(s, f, launch, &s->plan.beside[i], now + (until_s - now) / (n + 1 - i), &screened, e);
    }
    score_all(s, f);
    return rc;
}

/* The best launch with the next best that goes with it, where that may pay. */
static int screen_pair(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct screening_launch *first = next_single(f, NULL), *second = first;
    const struct bench_knobs *launch = first ? first->launch : NULL;
    double limit = first ? WORTH_COMBINING * first->score : 0;
    int rc = 0, screened = 0;
    while (!rc && !screened && (second = next_single(f, second)) && second->score <= limit)
        rc = screen_together(s, f, launch, second->launch, until_s, &screened, e);
    score_all(s, f);
    return rc;
}

/* Those that have died once get a second try: it may have been somebody else's doing. */
static int screen_dead_again(struct bench_study *s, const struct screening *f, int n, double until_s, struct err *e)
{
    int rc = 0;
    for (int i = 1; i < n && !rc && !bench_stopped(s); i++)
        if (history_deaths(s->results, f->items[i].launch->label) == 1 && progress_now_s() < until_s)
            rc = screen(s, f->items[i].launch, until_s, e);
    return rc;
}

static int screen_all(struct bench_study *s, struct screening *f, struct err *e)
{
    double until_s = s->started_s + SCREEN_SHARE * (s->deadline_s - s->started_s);
    int rc = 0, n = f->count, more = 1 + s->plan.nbeside;
    for (int i = 0; i < n && !rc && !bench_stopped(s); i++) {
        double now = progress_now_s();
        if (i && now >= until_s) {
            log_info(s->log, "%d of %d launches were not tried for lack of time; --budget gives more", n - i, n);
            break;
        }
        rc = screen(s, f->items[i].launch, now + fmax(0, until_s - now) / (n + more - i), e);
    }
    rc = rc ? rc : screen_dead_again(s, f, n, until_s, e);
    if (rc || bench_stopped(s))
        return rc;
    score_all(s, f);
    if (progress_now_s() >= until_s)
        return 0;
    rc = screen_beside(s, f, until_s, e);
    return rc || bench_stopped(s) ? rc : screen_pair(s, f, until_s, e);
}

static void examine(const struct bench_study *s, struct screening_launch *x)
{
    x->full = 1;
    log_info(s->log, "launch %s: %.2f times the best launch's time on average; examined with all calls",
             x->launch->label, x->score);
}

/* Who goes on: the default always, the others when they are close to the best. The default's calls are worth knowing
 * when it is close itself: the others may not win beyond doubt. */
static void select_survivors(struct bench_study *s, struct screening *f)
{
    double best = INFINITY;
    for (int i = 0; i < f->count; i++)
        best = fmin(best, f->items[i].score);
    int full = 0, kept = 1;
    if (f->items[0].score <= CLOSE_TO_BEST * best)
        examine(s, &f->items[0]);
    for (struct screening_launch *x = NULL;
         full < FULL_LIMIT && (x = next_single(f, x)) && x->score <= CLOSE_TO_BEST * best; full++)
        examine(s, x);
    for (int i = 1; i < f->count; i++)
        if (f->items[i].full)
            f->items[kept++] = f->items[i];
    f->count = kept;
}

int screening_run(struct bench_study *s, struct screening *f, struct err *e)
{
    int rc = screen_all(s, f, e);
    if (!rc && !bench_stopped(s))
        select_survivors(s, f);
    return rc;
}
