/* The call decisions: per collective and size the call that beats the launch's own default, one for all shapes that a
 * tuner cannot tell apart, merged into ranges. */
#include "envgen/decide/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/units.h"
#include "envgen/decide/decide.h"

/* The smallest size that bench measures. A range that begins there holds for anything smaller too. */
#define SMALLEST_BYTES 8

static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};

static const struct bench_knobs *choice(const struct env_point *p)
{
    return p->chosen < 0 ? &untouched : &p->options[p->chosen].call;
}

static int same_choice(const struct env_point *x, const struct env_point *y)
{
    return !strcmp(choice(x)->label, choice(y)->label);
}

/* ---- one size ---- */

/* The points of one collective in one of the shapes that a tuner cannot tell apart: one group alone or several at once,
 * one type of data or another; and in all of them. */
struct side {
    const struct env_shape *shape;
    struct decide_slice slice;
    struct env_point *points; /* of the slice */
};

struct sides {
    struct side *items;
    int n;
    const char **banned; /* labels of calls that are not trusted, sorted */
    int nbanned;
};

/* A call that failed, hung or gave wrong data at one size of the collective is not trusted at another, nor in a shape
 * that a tuner cannot tell from that one. */
static void list_banned(struct sides *all, struct arena *a)
{
    all->nbanned = 0;
    for (const struct side *side = all->items; side < all->items + all->n; side++)
        for (int i = 0; i < side->slice.count; i++)
            for (int c = 0; c < side->slice.points[i].ncandidates; c++) {
                const struct bench_candidate *x = &side->slice.points[i].candidates[c];
                if (x->status < BENCH_WRONG || !strcmp(x->call.label, BENCH_DEFAULT))
                    continue;
                ARENA_ADD(a, all->banned, all->nbanned) = x->call.label;
            }
    if (all->nbanned)
        qsort((void *)all->banned, (size_t)all->nbanned, sizeof *all->banned, arena_compare_texts);
}

/* Where a candidate stands in the journals: "results.jsonl:7,31". */
static const char *lines_of(struct arena *a, const struct bench_candidate *c)
{
    const char *source = NULL;
    struct file_out text;
    file_out_begin(&text);
    for (int i = 0; i < c->nresults; i++) {
        const struct bench_result *r = c->results[i];
        const char *own = r->source ? r->source : "results.jsonl";
        if (source && !strcmp(source, own))
            fprintf(text.stream, ",%ld", r->line);
        else
            fprintf(text.stream, "%s%s:%ld", source ? " " : "", own, r->line);
        source = own;
    }
    file_out_flush(&text);
    const char *lines = arena_strndup(a, text.data, text.bytes);
    file_out_abandon(&text);
    return lines;
}

static struct env_point read_point(struct env_decisions *d, const struct bench_point *p, const char *launch,
                                   const struct sides *all)
{
    struct env_point out = {.bytes = p->bytes, .fallback = -1, .chosen = -1};
    const struct bench_candidate *fallback = bench_point_default(p, launch);
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        if (strcmp(c->launch.label, launch) != 0)
            continue;
        struct env_option *o = &ARENA_ADD(d->arena, out.options, out.noptions);
        *o = (struct env_option){.call = decide_knobs(d->arena, &c->call),
                                 .time_us = c->time_us,
                                 .status = c->status,
                                 .lines = lines_of(d->arena, c)};
        if (c == fallback)
            out.fallback = out.noptions - 1;
        o->banned = all->nbanned && bsearch(&c->call.label, (const void *)all->banned, (size_t)all->nbanned,
                                            sizeof *all->banned, arena_compare_texts);
        /* What starts have proven, else what times say, which decides nothing. */
        if (fallback && o->time_us.n > 0 && o->time_us.low > 0)
            o->gain = c->proof.n ? c->proof : bench_gain(fallback->time_us, o->time_us);
        o->runs = fallback ? c->proof.n : 0;
    }
    if (p->untouched >= 0 && decide_timed(&p->candidates[p->untouched]))
        out.untouched_us = p->candidates[p->untouched].time_us;
    return out;
}

/* The call that gains most of those whose gain over the launch's default clears the margin, else that default. Times
 * alone would not do: one may have been measured while the machine was busy, and another not. */
