/* Which launches are visited when.
 *
 * With several launches a screening comes first: each is asked for a few points with the library's own algorithm, and
 * is left at the first one at which it is hopeless. The survivors and the default then take turns, so that what drifts
 * during the run (heat, other people's traffic) meets all alike. */
#include "bench/search/conduct.h"

#include <math.h>
#include <string.h>

/* The part of the budget that screening may take. */
#define SCREEN_SHARE 0.35

/* Visits to every launch after screening: time is dealt out for the first number, and what is then left of it may go
 * into as many as the second. Every visit is a fresh session, so that what differs from one to the next is seen too. */
#define ROUNDS      2
#define MOST_ROUNDS 4

/* A launch within this factor of the best one, on average over the decisive points, is examined with all calls; and as
 * many of them at most, the default aside. */
#define CLOSE_TO_BEST 1.3
#define FULL_LIMIT    2

/* Two launches are worth trying together when the second is not much slower: of two interfaces each carries a part of a
 * message in proportion to announced speeds, and the slower part is waited for. */
#define WORTH_COMBINING 2.5

struct candidate {
    const struct bench_knobs *launch;
    double score; /* weighted geometric mean over the decisive points of its time over the best; INFINITY: out */
    int full;
};

struct screening {
    struct candidate *items;
    int count;
};

uint64_t *bench_sizes(const struct bench_options *o, struct arena *a, int *count)
{
    uint64_t *sizes = NULL;
    *count = o->sizes.count;
    if (*count) {
        sizes = arena_alloc(a, (size_t)*count * sizeof *sizes);
        memcpy(sizes, o->sizes.bytes, (size_t)*count * sizeof *sizes);
        return sizes;
    }
    for (double v = (double)o->min_bytes; (uint64_t)v < o->max_bytes; v *= o->step_factor) {
        uint64_t bytes = (uint64_t)v;
        if (*count && bytes == sizes[*count - 1])
            continue;
        sizes = arena_grow(a, sizes, (size_t)*count, sizeof *sizes);
        sizes[(*count)++] = bytes;
    }
    sizes = arena_grow(a, sizes, (size_t)*count, sizeof *sizes);
    sizes[(*count)++] = o->max_bytes;
    return sizes;
}

int bench_stopped(const struct bench_study *s)
{
    return *s->stop != 0;
}

/* ---- screening ---- */

static int screen(struct bench_study *s, const struct bench_knobs *launch, double until_s, struct err *e)
{
    if (history_dead(s->results, launch->label))
        return 0;
    struct search_session v = {.launch = launch, .decisive = 1, .until_s = until_s};
    return search_session_run(s, &v, e);
}

/* Times of the default call of `launch` at the decisive points, 0 unknown. */
static int screening_times(const struct bench_study *s, const struct bench_knobs *launch, double times[BENCH_DECISIVE])
{
    struct bench_place places[BENCH_DECISIVE];
    int n = bench_screening(s, places);
    for (int i = 0; i < n; i++) {
        struct history_place at = bench_place_of(s, places[i].coll, places[i].size, launch->label);
        times[i] = history_time_us(s->results, &at, BENCH_DEFAULT);
    }
    return n;
}

/* What each decisive point counts: the time that a step spends there, as far as the default tells; all the same without
 * a workload. */
static void screening_weights(const struct bench_study *s, double weights[BENCH_DECISIVE])
{
    struct bench_place places[BENCH_DECISIVE];
    double us[BENCH_DECISIVE] = {0};
    int n = bench_screening(s, places);
    screening_times(s, &s->plan.launches[0], us);
    for (int i = 0; i < n; i++)
        weights[i] = !s->calls ? 1
                               : bench_calls(s, places[i].coll, places[i].size) *
                                     (us[i] > 0 ? us[i] : bench_guess_us(s->sizes[places[i].size]));
}

