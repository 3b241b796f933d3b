/* Results so far, from an earlier run's journal or from this run: the search asks it what to expect and what not
 * to try again. */
#pragma once

#include "bench/results/points.h"

/* One point under one launch. As a question: bytes 0 any size, launch NULL any, engine NULL any, coll below 0 any point
 * at all. */
struct known_place {
    int coll;
    uint64_t bytes;
    int nodes, ranks;
    const char *launch; /* label */
    const char *engine;
    int others, buffers; /* of struct bench_result */
};

/* Return where a result was measured, and whether it was there, at any size and under any launch. */
struct known_place known_place_of(const struct bench_result *x);
int known_is_of(const struct bench_result *x, const struct known_place *at);
int known_same(const struct known_place *x, const struct known_place *at);

struct known {
    enum bench_status status; /* the worst; BENCH_STATUS_COUNT: nothing is known */
    int deaths;               /* crashes and hangs */
    int samples;
    double us;       /* mean of the sessions' medians, by samples; 0 unknown */
    double least_us; /* the least of them: what a busy machine has not disturbed */
};

#define KNOWN_ANY (-1) /* as a round */

/* Summary of the results of `call` (NULL: any) at that place in `round`. */
struct known known_of(const struct bench_results *r, const struct known_place *at, const char *call, int round);

/* Estimate the time of `call` under the same launch: between two measured sizes the straight line that latency and
 * bandwidth make; beyond the last one its time there, in proportion to the size when that was smaller; 0 when there is
 * none. */
double known_expect_us(const struct bench_results *r, const struct known_place *at, const char *call);

/* Return true if `call` need not be tried: it was left behind at this very place; or there or in the baseline launch it
 * gave wrong data, or the library has refused it at any size, or a process died or hung under it twice. Once may have
 * been somebody else's doing (a node that ran out of memory, a process that somebody stopped). */
int known_hopeless(const struct bench_results *r, const struct known_place *at, const char *call);

/* Number of crashes and hangs of a launch without a result; 0 with one. Two are enough. */
int known_deaths(const struct bench_results *r, const char *launch);

/* Notes the results that have come, so that questions need not walk over all. */
void known_add(struct bench_results *r);