static void choose(const struct env_decisions *d, struct env_point *p, const struct bench_point *at)
{
    p->chosen = p->fallback;
    for (int i = 0; i < p->noptions && p->fallback >= 0; i++) {
        const struct env_option *o = &p->options[i];
        if (i == p->fallback || o->status != BENCH_OK || !bench_gain_clears(o->gain, d->margin) ||
            o->gain.median <= p->options[p->chosen].gain.median || o->banned ||
            (d->predicted && bench_evidence_of(at->engine) == BENCH_PREDICTED &&
             !predict_is_proven(d->record, at, &o->call)))
            continue;
        p->chosen = i;
    }
}

/* ---- neighbours ---- */

/* Takes a point's choice over from its neighbours where they agree, it is proven here, too, and hardly slower. */
static void smooth(struct env_point *p, const struct env_point *left, const struct env_point *right, double margin)
{
    int theirs = env_find_option(p, choice(left)->label);
    if (!same_choice(left, right) || same_choice(p, left) || p->chosen < 0 || theirs < 0)
        return;
    const struct env_option *own = &p->options[p->chosen], *other = &p->options[theirs];
    if (other->status != BENCH_OK || other->banned || !bench_gain_clears(other->gain, margin) ||
        own->gain.median >= (1 + margin) * other->gain.median)
        return;
    p->chosen = theirs;
    p->smoothed = 1;
}

/* Whether the choice at a point is no slower than the default at another one, too: by what starts have proven there,
 * or by more than the start may be off that has explored it. */
static int holds_at(const struct env_decisions *d, const struct env_point *p, const struct env_point *other)
{
    int same = env_find_option(other, choice(p)->label);
    if (p->chosen < 0 || p->chosen == p->fallback)
        return 1;
    if (same < 0 || other->options[same].status > BENCH_DROPPED)
        return 0;
    const struct bench_interval *gain = &other->options[same].gain;
    return gain->median >= (gain->worth > 0 ? 1 : exp(2 * d->spread));
}

/* Where the choice of the smaller of two neighbours ends, and that of the larger begins: a choice holds between them as
 * long as it does at the other one, too. Where both do they meet in the middle; what neither has is NCCL's. */
static void share_gap(const struct env_decisions *d, const struct env_point *smaller, const struct env_point *larger,
                      uint64_t *end, uint64_t *begin)
{
    int up = holds_at(d, smaller, larger), down = holds_at(d, larger, smaller);
    /* Their geometric mean, as sizes are spaced geometrically. */
    long double mean = ceill(sqrtl((long double)smaller->bytes * (long double)larger->bytes));
    uint64_t middle = mean > (long double)smaller->bytes ? (uint64_t)mean : smaller->bytes + 1;
    middle = middle < larger->bytes ? middle : larger->bytes;
    *end = !up ? smaller->bytes : down ? middle - 1 : larger->bytes - 1;
    *begin = !down ? larger->bytes : up ? middle : smaller->bytes + 1;
}

/* ---- laws through the largest sizes ---- */

/* A law goes through three sizes, each so many times the one before: where the best call changes sizes lie closer, and
 * through these everything is a straight line. */
#define APART 2
#define SIZES 3

/* How many times as steep the upper part of a line may seem as the lower, or the other way round: three times what 5 %
 * in each of three times does, a factor of four apart. */
#define BENT 1.3

static const struct env_option *option_of(const struct env_point *p, const char *call)
{
    int i = env_find_option(p, call);
    return i >= 0 && p->options[i].status <= BENCH_DROPPED && p->options[i].time_us.n ? &p->options[i] : NULL;
}

/* The largest sizes at which the call and the default were timed, the last one first; returns how many. */
static int largest(const struct env_point *points, int n, const char *call, const struct env_point *at[SIZES])
{
    int count = 0;
    for (int i = n - 1; i >= 0 && count < SIZES; i--)
        if ((!count || points[i].bytes * APART <= at[count - 1]->bytes) && option_of(&points[i], call) &&
            option_of(&points[i], BENCH_DEFAULT))
            at[count++] = &points[i];
    return count;
}

