/* When did which kinds of work run, and when several at once?
 *
 * Traces are not sorted and have millions of intervals, so the time is sampled: a byte for each of 16 Mi evenly spaced
 * points holds the kinds that cover it. A span that does not fit halves the number of points per time. The points stand
 * at multiples of their spacing, so halving keeps every second one and stays an unbiased sample. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define POINTS ((int64_t)16 << 20)
/* Microseconds to begin with, 3 s in all: the square root of 5 less 2, so that work that repeats every few microseconds
 * does not always meet the points at the same place. */
#define SPACING 0.2360679774997897

struct diag_timeline {
    unsigned char *points;
    double spacing_us;
    int64_t base;      /* points[0] stands at base × spacing */
    int64_t low, high; /* [low, high) was touched, as multiples of the spacing */
    int empty;
};

struct diag_timeline *diag_timeline_new(void)
{
    struct diag_timeline *t = calloc(1, sizeof *t);
    if (!t || !(t->points = calloc((size_t)POINTS, 1)))
        abort();
    t->spacing_us = SPACING;
    t->empty = 1;
    return t;
}

void diag_timeline_free(struct diag_timeline *t)
{
    if (t)
        free(t->points);
    free(t);
}

static int64_t floor_half(int64_t x)
{
    return x >= 0 ? x / 2 : -((-x + 1) / 2);
}

static int64_t ceil_half(int64_t x)
{
    return -floor_half(-x);
}

/* Keeps the points at even multiples of the spacing, which becomes twice as wide. */
static void halve(struct diag_timeline *t)
{
    int64_t base = ceil_half(t->base), low = ceil_half(t->low), high = ceil_half(t->high), old = t->high - t->base;
    memset(t->points, 0, (size_t)(low - base));
    for (int64_t i = low; i < high; i++)
        t->points[i - base] = t->points[2 * i - t->base];
    memset(t->points + (high - base), 0, (size_t)(old - (high - base)));
    t->base = base;
    t->low = low;
    t->high = high;
    t->spacing_us *= 2;
}

/* Moves what was touched so that [low, high) has its place in the middle of the points. */
static void move(struct diag_timeline *t, int64_t low, int64_t high)
{
    int64_t base = low - (POINTS - (high - low)) / 2, used = t->high - t->low;
    memmove(t->points + (t->low - base), t->points + (t->low - t->base), (size_t)used);
    memset(t->points, 0, (size_t)(t->low - base));
    memset(t->points + (t->high - base), 0, (size_t)(POINTS - (t->high - base)));
    t->base = base;
}

void diag_timeline_add(struct diag_timeline *t, double start_us, double duration_us, unsigned bit)
{
    if (!(duration_us > 0) || !(fabs(start_us) < 1e17) || !(duration_us < 1e12))
        return;
    for (;;) {
        int64_t from = (int64_t)ceil(start_us / t->spacing_us);
        int64_t to = (int64_t)ceil((start_us + duration_us) / t->spacing_us);
        if (from == to)
            return;
        if (t->empty) {
            t->base = t->low = t->high = from;
            t->empty = 0;
        }
        int64_t low = from < t->low ? from : t->low, high = to > t->high ? to : t->high;
        /* A quarter of the points stays free, so that moving is rare. */
        if (high - low > POINTS / 4 * 3) {
            halve(t);
            continue;
        }
        if (low < t->base || high > t->base + POINTS)
            move(t, low, high);
        t->low = low;
        t->high = high;
        for (int64_t i = from - t->base; i < to - t->base; i++)
            t->points[i] |= (unsigned char)bit;
        return;
    }
}

double diag_timeline_us(const struct diag_timeline *t, unsigned mask, unsigned bits)
{
    int64_t n = 0;
    for (int64_t i = t->low - t->base; i < t->high - t->base; i++)
        n += (t->points[i] & mask) == bits;
    return (double)n * t->spacing_us;
}
