/* A job in no time, for judging what explores in it (tuner/explore): what every choice truly takes is known, and what
 * is told of it is as noisy as clusters are. A communicator of one rank stands for all: ranks that agree are the
 * business of other tests. */
#ifndef TESTS_LIB_ONLINE_WORLD_H
#define TESTS_LIB_ONLINE_WORLD_H

#include <stddef.h>
#include <stdint.h>

enum online_regime {
    ONLINE_GAUSSIAN, /* 1 to 5 %, by law; the others beside it */
    ONLINE_TAIL,     /* one call in 20 takes three times as long */
    ONLINE_SPEEDS,   /* for 40 calls at a time, whichever, all take 15 % more */
    ONLINE_DRIFT,    /* 1 % slower with every thousand calls */
    ONLINE_BURSTS,   /* of 200 calls 30 in a row take half as long again */
    ONLINE_LATE,     /* a rank comes late: every third call waits for it, a fifth of its time on average */
    ONLINE_REGIMES
};
extern const char *const online_regimes[ONLINE_REGIMES];

/* Ours; the published method of AutoCCL (Xu et al., NSDI 2025, section 4), one parameter at a time for as long as a
 * step pays; UCB1 on relative times; Thompson sampling with normal beliefs of log time. The last three agree for
 * nothing and at once. */
enum online_method { ONLINE_OURS, ONLINE_DESCENT, ONLINE_UCB, ONLINE_THOMPSON, ONLINE_METHODS };
extern const char *const online_methods[ONLINE_METHODS];

#define ONLINE_LAWS   60 /* machines; any number is one */
#define ONLINE_SIZES  4  /* kinds of calls of a step, one each */
#define ONLINE_PLACES 4  /* where it is looked: after so many steps */
extern const unsigned online_places[ONLINE_PLACES];

struct online_options {
    enum online_method method;
    enum online_regime regime;
    size_t law;
    uint64_t seed;
    double regret;     /* the bound; 0.01 */
    unsigned dropped;  /* one time in so many does not come; 0: none */
    int alike;         /* everything takes what the default takes */
    unsigned turns;    /* after so many steps what was best takes three times as long; 0: never */
    int again;         /* after a job like it, of whose journal it is reminded; with other noise */
    double connect_us; /* of the host, for the first call of an algorithm */
};

struct online_score {
    double gained, possible; /* sums of logarithms of true gains of what calls run with then, and could */
    double regret;           /* time that calls of trials took beyond what calls ran with else, and that connecting
                                what the job would not run took, of the time of all */
    double slower;           /* time of the job so far over that by default, less 1 */
    unsigned worse;          /* kinds that run with something slower than the default */
};

/* A score for each of the first `places`; the job ends at the last of them. */
void online_run(const struct online_options *o, int places, struct online_score *score);

#endif
