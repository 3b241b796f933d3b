/* The rounds at one point: which of the calls of one launch is fastest for one collective at one size.
 *
 * Candidates run in turn (ABAB), a few samples a round, and are compared by their times over that of the default right
 * before them: what disturbs a turn disturbs all alike. One whose first sample is more than ROUNDS_HOPELESS times the
 * best is out at once (a short one gets a second chance first); later one whose interval excludes beating the best. The
 * default is never taken out. Calls that refine another one have rounds of their own, if that one was close to the
 * best; variations of the winner have the last ones. Then the winner has to prove its gain over the default with
 * samples of their own, side by side: those that it was chosen by would flatter it. */
#ifndef BENCH_SEARCH_ROUNDS_H
#define BENCH_SEARCH_ROUNDS_H

#include "bench/candidates/engine.h"
#include "bench/results/points.h"

#define ROUNDS_HOPELESS 3.0

/* Below this, microseconds, one sample proves nothing: it may have met somebody else's work, and another is cheap. */
#define ROUNDS_SHORT_US 20000.0

/* The same for a refinement, which differs in little from what it refines. */
#define ROUNDS_REFINED 1.15

/* Whose best sample, of two at least, is so much above the best one's interval need not be measured further. */
#define ROUNDS_CLEAR 1.3

/* Who is refined: all within this factor of the best call that stands on its own. */
#define ROUNDS_CLOSE 1.6

/* A refinement that cannot come down to this part of what it refines is not worth a setting. */
#define ROUNDS_PROMISE 0.98

/* Side by side with the default so many times, and it stays undecided. */
#define ROUNDS_SETTLED 45

#define ROUNDS_SAMPLES 64 /* room for each candidate */

struct candidate {
    const struct bench_knobs *knobs;
    const char *refines;                                  /* label of another candidate; NULL */
    double us[ROUNDS_SAMPLES], beside_us[ROUNDS_SAMPLES]; /* the default's, taken last before each */
    double slowdown; /* of what ran beside, the mean; 0: nothing did, and us is the call's own time */
    int n;
    int proof; /* the samples from here on were taken after it had been chosen; 0: it has not */
    enum bench_status status;
    const char *detail; /* in the arena of the rounds; NULL */
};

struct rounds {
    const struct bench_engine *engine;
    struct bench_session *session;
    volatile sig_atomic_t *stop;
    struct arena *arena;
    int coll;
    uint64_t bytes;
    struct bench_shape shape;
    int buffers;                  /* enum bench_buffers */
    struct candidate *candidates; /* the default first, then the promising ones first */
    int ncandidates;
    double expect_us;          /* of the default; 0 unknown */
    int samples;               /* enough for each candidate */
    double until_s;            /* progress_now_s() at which the time for this point is spent; first uses extend it */
    double all_until_s;        /* the same for all points together: a proof may begin as long as that is not over */
    double began_s;            /* filled by rounds_run */
    double margin, confidence; /* a proof is over when the gain is above or below the margin with this confidence */
    double beside_us;          /* the default's last sample */
    double watchdog_s;
    /* Adds to the candidates, which have room for BENCH_VARIATIONS more, those that refine `winner`; returns how many.
     * NULL: there are none. */
    int (*vary)(void *user, struct rounds *r, const struct bench_knobs *winner);
    void *user;
    const char *refined; /* label of the candidate whose refinements run; NULL in the first rounds */
    int failed;          /* after BENCH_DIED and BENCH_SILENT: the candidate that was running */
};

/* Runs it. The default gets its first sample whatever the time; others may end with none. `detail` is filled unless
 * BENCH_ANSWERED. */
enum bench_outcome rounds_run(struct rounds *r, char detail[BENCH_DETAIL]);

#endif
