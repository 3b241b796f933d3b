/* From many pairs that failed or were slow to the few things that are broken: one bad cable is one fault, not fifty
 * slow pairs. Pure logic. */
#ifndef BENCH_FABRIC_LOCALISE_H
#define BENCH_FABRIC_LOCALISE_H

#include "bench/fabric/schedule.h"

enum verbs_verdict { VERBS_GOOD, VERBS_FAILED, VERBS_SLOW };

/* How a try went. */
struct verbs_outcome {
    struct verbs_try pair;
    enum verbs_verdict verdict;
    double GBps;     /* 0 unless measured */
    const char *why; /* of a failure; NULL */
};

/* Turns those that reach less than `ratio` of the median into VERBS_SLOW, whatever their ports' rates: a slow port
 * among fast ones holds them up. */
#define VERBS_SLOW_RATIO 0.5
void verbs_mark_slow(struct verbs_outcome *outcomes, int n, double ratio);

/* What can be at fault. Of two that explain the same, the later is named. */
enum verbs_fault_kind {
    VERBS_FAULT_ALL, /* nothing at all went well */
    VERBS_FAULT_NODE,
    VERBS_FAULT_SENDS,    /* what leaves a port; what arrives goes well */
    VERBS_FAULT_RECEIVES, /* … and the other way round */
    VERBS_FAULT_PORT,     /* a port, its cable, or the switch port at the other end */
    VERBS_FAULT_CROSS,    /* everything between different rails of different nodes: no way from one to another */
    VERBS_FAULT_RAIL,     /* between nodes, on one rail */
    VERBS_FAULT_PAIR,     /* these two, while others go well: or two ports that nobody else has tried */
};
struct verbs_fault {
    enum verbs_fault_kind kind;
    struct verbs_end a, b;      /* what the kind needs of them: a.node, a.rail, a; b for a pair */
    enum verbs_verdict verdict; /* VERBS_FAILED or VERBS_SLOW */
    int tried, bad;             /* pairs that it had to do with, and those of them that went badly */
    double GBps, others_GBps;   /* medians of its bad ones and of all good ones; 0 none */
    const char *why;            /* of the first failure; NULL */
};

/* The fewest things that explain every bad outcome, those that explain most first. A thing only counts as one when at
 * most one in five of its pairs went well, and at least two did not (a pair: one).
 * Returns their number; `*faults` is allocated in `a`. */
int verbs_localise(const struct verbs_outcome *outcomes, int n, struct arena *a, struct verbs_fault **faults);

/* Where a pair is named it may be the fault of one of its ports: of one that failed, when the port has no good
 * outcome at all; of one that is slow, when the port has none in that direction. The tries that would tell, each with a
 * port that is known to be good, no port twice. An empty round when there is no doubt or no good port left. */
struct verbs_round verbs_localise_next(const struct verbs_outcome *outcomes, int n, const struct verbs_fault *faults,
                                       int nfaults, struct arena *a);

#endif
