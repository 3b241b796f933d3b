/* Measurements by point: every candidate's median and interval, and its gain over the default.
 *
 * Times are pooled over all rounds; their intervals are those of the median by order statistics (distribution-free, at
 * least 95 %; with fewer than six samples: the range). A gain is default time / candidate time, and its unit of
 * evidence is the start: clocks, placement and neighbours are common to everything that is measured in one start of the
 * processes, which therefore counts once. For two predictions the interval holds 90 % of the quotients: what the model
 * gets wrong for both alike has cancelled. doc/STATISTICS.md is the argument. */
#pragma once

#include <stdio.h>

#include "bench/results/results.h"

struct bench_interval {
    double median, low, high;
    int n;                           /* samples; 0: not measured, the rest is 0 */
    int predicted;                   /* low and high are a model's 90 % interval */
    const struct bench_doubt *doubt; /* of a predicted time; NULL: a measurement, or the journal does not say */
    double sure;  /* of a gain over starts: it is greater than this, but for BENCH_FALSE of those that are tested */
    double error; /* of a gain over starts: the standard error of its logarithm */
    double worth; /* of a gain over starts: as many independent ones say as much as these n */
    int lost;     /* of a gain over starts: so many were slower by themselves, interval beyond the margin */
};

/* Of `n` samples in any order; `scratch` holds n doubles. */
struct bench_interval bench_interval_of(const double *samples, int n, double *scratch);

/* The median of a result's times; 0 without any. */
double bench_result_us(const struct bench_result *r);

/* Return how many of the samples equal another one; where many do a clock has cut them off. `scratch` as above. */
int bench_count_equal(const double *samples, int n, double *scratch);

/* With fewer starts, or samples of a time, nothing can be said. */
#define BENCH_FEWEST 5

#define BENCH_CONFIDENCE 0.95

/* Nonzero if so little was measured; predictions have no samples. */
int bench_few(const struct bench_interval *v);

/* Of one point: "1.31x (1.22 to 1.40)", or "1.31x (too little was measured)". */
const char *bench_gain_text(struct arena *a, struct bench_interval gain);

/* A gain below this is not worth a setting. */
#define BENCH_MARGIN 0.03

/* The part of all gains that are tested and may seem to be one though there is none. */
#define BENCH_FALSE 0.005

/* Times that a gain is looked at before one stops, each with a part of that. */
#define BENCH_LOOKS 4

/* Of what `n` starts say, a logarithm each in the order of time: mean and Student's interval, and what is sure of a
 * gain that is the best of `rivals`. `alike` is the correlation of a start with the next one, and its power that with
 * later ones. */
struct bench_interval bench_gain_over_starts(const double *logs, int n, double alike, double confidence, int rivals);

/* One logarithm per start of a call, in order of time. */
struct bench_starts {
    const double *logs;
    int n;
};

/* Return the correlation of a start with the next one, of `n` calls together: what lasts longer than a start makes
 * neighbours alike. 0 where these calls do not show one. */
double bench_starts_alike(const struct bench_starts *calls, int n);

/* The one rule for what is worth a setting: over BENCH_FEWEST starts the interval clears the margin, it is sure to be
 * no loss, and none of the starts says otherwise. For predictions the interval alone counts. */
int bench_gain_clears(struct bench_interval gain, double margin);

/* Speed of `to` relative to `from`. */
struct bench_interval bench_gain(struct bench_interval from, struct bench_interval to);

struct bench_candidate {
    struct bench_knobs launch, call;
    struct bench_interval time_us;
    struct bench_interval gain;  /* over the point's default */
    struct bench_interval proof; /* over the default call of the same launch, in starts that had no part in choosing
                                    it; `n` of them, 0: none */
    struct bench_starts starts;  /* that prove it */
    double promise;              /* how many times as fast as that it was in the starts that chose; 0: in none */
    const struct bench_result *const *results; /* that it was pooled from, in the order of the journals */
    int nresults;
    enum bench_status status; /* the worst seen; only BENCH_OK can be chosen. One crash or hang does not count when
                                 the candidate was measured well after it, any number not for the baseline
                                 with samples: there is nothing to fall back on behind it. */
    const char *detail;
};