/* Microseconds a byte. */
static struct bench_interval slope_between(const struct env_point *lower, const struct env_point *upper,
                                           const char *call)
{
    struct bench_interval from = option_of(lower, call)->time_us, to = option_of(upper, call)->time_us;
    double bytes = (double)(upper->bytes - lower->bytes);
    return (struct bench_interval){(to.median - from.median) / bytes, (to.low - from.high) / bytes,
                                   (to.high - from.low) / bytes};
}

/* Of a straight line through three sizes: where the upper two are not as steep as the lower two it is none. Medians say
 * so as well, for wide intervals agree with anything. */
static int is_straight(const struct env_point *const at[SIZES], const char *call, struct bench_interval *steep)
{
    struct bench_interval before = slope_between(at[2], at[1], call);
    *steep = slope_between(at[1], at[0], call);
    return steep->low > 0 && steep->low <= before.high && before.low <= steep->high &&
           steep->median <= BENT * before.median && before.median <= BENT * steep->median;
}

/* Whether a call gets less steep than `steep` by the margin; those that `known` (may be NULL) has timed do not count.
 */
static int has_less_steep(const struct env_point *points, int n, double steep, double margin,
                          const struct env_point *known)
{
    const struct env_point *at[SIZES];
    for (int p = 0; p < n; p++)
        for (int i = 0; i < points[p].noptions; i++) {
            const char *label = points[p].options[i].call.label;
            if ((known && largest(known, n, label, at) >= 2) || largest(points, n, label, at) < 2)
                continue;
            double other = slope_between(at[1], at[0], label).median;
            if (other > 0 && (1 + margin) * other < steep)
                return 1;
        }
    return 0;
}

/* Return whether the choice at the last of `n` points, ascending, of one collective may go on without end: through the
 * three largest sizes, each twice the one before or more, time has to be a straight line in the size for it and for the
 * default, by their intervals, and so much steeper for the default that the gain clears the margin however large the
 * size gets; and its interval must show a gain at the last two of them, at the last one no less than before. No other
 * call that was measured may be less steep by the margin either: NCCL may turn to it by itself. What there was no time
 * for in this launch is judged by `untouched_points`, the same sizes in the untouched one (NULL: this is it). The
 * default always goes on. */
static int goes_on(const struct env_point *points, const struct env_point *untouched_points, int n, double margin)
{
    const struct env_point *last = &points[n - 1], *at[SIZES];
    struct bench_interval ours, defaults;
    if (last->chosen < 0 || last->chosen == last->fallback)
        return 1;
    const char *call = last->options[last->chosen].call.label;
    if (largest(points, n, call, at) < SIZES || !is_straight(at, call, &ours) ||
        !is_straight(at, BENCH_DEFAULT, &defaults) || defaults.low < (1 + margin) * ours.high)
        return 0;
    struct bench_interval gain = option_of(at[0], call)->gain, before = option_of(at[1], call)->gain;
    if (!bench_gain_clears(gain, margin) || !bench_gain_clears(before, margin) ||
        gain.median * (1 + margin) < before.median)
        return 0;
    if (has_less_steep(points, n, ours.median, margin, NULL))
        return 0;
    if (!untouched_points || largest(untouched_points, n, BENCH_DEFAULT, at) < 2)
        return 1;
    double there = ours.median / defaults.median * slope_between(at[1], at[0], BENCH_DEFAULT).median;
    return !has_less_steep(untouched_points, n, there, margin, points);
}

/* ---- shapes that a tuner cannot tell apart ---- */

/* How much longer a call takes than what would be chosen, where that is most; INFINITY where it is not known. */
static double greatest_loss(struct env_point *const *at, int n, const char *label)
{
    double loss = 0;
    for (int i = 0; i < n; i++) {
        int k = env_find_option(at[i], label);
        const struct env_option *o = k < 0 ? NULL : &at[i]->options[k];
        int is_known = o && !o->banned && o->status <= BENCH_DROPPED && o->gain.median > 0;
        loss = fmax(loss, is_known ? at[i]->options[at[i]->chosen].gain.median / o->gain.median : INFINITY);
    }
    return loss;
}

