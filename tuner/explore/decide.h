/* What a communicator's first rank tries and when it has seen enough: decisions of numbers alone. No NCCL, no clock, no
 * thread; one caller at a time.
 *
 * For each kind of call candidates come one after another, by NCCL's own prediction, then fewer channels of what is
 * best. One is tried on two calls, then on more as long as it may still win. Each of its times is divided by that of
 * the call that came before it as calls are now; a candidate wins when the interval of the median of those quotients is
 * below 1 - EXPLORE_MARGIN, and has lost when it is above. What has won is held against what the job would run with
 * again and again, and goes when that is faster.
 *
 * Regret is the time that calls of trials took beyond the others, first calls behind a change included, and the host's
 * time for connecting an algorithm and waiting for an outcome. A trial begins only when what it may cost and all that
 * was paid before for calls of this kind is within the bound's share of the time of all calls of this kind so far, and
 * what was paid for all kinds, connections included, is within that share of the time of all calls. */
#ifndef TUNER_EXPLORE_DECIDE_H
#define TUNER_EXPLORE_DECIDE_H

#include "tuner/explore/plan.h"

#define EXPLORE_REGRET 0.01 /* of the time of calls */
#define EXPLORE_MARGIN 0.03 /* a gain below is not worth a change */
#define EXPLORE_PAIRS  64   /* the latest of a candidate that are kept */
#define EXPLORE_MOST   16   /* candidates of a kind */
#define EXPLORE_KNOWN  64   /* kinds of calls of a communicator that are explored, the first ones */

/* What the launching side knows of a kind. */
struct explore_seen {
    uint64_t calls, bytes;             /* so far; of the first of them */
    uint32_t trials;                   /* that have ended ... */
    uint64_t ended;                    /* ... the last one with this call */
    unsigned offered;                  /* bit per cell that was available to every one */
    float predicted_us[EXPLORE_CELLS]; /* of the first call; as other tuners left them */
    struct explore_cell rule;          /* what the job's table has for it */
    uint32_t chunk_bytes;              /* NCCL's own, lately; 0 unknown: it does not ask for that */
};

/* A call that has ended: what it was, what it ran with, on the GPU of this rank. */
struct explore_sample {
    int kind;
    enum explore_arm arm;
    int algo, proto, channels;
    double us;
};

/* What has held up the host of this rank. */
enum explore_stall {
    EXPLORE_BEGINNING, /* the communicator's first call, which connects what the job runs with by itself */
    EXPLORE_CONNECTED, /* the first call of an algorithm that a plan has asked for */
    EXPLORE_WAITED,    /* for an outcome */
    EXPLORE_STALLS
};

struct explore_decider;

/* NULL: no memory. */
struct explore_decider *explore_decider_new(double regret);
void explore_decider_free(struct explore_decider *d); /* NULL is fine */

void explore_sampled(struct explore_decider *d, const struct explore_sample *s);
void explore_stalled(struct explore_decider *d, enum explore_stall why, double us);

/* What an earlier job has measured: the cell's time over that of calls by default. Where no table has a rule such cells
 * come first, the fastest first, and are expected to cost that; those that were slower are left out. */
void explore_hinted(struct explore_decider *d, int kind, struct explore_cell cell, double over);

/* Of the latest EXPLORE_PAIRS of `n`; 0 of none. */
double explore_median(const float *values, unsigned n);

/* What is to be proposed next; 0: nothing for now. `seen` of the kinds, asked one at a time. */
typedef void explore_look(void *arg, int kind, struct explore_seen *seen);
uint32_t explore_next(struct explore_decider *d, explore_look *look, void *arg);

/* What became of it. */
void explore_decided(struct explore_decider *d, uint32_t plan, int committed);

/* ---- what was learned -------------------------------------------------------------------------------------------- */

enum explore_fate { EXPLORE_UNTRIED, EXPLORE_RUNNING, EXPLORE_WON, EXPLORE_LOST };

struct explore_candidate {
    struct explore_cell cell;
    enum explore_fate fate;
    int stage;
    double risk;        /* time over that of calls as they are, at worst as far as is known */
    unsigned unlike;    /* calls that NCCL ran otherwise */
    unsigned pairs;     /* so far; the latest EXPLORE_PAIRS are kept, from pairs % EXPLORE_PAIRS on */
    int beside_default; /* ... of calls as the job would run without all this */
    float us[EXPLORE_PAIRS], beside_us[EXPLORE_PAIRS];
};

#endif
