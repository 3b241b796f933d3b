/* One launch for all jobs, one rule for all groups of so many nodes and ranks. */
#include "envgen/decide/steps.h"

#include <math.h>
#include <string.h>

#include "envgen/decide/decide.h"

/* ---- launches ---- */

/* A shape with a choice of launches; on one node the network is not used, and there is only the baseline launch. */
static int had_choice(const struct env_shape *s)
{
    return s->chosen >= 0 && s->nlaunches > 1 && !env_shape_follows(s);
}

/* Return true if it was measured here, works, and is not proven slower. */
static int is_bearable(const struct env_decisions *d, const struct env_shape *s, int launch)
{
    const struct env_launch *l = launch < 0 ? NULL : &s->launches[launch];
    return l && l->status <= BENCH_DROPPED && l->gain.n && l->gain.high >= 1 / (1 + d->margin);
}

/* Its gain over all shapes that had a choice; n is 0 where one cannot bear it. */
static struct bench_interval gain_of_all(struct env_decisions *d, const struct env_shape *first,
                                         const struct env_shape *end, const double *worth, const char *label)
{
    size_t most = (size_t)(end - first);
    struct bench_interval *gains = arena_alloc(d->arena, most * sizeof *gains);
    double *weights = arena_alloc(d->arena, most * sizeof *weights);
    int n = 0;
    for (const struct env_shape *s = first; s < end; s++) {
        int launch = env_find_launch(s, label);
        if (!had_choice(s))
            continue;
        if (!is_bearable(d, s, launch))
            return (struct bench_interval){0};
        weights[n] = worth[s - first];
        gains[n++] = s->launches[launch].gain;
    }
    return env_mean_gain(gains, weights, n);
}

/* The shapes' own choices, "a for 2x8, b for 1x4*4". */
static const char *choices_text(struct env_decisions *d, const struct env_shape *first, const struct env_shape *end)
{
    const char *text = "";
    for (const struct env_shape *s = first; s < end; s++)
        if (had_choice(s))
            text = arena_printf(d->arena, "%s%s'%s' for jobs of %s", text, *text ? ", " : "",
                                s->launches[s->chosen].knobs.label, env_shape_text(d->arena, s));
    return text;
}

static int differ(const struct env_shape *first, const struct env_shape *end)
{
    const char *label = NULL;
    int others = 0;
    for (const struct env_shape *s = first; s < end; s++)
        if (had_choice(s)) {
            others |= label && strcmp(label, s->launches[s->chosen].knobs.label) != 0;
            label = s->launches[s->chosen].knobs.label;
        }
    return others;
}

void decide_agree_on_launch(struct env_decisions *d, struct env_shape *first, struct env_shape *end,
                            const double *worth)
{
    struct bench_interval best = {0};
    const char *label = BENCH_DEFAULT;
    if (!differ(first, end))
        return;
    for (const struct env_shape *s = first; s < end; s++) {
        if (!had_choice(s) || !s->chosen)
            continue;
        struct bench_interval gain = gain_of_all(d, first, end, worth, s->launches[s->chosen].knobs.label);
        if (gain.n && bench_gain_clears(gain, d->margin) && gain.median > best.median) {
            best = gain;
            label = s->launches[s->chosen].knobs.label;
        }
    }
    const char *own = choices_text(d, first, end);
    const char *why =
        best.n ? arena_printf(d->arena,
                              "a launch setting is common to all jobs; alone they would choose %s; '%s' is %s over the "
                              "baseline for all together, and slower for none",
                              own, label, env_gain_text(d->arena, best))
               : arena_printf(d->arena,
                              "a launch setting is common to all jobs, and they would choose differently: %s; none "
                              "gains for all together without a loss for some, so the default stays",
                              own);
    for (struct env_shape *s = first; s < end; s++)
        if (had_choice(s)) {
            s->chosen = env_find_launch(s, label);
            s->why = why;
        }
}

/* ---- calls ---- */

