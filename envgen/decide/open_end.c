/* Laws through the largest sizes. */
#include "envgen/decide/steps.h"

#include "envgen/decide/decide.h"

/* A law goes through three sizes, each so many times the one before: where the best call changes sizes lie closer, and
 * through these everything is a straight line. */
#define APART 2
#define SIZES 3

/* How many times as steep the upper part of a line may seem as the lower, or the other way round: three times what 5 %
 * in each of three times does, a factor of four apart. */
#define BENT 1.3

/* Microseconds a byte. */
struct slope {
    double median, low, high; /* median 0: cannot be told */
};

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

static struct slope slope_between(const struct env_point *lower, const struct env_point *upper, const char *call)
{
    struct bench_interval from = option_of(lower, call)->time_us, to = option_of(upper, call)->time_us;
    double bytes = (double)(upper->bytes - lower->bytes);
    return (struct slope){(to.median - from.median) / bytes, (to.low - from.high) / bytes,
                          (to.high - from.low) / bytes};
}

/* Of a straight line through three sizes: where the upper two are not as steep as the lower two it is none. Medians say
 * so as well, for wide intervals agree with anything. */
static int is_straight(const struct env_point *const at[SIZES], const char *call, struct slope *steep)
{
    struct slope before = slope_between(at[2], at[1], call);
    *steep = slope_between(at[1], at[0], call);
    return steep->low > 0 && steep->low <= before.high && before.low <= steep->high &&
           steep->median <= BENT * before.median && before.median <= BENT * steep->median;
}

/* Return true if the intervals show the call faster at the two largest sizes, and by as much at the last one as before
 * it. */
static int keeps_gain(const struct env_point *const at[SIZES], const char *call, double margin)
{
    struct bench_interval last = option_of(at[0], call)->gain, before = option_of(at[1], call)->gain;
    return bench_gain_clears(last, margin) && bench_gain_clears(before, margin) &&
           last.median * (1 + margin) >= before.median;
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

int decide_goes_on(const struct env_point *points, const struct env_point *untouched, int n, double margin)
{
    const struct env_point *last = &points[n - 1], *at[SIZES];
    struct slope ours, defaults;
    if (last->chosen < 0 || last->chosen == last->fallback)
        return 1;
    const char *call = last->options[last->chosen].call.label;
    if (largest(points, n, call, at) < SIZES || !is_straight(at, call, &ours) ||
        !is_straight(at, BENCH_DEFAULT, &defaults) || defaults.low < (1 + margin) * ours.high ||
        !keeps_gain(at, call, margin))
        return 0;
    if (has_less_steep(points, n, ours.median, margin, NULL))
        return 0;
    if (!untouched || largest(untouched, n, BENCH_DEFAULT, at) < 2)
        return 1;
    double there = ours.median / defaults.median * slope_between(at[1], at[0], BENCH_DEFAULT).median;
    return !has_less_steep(untouched, n, there, margin, points);
}