/* What each would choose, and what comes of it: both figures of both. */
static const char *shared_text(struct env_decisions *d, const struct env_shape *const *of, struct env_point *const *at,
                               int n, const char *label)
{
    const char *text = "a tuner cannot tell these calls apart: ";
    for (int i = 0; i < n; i++) {
        const char *side = of[i]->others ? arena_printf(d->arena, "%d at once", of[i]->others + 1) : "one alone";
        if (of[i]->buffers)
            side = arena_printf(d->arena, "%s, %s,", side, bench_buffers_name(of[i]->buffers));
        text = arena_printf(d->arena, "%s%s would take %s (%.4g us) and gets %s (%.4g us)%s", text, side,
                            choice(at[i])->label, at[i]->options[at[i]->chosen].time_us.median, label,
                            at[i]->options[env_find_option(at[i], label)].time_us.median, i + 1 < n ? ", " : "");
    }
    return text;
}

/* One size, in the `n` shapes where it was measured. The default wins a tie: it is looked at first. */
static void agree_at(struct env_decisions *d, const struct env_shape *const *of, struct env_point *const *at, int n)
{
    const struct env_point *p = at[0];
    const char *best = p->options[p->fallback].call.label;
    double least = greatest_loss(at, n, best);
    int same = 1;
    for (int i = 1; i < n; i++)
        same &= same_choice(at[i], p);
    for (int k = 0; k < n && !same; k++)
        for (int i = 0; i < at[k]->noptions; i++) {
            const struct env_option *o = &at[k]->options[i];
            const char *label = o->call.label;
            /* A side would choose it, or might have: proven better than its default. */
            int wanted = i == at[k]->chosen || (o->status == BENCH_OK && bench_gain_clears(o->gain, d->margin));
            double loss = wanted ? greatest_loss(at, n, label) : INFINITY;
            best = loss < least ? label : best;
            least = fmin(loss, least);
        }
    if (same || !isfinite(least))
        return;
    const char *text = shared_text(d, of, at, n, best);
    for (int i = 0; i < n; i++) {
        at[i]->chosen = env_find_option(at[i], best);
        at[i]->shared = text;
    }
}

/* If the sides would choose differently at a size, all take the call that loses least in any of them, of those that
 * were measured in all that have the size: the greatest of its losses is the smallest. The points' `shared` says so. */
static void agree(struct env_decisions *d, const struct sides *all)
{
    struct env_point **at = arena_alloc(d->arena, (size_t)all->n * sizeof(struct env_point *));
    const struct env_shape **of = arena_alloc(d->arena, (size_t)all->n * sizeof(struct env_shape *));
    const struct side *most = all->items;
    for (int i = 1; i < all->n; i++)
        most = all->items[i].slice.count > most->slice.count ? &all->items[i] : most;
    for (int k = 0; k < most->slice.count; k++) {
        int found = 0;
        for (int i = 0; i < all->n; i++)
            for (int p = 0; p < all->items[i].slice.count; p++)
                if (all->items[i].points[p].bytes == most->points[k].bytes && all->items[i].points[p].chosen >= 0) {
                    at[found] = &all->items[i].points[p];
                    of[found++] = all->items[i].shape;
                }
        if (found > 1)
            agree_at(d, of, at, found);
    }
}

/* ---- ranges ---- */

/* The measured candidate that came nearest to being chosen. */
static const struct env_option *runner_up(const struct env_range *r, const struct env_point **where)
{
    const struct env_option *best = NULL;
    for (int i = 0; i < r->npoints; i++)
        for (int k = 0; k < r->points[i].noptions; k++) {
            const struct env_option *o = &r->points[i].options[k];
            if (k == r->points[i].fallback || o->status != BENCH_OK || o->gain.n <= 0)
                continue;
            if (!best || o->gain.median > best->gain.median) {
                best = o;
                *where = &r->points[i];
            }
        }
    return best;
}

/* How many more runs of a call beside the baseline a gain such as it shows would take; 0: runs are not what is missing.
 * Runs that are like their neighbours are worth fewer independent ones. */
static int runs_missing(const struct env_decisions *d, const struct env_option *o)
{
    const struct bench_interval *g = &o->gain;
    const double worth = g->worth > 0 ? g->worth : g->n;
    const struct bench_noise noise = {
        .spread = g->error * sqrt(worth), .calls = 1, .rivals = 1, .confidence = d->confidence};
    if (!o->runs || (!bench_few(g) && (g->lost || g->median <= 1 + d->margin)))
        return 0;
    double need = BENCH_FEWEST;
    if (!bench_few(g))
        need = fmax(g->n + 1, ceil(bench_starts_for(&noise, g->median, d->margin) * g->n / worth));
    return need < BENCH_MANY_STARTS ? (int)need - o->runs : 0;
}

