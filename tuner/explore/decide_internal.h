/* What is known of a communicator's kinds of calls. */
#ifndef TUNER_EXPLORE_DECIDE_INTERNAL_H
#define TUNER_EXPLORE_DECIDE_INTERNAL_H

#include "tuner/explore/decide.h"

#define HOLDS 64 /* the latest times of calls as they are */

struct topic {
    int kind;
    uint64_t bytes;
    struct explore_cell hold, rule;
    float holds[HOLDS], defaults[HOLDS]; /* times as calls are; and as they were before anything changed */
    unsigned nholds, ndefaults;
    int widest;   /* channels that were seen */
    int own_cell; /* what the job would run with, when that is a cell; -1 */
    int own_channels;
    struct explore_candidate candidates[EXPLORE_MOST];
    int ncandidates, is_listed;
    int running; /* candidate of the trial under way; -1: none */
    struct explore_plan trial;
    uint32_t trials; /* that had ended when it began */
    double tried_us, behind_us;
    unsigned tried, behind;
    double spent_us;
    uint64_t calls;        /* so far ... */
    double calls_us;       /* ... and their time */
    uint64_t again, pause; /* calls; when what was won is held against the default */
    double last_hold_us;   /* since the trial began; 0: none */
};

struct hint {
    int kind;
    struct explore_cell cell;
    double over;
};

struct explore_decider {
    double regret;
    double connect_us, stalled_us; /* feared, and paid; of the host */
    unsigned connected;            /* bit per algorithm that calls have run with */
    struct topic *topics[EXPLORE_KNOWN];
    int count, turn;
    struct hint *hints; /* the fastest first */
    size_t nhints;
    struct topic *asked; /* whose plan is proposed */
    int asked_candidate;
};

/* Topic `i` in the order in which their calls came; NULL: there is none. */
const struct topic *explore_topic(const struct explore_decider *d, int i);

/* The first is what the job would run with: it comes back when something else has won. */
void explore_list(const struct explore_decider *d, struct topic *t, const struct explore_seen *seen);

/* Once cells are through: half and a quarter of the channels of the best, and all that were ever seen. */
void explore_list_channels(struct topic *t);

/* Then half and a quarter of NCCL's chunk, and twice that of Tree with LL128, which alone it cuts below what buffers
 * hold. A table tells slices by the number of channels, so that is said, too. */
void explore_list_chunks(struct topic *t, const struct explore_seen *seen);

#endif
