/* Gains, and the mean of many. */
#include <limits.h>
#include <math.h>

#include "core/coll.h"
#include "core/units.h"
#include "envgen/decide/decide.h"
#include "envgen/decide/steps.h"

struct bench_interval env_mean_gain(const struct bench_interval *gains, const double *weights, int n)
{
    double middle = 0, low = 0, high = 0, sure = 0, sum = 0;
    struct bench_interval mean = {.n = INT_MAX};
    for (int i = 0; i < n; i++) {
        double weight = weights ? weights[i] : 1;
        middle += weight * log(gains[i].median);
        low += weight * log(gains[i].low);
        high += weight * log(gains[i].high);
        sure += weight * log(gains[i].sure);
        sum += weight;
        mean.predicted |= gains[i].predicted;
        mean.lost += gains[i].lost;
        mean.n = gains[i].n < mean.n ? gains[i].n : mean.n;
    }
    if (!(sum > 0))
        return (struct bench_interval){0};
    mean.median = exp(middle / sum);
    mean.low = exp(low / sum);
    mean.high = exp(high / sum);
    mean.sure = exp(sure / sum);
    return mean;
}

const char *env_gain_text(struct arena *a, struct bench_interval gain)
{
    return arena_printf(a, "%.2fx (%.2f to %.2f)", gain.median, gain.low, gain.high);
}

const char *env_gain_sentence(struct arena *a, const struct env_shape *s, int coll, const struct env_point *first,
                              const struct env_point *last, const char *gain, const char *call)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    unit_bytes(from, first->bytes);
    unit_bytes(to, last->bytes);
    return arena_printf(a, "%s of %s%s%s on %s: %s with %s", coll_name(coll), from, last > first ? " to " : "",
                        last > first ? to : "", env_shape_text(a, s), gain, call);
}

int decide_timed(const struct bench_candidate *c)
{
    return c->status <= BENCH_DROPPED && c->time_us.n > 0;
}

struct bench_knobs decide_knobs(struct arena *a, const struct bench_knobs *k)
{
    struct bench_setting *copy = arena_alloc(a, (size_t)(k->nsettings + 1) * sizeof *copy);
    for (int i = 0; i < k->nsettings; i++)
        copy[i] = (struct bench_setting){arena_strdup(a, k->settings[i].name), arena_strdup(a, k->settings[i].value)};
    return (struct bench_knobs){arena_strdup(a, k->label), copy, k->nsettings};
}
