/* Simple methods that a search has to beat: each has a place's share of the time, and takes the call with the lowest
 * median in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/candidates/candidates.h"
#include "core/stats.h"
#include "tests/lib/search_world.h"

#define CALLS   160
#define SAMPLES 200

const char *const world_rivals[WORLD_RIVALS] = {"exhaustive", "random", "coordinate descent", "successive halving",
                                                "Thompson sampling"};

struct arm {
    double us[SAMPLES];
    int n;
};

struct bout {
    const struct world_place *place;
    double until_s;
    struct arm arms[CALLS]; /* by index into place->calls */
};

static int has_time(const struct bout *b)
{
    return world_now_s() < b->until_s;
}

static void pull(struct bout *b, int i)
{
    double us = world_sample_us(b->place, b->place->calls[i]);
    if (b->arms[i].n < SAMPLES)
        b->arms[i].us[b->arms[i].n++] = us;
}

static double median(const struct arm *a)
{
    double scratch[SAMPLES];
    memcpy(scratch, a->us, sizeof scratch);
    return a->n ? stats_median(scratch, a->n) : INFINITY;
}

static int fastest(const struct bout *b)
{
    int best = 0;
    for (int i = 1; i < b->place->ncalls; i++)
        if (median(&b->arms[i]) < median(&b->arms[best]))
            best = i;
    return best;
}

static void exhaustive(struct bout *b)
{
    for (int round = 0; round < 9; round++)
        for (int i = 0; i < b->place->ncalls && has_time(b); i++)
            pull(b, i);
}

static void at_random(struct bout *b)
{
    for (int k = 0; k < 9 * b->place->ncalls && has_time(b); k++)
        pull(b, (int)world_uniform(0, b->place->ncalls));
}

/* AutoCCL's method: one parameter at a time from where one stands, for as long as a step pays (Xu et al., NSDI 2025,
 * section 4): here algorithm with protocol, then the number of channels. */
static int distance(const struct world_place *p, int x, int y)
{
    const struct bench_call *calls = world.study.plan.calls;
    struct nccl_requested a = nccl_requested_of(&calls[p->calls[x]].knobs),
                          b = nccl_requested_of(&calls[p->calls[y]].knobs);
    return (a.algo != b.algo || a.proto != b.proto) + (a.channels != b.channels);
}

static void descend(struct bout *b)
{
    int at = 0, before = -1;
    for (int k = 0; k < 3 && has_time(b); k++)
        pull(b, 0);
    while (at != before && has_time(b)) {
        before = at;
        for (int i = 0; i < b->place->ncalls && has_time(b); i++)
            for (int k = 0; k < 3 && has_time(b) && distance(b->place, before, i) == 1 && b->arms[i].n < 3; k++)
                pull(b, i);
        at = fastest(b);
    }
}

static void halve(struct bout *b)
{
    int alive[CALLS], n = b->place->ncalls, samples = 1;
    for (int i = 0; i < n; i++)
        alive[i] = i;
    for (; n > 1 && has_time(b); samples *= 2) {
        for (int i = 0; i < n && has_time(b); i++)
            for (int k = 0; k < samples && has_time(b); k++)
                pull(b, alive[i]);
        for (int i = 1; i < n; i++)
            for (int k = i; k > 0 && median(&b->arms[alive[k]]) < median(&b->arms[alive[k - 1]]); k--) {
                int swap = alive[k];
                alive[k] = alive[k - 1];
                alive[k - 1] = swap;
            }
        n = (n + 1) / 2;
        if (samples > 64)
            break;
    }
}

/* Normal beliefs of log time: the neighbouring size's where there is one, else NCCL's own prediction. */
static void thompson(struct bout *b)
{
    static double belief[CALLS * 8];
    static int size = -2;
    const struct bench_call *calls = world.study.plan.calls;
    const struct known_place at = {.coll = b->place->coll, .bytes = b->place->bytes};
    int fresh = b->place->size <= size || size < 0;
    size = b->place->size;
    for (int step = 0; has_time(b) && step < 6 * b->place->ncalls + 40; step++) {
        double least = INFINITY;
        int choice = 0;
        for (int i = 0; i < b->place->ncalls; i++) {
            const struct arm *a = &b->arms[i];
            double prior = fresh ? 0 : belief[b->place->calls[i]], width = fresh || prior == 0 ? 0.5 : 0.1, us;
            us = world.study.engine->measures->expect_us(NULL, &at, &calls[b->place->calls[i]].knobs, NULL);
            double own = a->n ? log(median(a)) : 0, guess = us > 0 ? log(us) : 0;
            double middle = a->n ? own : guess + prior, deviation = a->n ? 0.03 / sqrt(a->n) : width;
            double drawn = middle + deviation * (world_uniform(-1, 1) + world_uniform(-1, 1) + world_uniform(-1, 1));
            if (us == 0 && !a->n)
                drawn = -INFINITY; /* the default first */
            if (drawn < least) {
                least = drawn;
                choice = i;
            }
        }
        pull(b, choice);
    }
    for (int i = 0; i < b->place->ncalls; i++) {
        double us = world.study.engine->measures->expect_us(NULL, &at, &calls[b->place->calls[i]].knobs, NULL);
        belief[b->place->calls[i]] = b->arms[i].n && us > 0 ? log(median(&b->arms[i]) / us) : 0;
    }
}

int world_rival_choice(enum world_rival rival, const struct world_place *p, double until_s)
{
    static void (*const methods[WORLD_RIVALS])(struct bout *) = {exhaustive, at_random, descend, halve, thompson};
    struct bout *b = calloc(1, sizeof *b);
    if (!b || p->ncalls > CALLS)
        abort();
    b->place = p;
    b->until_s = until_s;
    methods[rival](b);
    int call = p->calls[fastest(b)];
    free(b);
    return call;
}
