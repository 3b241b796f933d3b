/* The default against itself. */
#include "bench/noise/repeats.h"

#include <string.h>

#include "core/coll.h"
#include "core/stats.h"
#include "core/units.h"

/* Samples of one start before its median is believed. */
#define TRUSTED_SAMPLES 3

static int is_default(const struct bench_result *x)
{
    return !strcmp(x->launch.label, BENCH_DEFAULT) && !strcmp(x->call.label, BENCH_DEFAULT) && x->status == BENCH_OK &&
           x->ntimes >= TRUSTED_SAMPLES && !(x->high_us > 0);
}

static int is_at(const struct bench_result *x, const struct history_place *at)
{
    return x->bytes == at->bytes && history_is_of(x, at);
}

double repeats_spread(const struct bench_results *r, const struct history_place *at, int *apart)
{
    struct bench_interval fastest = {0}, slowest = {0};
    for (int i = 0; i < r->count; i++) {
        const struct bench_result *x = &r->items[i];
        if (!is_at(x, at) || !is_default(x))
            continue;
        struct bench_interval v = history_interval(x);
        if (!fastest.n || v.median < fastest.median)
            fastest = v;
        if (!slowest.n || v.median > slowest.median)
            slowest = v;
    }
    if (apart)
        *apart = slowest.low > fastest.high;
    return fastest.median > 0 ? slowest.median / fastest.median - 1 : 0;
}

int repeats_is_suspicious(const struct bench_results *r, const struct history_place *at)
{
    int apart;
    return repeats_spread(r, at, &apart) > REPEATS_WORTH && apart;
}

/* Whether line `i` is the second of its point: each point that was measured more than once has exactly one. */
static int is_second(const struct bench_results *r, int i)
{
    struct history_place at = history_place_of(&r->items[i]);
    int before = 0;
    for (int k = 0; k < i && before < 2 && is_default(&r->items[i]); k++)
        before += is_at(&r->items[k], &at) && is_default(&r->items[k]);
    return before == 1;
}

void repeats_judge(const struct bench_results *r, struct findings *found)
{
    double *spreads = arena_alloc(found->arena, (size_t)r->count * sizeof *spreads), most = -1;
    int n = 0, suspicious = 0, worst = 0;
    char size[UNIT_TEXT];
    for (int i = 0; i < r->count; i++) {
        if (!is_second(r, i))
            continue;
        struct history_place at = history_place_of(&r->items[i]);
        double spread = repeats_spread(r, &at, NULL);
        suspicious += repeats_is_suspicious(r, &at);
        spreads[n++] = spread;
        if (spread > most) {
            most = spread;
            worst = i;
        }
    }
    if (!n)
        return;
    double median = stats_median(spreads, n);
    int noisy = suspicious || median > REPEATS_WORTH;
    struct finding *f = finding_add(
        found, noisy ? FINDING_WARNING : FINDING_OK, "default-repeats", NULL,
        "the default differs from itself by %.1f %% from one start to the next (median of %d point%s), at worst by "
        "%.1f %%: %s of %s",
        100 * median, n, n == 1 ? "" : "s", 100 * most, coll_name(r->items[worst].coll),
        unit_bytes(size, r->items[worst].bytes));
    if (noisy)
        f->advice = "gains of that size are noise; a quiet machine or a larger --budget tells them apart";
}