static void score_all(const struct bench_study *s, struct screening *f)
{
    double best[BENCH_DECISIVE], times[BENCH_DECISIVE], weights[BENCH_DECISIVE];
    for (int k = 0; k < BENCH_DECISIVE; k++)
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

static void add_candidate(struct screening *f, struct arena *a, const struct bench_knobs *launch)
{
    f->items = arena_grow(a, f->items, (size_t)f->count, sizeof *f->items);
    f->items[f->count++] = (struct candidate){.launch = launch, .score = INFINITY};
}

/* The best candidate after `before` (NULL: of all) in the order of scores, among launches other than the default; NULL
 * none. */
static struct candidate *next_single(struct screening *f, const struct candidate *before)
{
    struct candidate *next = NULL;
    for (int i = 1; i < f->count; i++) {
        struct candidate *x = &f->items[i];
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
    add_candidate(f, s->arena, both);
    return screen(s, both, until_s, e);
}

/* The best launch with each of what is tried beside any, while there is time. */
static int screen_beside(struct bench_study *s, struct screening *f, double until_s, struct err *e)
{
    const struct candidate *best = next_single(f, NULL);
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
    const struct candidate *first = next_single(f, NULL), *second = first;
    const struct bench_knobs *launch = first ? first->launch : NULL;
    double limit = first ? WORTH_COMBINING * first->score : 0;
    int rc = 0, screened = 0;
    while (!rc && !screened && (second = next_single(f, second)) && second->score <= limit)
        rc = screen_together(s, f, launch, second->launch, until_s, &screened, e);
    score_all(s, f);
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
    if (rc || bench_stopped(s))
        return rc;
    score_all(s, f);
    if (progress_now_s() >= until_s)
        return 0;
    rc = screen_beside(s, f, until_s, e);
    return rc || bench_stopped(s) ? rc : screen_pair(s, f, until_s, e);
}

static void examine(const struct bench_study *s, struct candidate *x)
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
    for (struct candidate *x = NULL; full < FULL_LIMIT && (x = next_single(f, x)) && x->score <= CLOSE_TO_BEST * best;
         full++)
        examine(s, x);
    for (int i = 1; i < f->count; i++)
        if (f->items[i].full)
            f->items[kept++] = f->items[i];
    f->count = kept;
}

/* ---- rounds ---- */

/* A visit with all calls is worth three with the default alone. */
static double weight_of(const struct candidate *x)
{
    return x->full ? 3 : 1;
}

static int run_round(struct bench_study *s, struct screening *f, int round, struct err *e)
{
    double rounds_left = round < ROUNDS ? ROUNDS - round + 1 : 1, weights = 0;
    for (int i = 0; i < f->count; i++)
        weights += rounds_left * weight_of(&f->items[i]);
    int rc = 0;
    for (int i = 0; i < f->count && !rc && !bench_stopped(s); i++) {
        double now = progress_now_s(), weight = weight_of(&f->items[i]);
        struct search_session v = {.launch = f->items[i].launch, .round = round, .full = f->items[i].full};
        v.until_s = now + fmax(0, s->deadline_s - now) * weight / weights;
        weights -= weight;
        if (i == 0 || !history_dead(s->results, v.launch->label))
            rc = search_session_run(s, &v, e);
    }
    return rc;
}

static int run_rounds(struct bench_study *s, struct screening *f, struct err *e)
{
    int points = bench_count_points(s), rc = 0;
    double last_s = 0;
    s->units = s->done + (double)ROUNDS * points * f->count;
    for (int round = 1; round <= MOST_ROUNDS && !rc && !bench_stopped(s); round++) {
        double start = progress_now_s();
        if (round > ROUNDS && start + last_s > s->deadline_s)
            break;
        if (round > ROUNDS)
            s->units += (double)points * f->count;
        rc = run_round(s, f, round, e);
        last_s = progress_now_s() - start;
    }
    return rc;
}

int bench_conduct(struct bench_study *s, struct err *e)
{
    struct screening f = {0};
    int rc = 0;
    for (int i = 0; i < s->plan.nlaunches; i++)
        add_candidate(&f, s->arena, &s->plan.launches[i]);
    s->units = bench_count_points(s) * ROUNDS * 2 + (double)BENCH_DECISIVE * f.count;
    if (f.count > 1 && !s->plan.keep_all) {
        rc = screen_all(s, &f, e);
        if (!rc && !bench_stopped(s))
            select_survivors(s, &f);
    }
    for (int i = 0; i < f.count && (f.count == 1 || s->plan.keep_all); i++)
        f.items[i].full = 1;
    if (!rc)
        rc = run_rounds(s, &f, e);
    s->summary->interrupted = bench_stopped(s);
    return rc;
}
