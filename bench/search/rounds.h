/* Work at one point in one session: exploring calls, or proving the chosen ones.
 *
 * Exploring chooses, and proves nothing. Candidates run in turn with the default and are ranked by the median of their
 * times over the default's last one: what disturbs a turn disturbs all alike. Who is far behind in the first turn is
 * out; of the others the better half goes on after every few turns. Then what refines the best ones joins, then
 * variations of the winner.
 *
 * Proving takes few candidates, in a start that had no part in choosing them: pairs with the default, each as often
 * before it as behind it, candidates in random order. */
#pragma once

#include "bench/candidates/engine.h"
#include "bench/results/known.h"

/* Out at once: so many times the best. A short sample, microseconds, may have met somebody else's work: it gets a
 * second chance. */
#define ROUNDS_HOPELESS 3.0
#define ROUNDS_SHORT_US 20000.0

#define ROUNDS_SAMPLES 64 /* room for each candidate */

struct candidate {
    const struct bench_knobs *knobs;
    const char *refines;                                  /* label of another candidate; NULL */
    double us[ROUNDS_SAMPLES], beside_us[ROUNDS_SAMPLES]; /* the default's, taken last before each, or in its pair */
    int n;
    int out;  /* does not go on */
    int cold; /* has not run in this session; for rounds_prove */
    enum bench_status status;
    const char *detail; /* in the arena of the rounds; NULL */
};

struct rounds {
    const struct bench_measure_ops *engine;
    struct bench_session *session;
    volatile sig_atomic_t *stop;
    struct arena *arena;
    struct known_place at;
    struct candidate *candidates; /* the default first, then the promising ones first */
    int ncandidates;
    double expect_us;  /* of the default; 0 unknown */
    int samples;       /* enough for each candidate; of pairs where it is proven */
    double until_s;    /* progress_now_s() at which the time for this point is spent; first uses extend it, up to */
    double deadline_s; /* this; 0: no bound */
    double beside_us;  /* the default's last sample */
    double watchdog_s; /* how long a sample may take beside what is expected */
    uint64_t seed;     /* of the order in which pairs are taken */
    /* Adds to the candidates, which have room for BENCH_VARIATIONS more, those that refine `winner`; returns how many.
     * NULL: there are none. */
    int (*vary)(void *user, struct rounds *r, const struct bench_knobs *winner);
    void *user;
    int failed; /* after BENCH_DIED and BENCH_SILENT: the candidate that was running */
};

/* Explores. The default gets its first sample whatever the time; others may end with none. `detail` is filled unless
 * BENCH_ANSWERED. */
enum bench_outcome rounds_explore(struct rounds *r, char detail[BENCH_DETAIL]);

/* Return how many times as long as the default right before it a candidate takes; 0 unknown. The median, or of times
 * that a coarse clock has cut off, of which many are equal, the quotient of the sums. */
double rounds_over_default(const struct candidate *x);

/* Takes pairs of every candidate, their data checked first; two pairs of each whatever the time. */
enum bench_outcome rounds_prove(struct rounds *r, char detail[BENCH_DETAIL]);
