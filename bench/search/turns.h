/* A few calls with the usual data and with other data: do types or places change the choice?
 *
 * Calls take turns: all with the usual data, then all with the other. Only times of the same turn are compared. That
 * all calls take longer alike changes no choice; that another call becomes the better one, which it was not with the
 * usual data, does. */
#pragma once

#include "bench/search/study.h"

#define TURNS_LANES 4
#define TURNS_MOST  15 /* at most; where all is clear */
#define TURNS_LEAST 7  /* do: the fewest that say anything (doc/STATISTICS.md) */

struct lane {
    const struct bench_knobs *knobs;
    double before_us;         /* with the usual data, by what was measured before */
    double us[2][TURNS_MOST]; /* with the usual data, with the other */
};

struct comparison {
    const struct bench_study *study;
    struct bench_session *session;
    double until_s;                 /* progress_now_s() at which its time is over */
    struct history_place at;        /* with the usual data, under the default launch */
    int other;                      /* enum bench_buffers */
    struct lane lanes[TURNS_LANES]; /* the default first */
    int nlanes, chosen;             /* the usual choice's lane */
    double rest_us;                 /* of the fastest call that is of no kind among the lanes, before; INFINITY none */
    int turns, half;                /* done; of the turn that runs: 1 with the other data */
    int told;                       /* the lane whose sample came last; -1 none in this half */
    enum bench_status status;       /* where not BENCH_OK: that has ended it, */
    int failed;                     /* by this lane, */
    char why[BENCH_DETAIL];         /* with this sentence, or "" */
};

/* What is chosen with the usual data: what promises to gain most under the default launch, else the default; NULL: that
 * was not measured. */
const struct bench_candidate *turns_choice(const struct bench_study *s, const struct bench_point *p);

/* Who takes part: the default, the choice, and the fastest of other kinds. None where the default was not measured. */
void turns_pick(struct comparison *c, const struct bench_point *p);

/* Runs it until it is clear, or its time is over; with fewer turns than TURNS_LEAST it says nothing, and has ended as
 * soon as that could be foreseen. After BENCH_DIED and BENCH_SILENT status, failed and why are filled, too. */
enum bench_outcome turns_run(struct comparison *c);

/* The lane that the choice would change to, `nlanes` for a call that took no part: the choice loses what others do not,
 * and so might that. -1: the choice stays. */
int turns_change(const struct comparison *c);

/* How many times faster than the choice `lane` is, by half; how many times longer it takes with the other data. */
struct bench_interval turns_gain(const struct comparison *c, int lane, int half);
struct bench_interval turns_factor(const struct comparison *c, int lane);

/* How many times what the default takes `lane` takes with the other data. */
double turns_over_default(const struct comparison *c, int lane);

/* What a half takes, beside getting ready for it. */
double turns_sample_us(const struct comparison *c);
