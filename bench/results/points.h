/* What the measurements say, point by point: every candidate's median and interval, and its gain over the default.
 *
 * Samples of one candidate from all rounds are pooled. Intervals of times are those of the median by order statistics
 * (distribution-free, at least 95 %; with fewer than six samples: the range). A gain is default time / candidate time.
 * Where the two were taken side by side it is the median of their quotients with ranks of the sign test, else of the
 * two intervals the cautious one, [low/high, high/low]. For two predictions it holds nine of ten quotients: what the
 * model gets wrong for both alike has cancelled (bench/results/doubt.h). doc/STATISTICS.md is the argument. */
#ifndef BENCH_RESULTS_POINTS_H
#define BENCH_RESULTS_POINTS_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "bench/results/results.h"

struct bench_interval {
    double median, low, high;
    int n;                           /* samples; 0: not measured, the rest is 0 */
    int predicted;                   /* low and high are a model's band, which holds nine of ten */
    const struct bench_doubt *doubt; /* of a predicted time; NULL: a measurement, or the journal does not say */
    double slowdown; /* of what ran beside: the time is what a step loses (bench/results/shape.h); 0: nothing did */
};

/* Of `n` samples in any order; `scratch` holds n doubles. */
struct bench_interval bench_interval_of(const double *samples, int n, double *scratch);

/* With fewer an interval is no more than the range of what was seen. Two times five that do not overlap are 1 in 252 by
 * chance. */
#define BENCH_FEWEST 5

/* Of `n` gains that were measured one by one; sorts them. Where there are too few for `confidence` the range, and `n`
 * below BENCH_FEWEST. */
struct bench_interval bench_gain_of(double *gains, int n, double confidence);
#define BENCH_CONFIDENCE 0.95

/* Whether that is so; predictions have no samples. */
int bench_few(const struct bench_interval *v);

/* "1 sample", "3 samples"; "too few samples" where more were taken, and still too few. */
const char *bench_few_text(struct arena *a, int n);

/* Of one point: "1.31x (1.22 to 1.40)", or "1.31x (1 sample)". */
const char *bench_gain_text(struct arena *a, struct bench_interval gain);

/* A gain below this is not worth a setting. */
#define BENCH_MARGIN 0.03

/* How many times faster than `from` is `to`. */
struct bench_interval bench_gain(struct bench_interval from, struct bench_interval to);

/* One session. */
struct bench_visit {
    int round;
    double us; /* median */
};

struct bench_candidate {
    struct bench_knobs launch, call;
    struct bench_interval time_us;
    struct bench_interval gain;   /* over the point's default */
    struct bench_interval paired; /* over the default call of the same launch, side by side; n 0: never were (or too
                                     few beside many that others have taken without it), */
    int unproven;                 /* though they could have been: it was not worth it */
    struct bench_visit *visits;   /* the sessions after screening, in the order of the journal */
    int nvisits;
    enum bench_status status; /* the worst seen; only BENCH_OK can be chosen. One crash or hang does not count when
                                 the candidate was measured well after it, any number not for the untouched default
                                 with samples: there is nothing to fall back on behind it. */
    const char *detail;
};

struct bench_point {
    const char *engine, *library;
    const char *active; /* the same; of the untouched default, or NULL */
    const char *mixed;  /* the untouched default was measured over these, too; NULL: over nothing else */
    int coll;
    uint64_t bytes;
    int nodes, ranks, others, load, buffers; /* of struct bench_result */
    struct bench_candidate *candidates;
    int ncandidates;
    int untouched; /* index of launch "default", call "default"; -1 when it was not measured */
    int best;      /* lowest median among BENCH_OK; -1 none */
};

struct bench_points {
    struct bench_point *items; /* by engine, nodes, ranks, buffers, groups, collective, bytes */
    int count;
    double confidence; /* of the intervals of gains */
};

/* Allocated in `a`, which must live as long as `r`. */
struct bench_points *bench_points_of(const struct bench_results *r, struct arena *a);

/* The order of points: 0 where both were measured at the same one. */
int bench_results_compare(const struct bench_result *a, const struct bench_result *b);

/* Whether both are of the same engine, nodes, ranks, groups, load and buffers: of one table, for any collective. */
int bench_points_alike(const struct bench_point *x, const struct bench_point *y);

/* The launch's default call at a point, if it was timed with right data; NULL: it was not. */
const struct bench_candidate *bench_point_default(const struct bench_point *p, const char *launch);

/* The call's own time where the candidate's is what a step loses by it, else that; microseconds. */
double bench_candidate_call_us(const struct bench_candidate *c);

/* The index of the candidate that jobs get at a point, by what was decided; -1: none is known. */
typedef int bench_used_fn(const struct bench_point *p, const void *decisions);

/* The table for people, in the conventions of nccl-tests: size, time (us), algbw and busbw (GB/s) for the default and
 * the best candidate, or with `used` the one that is used, the gain with its interval. Behind the gain "*" where that
 * is beyond doubt by BENCH_MARGIN, or is used, and "?" where there are too few samples to say. */
void bench_points_print(const struct bench_points *p, bench_used_fn *used, const void *decisions, FILE *out);

/* The same with every candidate, {"format": "nccltune-points/1", "points": [...]}; cJSON_Delete frees. */
cJSON *bench_points_json(const struct bench_points *p);

#endif