static const char *why_default(struct env_decisions *d, const struct env_range *r)
{
    char size[UNIT_TEXT];
    int measured = 0;
    for (int i = 0; i < r->npoints; i++)
        measured += r->points[i].fallback >= 0;
    if (!measured)
        return "the baseline was not measured here, so no gain can be proven";
    const struct env_point *where = NULL;
    const struct env_option *near = runner_up(r, &where);
    if (!near)
        return "no other call was measured completely; the library's choice stays";
    const int more = runs_missing(d, near), few = bench_few(&near->gain);
    if (few && near->runs)
        return arena_printf(d->arena,
                            "not proven: %d run%s of %s at %s, at least %d are needed: run it and the baseline %d more "
                            "time%s, in turn",
                            near->runs, near->runs == 1 ? "" : "s", near->call.label, unit_bytes(size, where->bytes),
                            near->runs + more, more, more == 1 ? "" : "s");
    if (few)
        return arena_printf(d->arena, "too little was measured to say: %d sample%s of %s at %s", near->gain.n,
                            near->gain.n == 1 ? "" : "s", near->call.label, unit_bytes(size, where->bytes));
    return arena_printf(
        d->arena,
        "nothing is proven to be faster than the baseline by %g %% or more; nearest was %s at %s with %s, %s%s",
        d->margin * 100, near->call.label, unit_bytes(size, where->bytes), env_gain_text(d->arena, near->gain),
        near->gain.predicted ? "predicted"
                             : arena_printf(d->arena, "%d %s", near->gain.n, near->runs ? "runs" : "samples"),
        more ? arena_printf(d->arena, "; about %d more, in turn with the baseline, would prove such a gain", more)
             : "");
}

static const char *why_chosen(struct env_decisions *d, const struct env_range *r)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    int smoothed = 0;
    for (int i = 0; i < r->npoints; i++)
        smoothed += r->points[i].smoothed;
    unit_bytes(from, r->points[0].bytes);
    unit_bytes(to, r->points[r->npoints - 1].bytes);
    const char *where = r->npoints == 1 ? from : arena_printf(d->arena, "%d sizes from %s to %s", r->npoints, from, to);
    return arena_printf(d->arena, "%s is %s over the default, %s at %s%s", r->call.label,
                        env_gain_text(d->arena, r->gain), r->gain.predicted ? "predicted" : "measured", where,
                        smoothed ? "; also used where the neighbouring sizes agree and it is no slower" : "");
}

static void finish_range(struct env_decisions *d, struct env_range *r)
{
    struct bench_interval *gains = arena_alloc(d->arena, (size_t)(r->npoints + 1) * sizeof *gains);
    int n = 0;
    for (int i = 0; i < r->npoints; i++) {
        struct env_point *p = &r->points[i];
        if (p->chosen < 0)
            continue;
        const struct env_option *o = &p->options[p->chosen];
        if (p->chosen == p->fallback)
            gains[n++] = (struct bench_interval){1, 1, 1, 1};
        else
            gains[n++] = o->gain;
    }
    r->gain = env_mean_gain(gains, NULL, n);
    r->why = strcmp(r->call.label, BENCH_DEFAULT) != 0 ? why_chosen(d, r) : why_default(d, r);
    for (int i = 0; i < r->npoints; i++)
        if (r->points[i].shared) {
            r->why = arena_printf(d->arena, "%s; %s", r->why, r->points[i].shared);
            break;
        }
}

/* What is left to NCCL between measured sizes, or beyond them. */
static void add_open(struct env_decisions *d, struct env_coll *c, uint64_t min_bytes, uint64_t max_bytes,
                     const char *why)
{
    ARENA_ADD(d->arena, c->ranges, c->nranges) = (struct env_range){
        .min_bytes = min_bytes, .max_bytes = max_bytes, .call = untouched, .gain = {1, 1, 1, 0}, .why = why};
}

