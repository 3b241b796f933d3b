/* Laws through the largest sizes. */
#include "envgen/decide/open_end.h"

#include <math.h>
#include <string.h>

/* Microseconds a byte. */
struct slope {
    double median, low, high; /* median 0: cannot be told */
};

static struct bench_interval time_of(const struct env_point *p, const char *call)
{
    for (int i = 0; i < p->noptions; i++)
        if (!strcmp(p->options[i].call.label, call) && p->options[i].status <= BENCH_DROPPED)
            return p->options[i].time_us;
    return (struct bench_interval){0};
}

/* Between the last of `n` sizes at which the call was timed and the one before. `*at` becomes the index of the latter,
 * -1 where there is none. */
static struct slope slope_before(const struct env_point *points, int n, const char *call, int *at)
{
    struct bench_interval upper = {0}, lower = {0};
    double bytes = 0;
    int i = n - 1;
    for (; i >= 0 && !upper.n; i--) {
        upper = time_of(&points[i], call);
        bytes = (double)points[i].bytes;
    }
    for (; i >= 0 && !lower.n; i--) {
        lower = time_of(&points[i], call);
        *at = i;
    }
    if (!lower.n)
        return *at = -1, (struct slope){0};
    bytes -= (double)points[*at].bytes;
    return (struct slope){(upper.median - lower.median) / bytes, (upper.low - lower.high) / bytes,
                          (upper.high - lower.low) / bytes};
}

/* Of a straight line through three sizes: where the upper two are not as steep as the lower two it is none. */
static int is_straight(const struct env_point *points, int n, const char *call, struct slope *steep)
{
    int middle, first;
    *steep = slope_before(points, n, call, &middle);
    struct slope before = slope_before(points, middle + 1, call, &first);
    return middle == n - 2 && first == n - 3 && steep->low > 0 && steep->low <= before.high &&
           before.low <= steep->high;
}

int decide_goes_on(const struct env_point *points, int n, double margin)
{
    const struct env_point *last = &points[n - 1];
    struct slope ours, defaults, other;
    int at;
    if (last->chosen < 0 || last->chosen == last->fallback)
        return 1;
    const char *call = last->options[last->chosen].call.label;
    if (!is_straight(points, n, call, &ours) ||
        !is_straight(points, n, last->options[last->fallback].call.label, &defaults) ||
        defaults.low < (1 + margin) * ours.high)
        return 0;
    for (int p = 0; p < n; p++)
        for (int i = 0; i < points[p].noptions; i++) {
            other = slope_before(points, n, points[p].options[i].call.label, &at);
            if (at >= 0 && other.median > 0 && (1 + margin) * other.median < ours.median)
                return 0;
        }
    return 1;
}