struct bench_point {
    const char *engine, *library;
    const char *active; /* the same; of the baseline, or NULL */
    const char *mixed;  /* the baseline was measured over these, too; NULL: over nothing else */
    int coll;
    uint64_t bytes;
    int nodes, ranks, others, buffers; /* of struct bench_result */
    struct bench_candidate *candidates;
    int ncandidates;
    int untouched; /* index of launch "default", call "default"; -1 when it was not measured */
    int best;      /* lowest median among BENCH_OK; -1 none */
};

struct bench_points {
    struct bench_point *items; /* by engine, nodes, ranks, buffers, groups, collective, bytes */
    int count;
    double confidence; /* of the intervals of gains */
    double alike;      /* bench_starts_alike of all calls */
};

/* Allocated in `a`, which must live as long as `r`. */
struct bench_points *bench_points_of(const struct bench_results *r, struct arena *a);

/* The same of results that grow: made anew where some have joined, and then the ones before are no more. */
const struct bench_points *bench_points_so_far(struct bench_results *r);

/* How much this machine differs from itself. */
struct bench_noise {
    double
        spread; /* over starts: the standard deviation of the logarithm of a call's gain, the median of these calls */
    int calls;  /* proven in BENCH_FEWEST starts or more; 0: nothing is known */
    int rivals; /* of them at a point, in the mean */
    double confidence;
};
struct bench_noise bench_noise_of(const struct bench_points *p);

/* Return the smallest gain that clears the margin in `n` such starts, and how many starts a gain takes: of
 * BENCH_MANY_STARTS that many or more. */
#define BENCH_MANY_STARTS 1000
double bench_smallest_gain(const struct bench_noise *x, int n, double margin);
int bench_starts_for(const struct bench_noise *x, double gain, double margin);

/* The gain that is to be decided, in margins: what is smaller is not worth further starts. */
#define BENCH_WANTED 2

/* The order of points: 0 where both were measured at the same one. */
int bench_results_compare(const struct bench_result *a, const struct bench_result *b);

/* Nonzero if both are of the same engine, nodes, ranks, groups and buffers: of one table, for any collective. */
int bench_points_alike(const struct bench_point *x, const struct bench_point *y);

/* The launch's default call at a point, if it was timed with right data; NULL: it was not. */
const struct bench_candidate *bench_point_default(const struct bench_point *p, const char *launch);

/* The index of the candidate that jobs get at a point, by what was decided; -1: none is known. */
typedef int bench_used_fn(const struct bench_point *p, const void *decisions);

/* The table for people, in the conventions of nccl-tests: size, time (us), algbw and busbw (GB/s) for the default and
 * the best candidate, or with `used` the one that is used, the gain with its interval. Behind the gain "*" where that
 * clears BENCH_MARGIN, or is used, and "?" where too little was measured to say. */
void bench_points_print(const struct bench_points *p, bench_used_fn *used, const void *decisions, FILE *out);

/* The same with every candidate, {"format": "nccltune-points/1", "points": [...]}; cJSON_Delete frees. */
struct cJSON *bench_points_json(const struct bench_points *p);

/* ---- launches against one another: sessions of the same round are a pair, and a pair is one number. ---- */

/* Speed of the candidates `to` relative to `from`, over `n` points with their weights (NULL: all alike):
 * each pair has one geometric mean over the points that both have. Of four points or more each counts for a factor of
 * four at most. `n` of the result is the number of pairs, each of them one of BENCH_FEWEST that are asked for. from[i]
 * and to[i] may be NULL. */
struct bench_interval bench_sessions_gain(const struct bench_candidate *const *from,
                                          const struct bench_candidate *const *to, const double *weights, int n,
                                          double confidence, int rivals);

/* The same of the default calls of two launches. */
struct bench_interval bench_launch_gain(const struct bench_point *points, int n, const double *weights,
                                        const char *from, const char *to, double confidence, int rivals);

/* Return whether jobs are proven to be slower at a point under a launch than without it: its default call by the
 * margin, over BENCH_FEWEST pairs where one of `points` points may show that, and no call that was measured under it
 * makes up for that. `*loss` is that gain. */
int bench_point_loses(const struct bench_point *p, const char *launch, int points, double margin, double confidence,
                      struct bench_interval *loss);

/* Positive where `x` departs further from the baseline than `y`, 0 where both do alike: by more settings, or
 * with as many by a shorter list in the same one, such as the interfaces "ib3" beside "ib2,ib3", which leaves more of
 * the machine unused. Of a setting that every class of nodes has for itself the first stands for all. What departs
 * further has to be worth the margin. */
int bench_departs_more(const struct bench_knobs *x, const struct bench_knobs *y);