static void make_ranges(struct env_decisions *d, struct env_coll *c, struct env_point *points,
                        const struct env_point *untouched_points, int n)
{
    uint64_t begin = n && points[0].bytes > SMALLEST_BYTES ? points[0].bytes : 0;
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && same_choice(&points[k], &points[i]);)
            k++;
        struct env_range r = {.min_bytes = begin,
                              .max_bytes = ENV_OPEN,
                              .call = *choice(&points[i]),
                              .points = &points[i],
                              .npoints = k - i};
        if (k < n)
            share_gap(d, &points[k - 1], &points[k], &r.max_bytes, &begin);
        else if (!goes_on(points, untouched_points, n, d->margin))
            r.max_bytes = points[n - 1].bytes;
        finish_range(d, &r);
        ARENA_ADD(d->arena, c->ranges, c->nranges) = r;
        if (k < n && begin > r.max_bytes + 1)
            add_open(d, c, r.max_bytes + 1, begin - 1, "neither choice is proven to be no slower at the other size");
        if (k == n && r.max_bytes != ENV_OPEN)
            add_open(d, c, r.max_bytes + 1, ENV_OPEN, "beyond the largest measured size");
    }
}

/* What the choice gains over the baseline; exactly nothing when it is the baseline. */
static struct bench_interval total_gain(const struct env_point *p, const char *launch)
{
    if (p->chosen < 0 || p->untouched_us.n <= 0)
        return (struct bench_interval){0};
    const struct env_option *o = &p->options[p->chosen];
    if (p->chosen == p->fallback && !strcmp(launch, BENCH_DEFAULT))
        return (struct bench_interval){1, 1, 1, o->time_us.n};
    return bench_gain(p->untouched_us, o->time_us);
}

static const char *launch_of(const struct env_shape *shape)
{
    return shape->chosen < 0 ? BENCH_DEFAULT : shape->launches[shape->chosen].knobs.label;
}

static struct env_point *read_points(struct env_decisions *d, const char *launch, const struct sides *all,
                                     struct decide_slice s)
{
    struct env_point *points = arena_alloc(d->arena, (size_t)s.count * sizeof *points);
    for (int i = 0; i < s.count; i++)
        points[i] = read_point(d, &s.points[i], launch, all);
    return points;
}

static void choose_points(struct env_decisions *d, const struct sides *all, struct side *side)
{
    struct decide_slice s = side->slice;
    side->points = read_points(d, launch_of(side->shape), all, s);
    for (int i = 0; i < s.count; i++)
        choose(d, &side->points[i], &s.points[i]);
    for (int i = 1; i + 1 < s.count; i++)
        smooth(&side->points[i], &side->points[i - 1], &side->points[i + 1], d->margin);
}

static struct decide_slice of_coll(struct decide_slice s, int coll)
{
    for (; s.count && s.points->coll != coll; s.count--)
        s.points++;
    for (int i = 0; i < s.count; i++)
        if (s.points[i].coll != coll)
            s.count = i;
    return s;
}

void decide_calls(struct env_decisions *d, struct env_shape *shapes, const struct decide_slice *slices, int n)
{
    struct sides all = {.items = arena_alloc(d->arena, (size_t)n * sizeof *all.items), .n = n};
    for (int coll = 0; coll < COLL_MEASURED; coll++) {
        for (int i = 0; i < n; i++)
            all.items[i] = (struct side){.shape = &shapes[i], .slice = of_coll(slices[i], coll)};
        list_banned(&all, d->arena);
        for (int i = 0; i < n; i++)
            choose_points(d, &all, &all.items[i]);
        agree(d, &all);
        for (int i = 0; i < n; i++) {
            struct side *side = &all.items[i];
            int count = side->slice.count;
            for (int k = 0; k < count; k++)
                side->points[k].total_gain = total_gain(&side->points[k], launch_of(&shapes[i]));
            if (!count)
                continue;
            struct env_coll *c = &ARENA_ADD(d->arena, shapes[i].colls, shapes[i].ncolls);
            c->coll = coll;
            make_ranges(d, c, side->points,
                        shapes[i].chosen > 0 ? read_points(d, BENCH_DEFAULT, &all, side->slice) : NULL, count);
        }
    }
}