static struct env_point *point_at(const struct decide_side *side, uint64_t bytes)
{
    struct env_point *points = side->points;
    int low = 0;
    for (int high = side->count; low < high;) {
        int middle = low + (high - low) / 2;
        if (points[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low < side->count && points[low].bytes == bytes && points[low].chosen >= 0 ? &points[low] : NULL;
}

static const char *label_of(const struct env_point *p, int option)
{
    return p->options[option].call.label;
}

/* How much longer a call takes here than what would be chosen here; INFINITY where that is not known. */
static double loss_at(const struct env_point *p, const char *label)
{
    int i = env_find_option(p, label);
    const struct env_option *o = i < 0 ? NULL : &p->options[i];
    if (!o || o->banned || o->status > BENCH_DROPPED || !(o->gain.median > 0))
        return INFINITY;
    return p->options[p->chosen].gain.median / o->gain.median;
}

static double greatest_loss(struct env_point *const *at, int n, const char *label)
{
    double loss = 0;
    for (int i = 0; i < n; i++)
        loss = fmax(loss, loss_at(at[i], label));
    return loss;
}

static const char *side_text(struct env_decisions *d, const struct env_shape *s)
{
    const char *text = s->others ? arena_printf(d->arena, "%d at once", s->others + 1) : "one alone";
    return s->buffers ? arena_printf(d->arena, "%s, %s,", text, bench_buffers_name(s->buffers)) : text;
}

/* What each would choose, and what comes of it: both figures of both. */
static const char *shared_text(struct env_decisions *d, const struct env_shape *const *of, struct env_point *const *at,
                               int n, const char *label)
{
    const char *text = "a tuner cannot tell these calls apart: ";
    for (int i = 0; i < n; i++)
        text = arena_printf(d->arena, "%s%s would take %s (%.4g us) and gets %s (%.4g us)%s", text, side_text(d, of[i]),
                            label_of(at[i], at[i]->chosen), at[i]->options[at[i]->chosen].time_us.median, label,
                            at[i]->options[env_find_option(at[i], label)].time_us.median, i + 1 < n ? ", " : "");
    return text;
}

/* Return true if a side would choose it, or might have: proven better than its default. */
static int is_wanted(const struct env_decisions *d, const struct env_point *p, int option)
{
    const struct env_option *o = &p->options[option];
    return option == p->chosen || (o->status == BENCH_OK && bench_gain_clears(o->gain, d->margin));
}

/* One size, in the `n` shapes where it was measured. The default wins a tie: it is looked at first. */
static void agree_at(struct env_decisions *d, const struct env_shape *const *of, struct env_point *const *at, int n)
{
    const struct env_point *p = at[0];
    const char *best = label_of(p, p->fallback);
    double least = greatest_loss(at, n, best);
    int same = 1;
    for (int i = 1; i < n; i++)
        same &= !strcmp(label_of(at[i], at[i]->chosen), label_of(p, p->chosen));
    for (int k = 0; k < n && !same; k++)
        for (int i = 0; i < at[k]->noptions; i++) {
            double loss = is_wanted(d, at[k], i) ? greatest_loss(at, n, label_of(at[k], i)) : INFINITY;
            if (loss < least) {
                least = loss;
                best = label_of(at[k], i);
            }
        }
    if (same || !isfinite(least))
        return;
    const char *text = shared_text(d, of, at, n, best);
    for (int i = 0; i < n; i++) {
        at[i]->chosen = env_find_option(at[i], best);
        at[i]->shared = text;
    }
}

void decide_agree_on_calls(struct env_decisions *d, struct decide_side *sides, int n)
{
    struct env_point **at = arena_alloc(d->arena, (size_t)n * sizeof(struct env_point *));
    const struct env_shape **of = arena_alloc(d->arena, (size_t)n * sizeof(struct env_shape *));
    const struct decide_side *most = &sides[0];
    for (int i = 1; i < n; i++)
        most = sides[i].count > most->count ? &sides[i] : most;
    for (int k = 0; k < most->count; k++) {
        int found = 0;
        for (int i = 0; i < n; i++)
            if ((at[found] = point_at(&sides[i], most->points[k].bytes)))
                of[found++] = sides[i].shape;
        if (found > 1)
            agree_at(d, of, at, found);
    }
}
