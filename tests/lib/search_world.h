/* A cluster in no time, for judging a search: what every combination of launch, algorithm, protocol and channels truly
 * takes is known, starts and calls take their time on a simulated clock (link with -Wl,--wrap=progress_now_s), and what
 * is told of them is as noisy as clusters are. */
#pragma once

#include "bench/search/study.h"
#include "tests/doubles/nccl_law.h"
#include "tests/lib/search_machines.h"

/* Every sample has a Gaussian deviation of 0.5 to 3 %, by law; beside it, first what meets all calls alike, then what
 * makes one look better than another: */
enum world_regime {
    WORLD_GAUSSIAN, /* nothing */
    WORLD_PARETO,   /* a Pareto tail, index 1.5 */
    WORLD_SPEEDS,   /* two speeds 15 % apart, a fifth of a second at a time, whichever */
    WORLD_DRIFT,    /* 10 % slower at the end of the budget than at its start */
    WORLD_LAUNCHES, /* every start has a factor of its own, 5 % */
    WORLD_BURSTS,   /* half a second in three, whichever, takes half as long again */
    WORLD_QUIET,    /* no more than 0.1 % of deviation */
    WORLD_NOISY,    /* 20 % of it */
    WORLD_FAVOURS,  /* a start favours some calls, 5 % */
    WORLD_MOMENTS,  /* and so does every second, 10 % */
    WORLD_SPELLS,   /* and every ten seconds, 10 % */
    WORLD_MODES,    /* a call has two speeds 30 % apart, and keeps one in a start */
    WORLD_CARRY,    /* who comes behind one of a third of the calls takes 10 % longer */
    WORLD_TURNS,    /* every second sample takes 20 % longer */
    WORLD_COLD,     /* half of the algorithms take twice as long for eight samples of a start */
    WORLD_CLOCK,    /* it ticks once a millisecond */
    WORLD_CRASHES,  /* a quarter of the calls die in one start of 20 */
    WORLD_REGIMES
};
extern const char *const world_regimes[WORLD_REGIMES];

struct world_options {
    size_t law; /* which machine: any number */
    enum world_regime regime;
    uint64_t seed;            /* of the noise */
    double start_s, budget_s; /* budget 0: as a user has it who names none */
    int nodes;                /* 0: 2; of 8 ranks */
    int launches;             /* tried beside the default; 0: calls alone */
    unsigned collectives;     /* a bit for each; 0: those that the machine has */
    double costs;             /* of every call's latency under the launch that pays: a factor; 0: as drawn */
    int alike;                /* everything takes what the default takes: each choice is a false one */
};

#define WORLD_LAWS     120 /* made up; behind them those of search_machines.h */
#define WORLD_LAUNCH_N 12
#define WORLD_SCORES   64 /* more than there are places */

/* Rows at sizes that were not measured. */
struct world_reach {
    int replaced, slower;    /* than NCCL's own */
    double worst;            /* time over NCCL's own, the largest */
    double gained, possible; /* sums of logarithms of true gains over NCCL's own, in the launch that was decided */
};

/* What was decided: at every place a regret, in the order of places, and sums over them. */
struct world_score {
    double regret[WORLD_SCORES]; /* true time over that of the best call in the best launch, less 1 */
    const char *chosen[WORLD_SCORES];
    double us[WORLD_SCORES]; /* true, of what was decided */
    int places;
    double regrets;                    /* their sum, for who adds up runs */
    double gained, possible;           /* sums of logarithms of true gains over the untouched library */
    int tested;                        /* places where starts were asked whether a call gains */
    int replaced, false_gains, missed; /* places: not NCCL's own call; slower than that; 5 % and more left */
    int deadly;                        /* places: the call dies in one start of 20 */
    double worst_row;                  /* of those replaced: its time over NCCL's own, the largest */
    int pays;                          /* launches that one should have: 0 the default, 1 one, 2 two together */
    double worth;                      /* and how many times as fast that is, as a mean over the places */
    int launch, launch_false;          /* one was chosen that is within the margin of that; slower than the default */
    int settings, idle;                /* of the launch that was chosen; those without which it is as fast */
    struct world_reach between, beyond;
    long stated, held;               /* intervals of gains of calls; and the truth was inside */
    long launch_stated, launch_held; /* the same of launches */
    int starts;                      /* of the processes */
    double spent_s;
    char launch_label[64];
};

/* How many machines there are. */
size_t world_laws(void);

/* The search and the decision of this program. */
struct world_score world_run(const struct world_options *o);

/* How simple methods do at the same: calls alone. */
enum world_rival { WORLD_EXHAUSTIVE, WORLD_RANDOM, WORLD_DESCENT, WORLD_HALVING, WORLD_THOMPSON, WORLD_RIVALS };
extern const char *const world_rivals[WORLD_RIVALS];
struct world_score world_run_rival(const struct world_options *o, enum world_rival rival);

/* ---- for rivals ---- */

struct world_place {
    int coll, size;
    uint64_t bytes;
    int *calls; /* of the plan, those that are offered; the default first */
    int ncalls;
};

struct world {
    struct world_options options;
    struct law law;
    const struct search_machine *machine; /* in place of the law; NULL: it holds */
    double latency_factor[WORLD_LAUNCH_N + 1], bandwidth_factor[WORLD_LAUNCH_N + 1], pair[WORLD_LAUNCH_N + 1];
    struct bench_study study;
    struct world_place places[WORLD_SCORES];
    int nplaces;
    uint64_t drawn;
};
extern struct world world;

double world_uniform(double low, double high);
double world_now_s(void);
void world_pass(double seconds); /* for engines of other tests on the same clock */

/* A sample of a place's call in the only session; its time passes. */
double world_sample_us(const struct world_place *p, int call);

/* The call that a rival chooses at a place before the clock says until_s; tests/lib/search_rivals.c. */
int world_rival_choice(enum world_rival rival, const struct world_place *p, double until_s);
