/* What has been measured so far, from an earlier run's journal or from this run: the search asks it what to expect and
 * what not to try again. */
#pragma once

#include "bench/results/points.h"

/* One point under one launch. */
struct history_place {
    int coll;
    uint64_t bytes;
    int nodes, ranks;
    const char *launch;  /* label */
    const char *engine;  /* whose results count; NULL: anybody's */
    int others, buffers; /* of struct bench_result */
};

/* Where a result was measured; the other way round, all but launch and engine; and whether a result was there, at any
 * size and under any launch. */
struct history_place history_place_of(const struct bench_result *x);
void history_set_place(struct bench_result *x, const struct history_place *at);
int history_is_of(const struct bench_result *x, const struct history_place *at);

/* Of its samples; n 0: it has none. */
struct bench_interval history_interval(const struct bench_result *x);

/* Whether `call` has times from this place in `round`. The default is written last of all calls: with it the place is
 * finished. */
int history_done(const struct bench_results *r, const struct history_place *at, const char *call, int round);

/* The worst status of `call` at this place; BENCH_STATUS_COUNT: nothing known. */
enum bench_status history_status(const struct bench_results *r, const struct history_place *at, const char *call);

/* Median time of `call` at this place over all rounds, microseconds; 0 unknown. */
double history_time_us(const struct bench_results *r, const struct history_place *at, const char *call);

/* The best of what one round's session has seen: what a busy machine has not disturbed. */
double history_undisturbed_us(const struct bench_results *r, const struct history_place *at, const char *call,
                              int round);

/* What `call` will take under the same launch: between two measured sizes the straight line that latency and bandwidth
 * make; beyond the last one its time there, in proportion to the size when that was smaller; 0 when there is none. */
double history_expect_us(const struct bench_results *r, const struct history_place *at, const char *call);

/* Whether `call` need not be tried: it gave wrong data or was left behind at this very place; the library has refused
 * it at any size; or a process died or hung under it twice. Once may have been somebody else's doing (a node that ran
 * out of memory, a process that somebody stopped). */
int history_hopeless(const struct bench_results *r, const struct history_place *at, const char *call);

/* The best single measurement of `call` at this place, or with `others` at this point under any other launch; n counts
 * the samples of all such measurements. */
struct bench_interval history_best(const struct bench_results *r, const struct history_place *at, const char *call,
                                   int others);

/* How often a process died or hung under this launch, which never got anywhere; 0 if it did. */
int history_deaths(const struct bench_results *r, const char *launch);

/* Whether it has died twice without getting anywhere: it need not be tried again. */
int history_dead(const struct bench_results *r, const char *launch);
