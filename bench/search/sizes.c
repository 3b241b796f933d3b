/* Which sizes: no larger than memory, denser where choices change. */
#include "bench/search/sizes.h"

#include <math.h>
#include <string.h>

#include "core/units.h"

/* Neighbours that are nearer to one another than this have nothing between them. */
#define NEAR 1.9

/* What the wrong one of two neighbours' calls loses, to be worth a size. */
#define WORTH 1.05

/* Times are in proportion to sizes where they are not further from it; latency is what keeps them from it. */
#define PROPORTION 0.03

void sizes_fit(struct bench_study *s, uint64_t room_bytes)
{
    char most[UNIT_TEXT], text[UNIT_TEXT];
    int n = s->nsizes;
    while (s->options->to_memory && room_bytes && n > 1 && s->sizes[n - 1] > room_bytes)
        n--;
    if (n < s->nsizes)
        log_info(s->log, "sizes go up to %s: the free GPU memory has room for %s", unit_bytes(most, s->sizes[n - 1]),
                 unit_bytes(text, room_bytes));
    s->nsizes = n;
}

static double time_of(const struct bench_study *s, struct bench_place at, const char *call)
{
    struct history_place place = bench_place_of(s, at, BENCH_DEFAULT);
    return history_time_us(s->results, &place, call);
}

/* The fastest call there; NULL: nothing was measured. */
static const char *winner_at(const struct bench_study *s, struct bench_place at)
{
    const char *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < s->plan.ncalls; i++) {
        double us = s->plan.calls[i].coll == at.coll ? time_of(s, at, s->plan.calls[i].knobs.label) : 0;
        if (us > 0 && us < least) {
            least = us;
            best = s->plan.calls[i].knobs.label;
        }
    }
    return best;
}

/* Whether `call` is the worse one at this size; so is what was not even measured to the end. */
static int loses_at(const struct bench_study *s, struct bench_place at, const char *call, const char *winner)
{
    double us = time_of(s, at, call);
    return !(us > 0) || us > WORTH * time_of(s, at, winner);
}

/* Whether `call` takes in proportion to the size from `low` to `high`. */
static int in_proportion(const struct bench_study *s, struct bench_place low, struct bench_place high, const char *call)
{
    double bytes =
        (double)bench_place_of(s, high, BENCH_DEFAULT).bytes / (double)bench_place_of(s, low, BENCH_DEFAULT).bytes;
    double times = time_of(s, high, call) / time_of(s, low, call);
    return fabs(log(times / bytes)) < PROPORTION;
}

int sizes_tell_nothing(const struct bench_study *s, struct bench_place at)
{
    struct bench_place low = at, high = at;
    low.size--;
    high.size++;
    if (at.size % 2 == 0 || high.size >= s->nsizes || s->calls || s->options->sizes.count || s->plan.keep_all)
        return 0;
    const char *call = winner_at(s, low), *other = call ? winner_at(s, high) : NULL;
    return other && !strcmp(call, other) && in_proportion(s, low, high, call) &&
           in_proportion(s, low, high, BENCH_DEFAULT);
}

static int changes_after(const struct bench_study *s, struct bench_place at)
{
    struct bench_place next = at;
    next.size++;
    const char *here = bench_calls(s, at) > 0 ? winner_at(s, at) : NULL, *there = here ? winner_at(s, next) : NULL;
    return there && strcmp(here, there) != 0 && loses_at(s, next, here, there) && loses_at(s, at, there, here);
}

/* Whether it does for any collective and shape. */
static int is_border(const struct bench_study *s, int size)
{
    for (int shape = 0; shape < bench_count_shapes(s); shape++)
        for (int coll = 0; coll < COLL_MEASURED; coll++)
            if (changes_after(s, (struct bench_place){coll, size, shape}))
                return 1;
    return 0;
}

int sizes_add(struct bench_study *s)
{
    uint64_t *sizes = arena_alloc(s->arena, (size_t)(s->nsizes + SIZES_ADDED) * sizeof *sizes);
    int n = 0, added = 0;
    if (s->calls || s->options->sizes.count || s->plan.keep_all)
        return 0;
    for (int i = 0; i < s->nsizes; i++) {
        sizes[n++] = s->sizes[i];
        if (added == SIZES_ADDED || i + 1 == s->nsizes || (double)s->sizes[i + 1] < NEAR * (double)s->sizes[i] ||
            !is_border(s, i))
            continue;
        uint64_t middle = (uint64_t)sqrt((double)s->sizes[i] * (double)s->sizes[i + 1]);
        middle -= middle > 4 ? middle % 4 : 0; /* whole floats */
        if (middle > s->sizes[i]) {
            sizes[n++] = middle;
            added++;
        }
    }
    s->sizes = sizes;
    s->nsizes = n;
    return added;
}
