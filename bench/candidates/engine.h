/* What an engine offers to the conductor: candidates to choose from, and times of them on request.
 *
 * An engine knows how to reach one library. What is tried when, how often, for how long and what is concluded is
 * decided above it, once for all engines. */
#ifndef BENCH_CANDIDATES_ENGINE_H
#define BENCH_CANDIDATES_ENGINE_H

#include <signal.h>

#include "bench/results/results.h"
#include "probe/topology/topology.h"

/* Where and how to run; what a user may say about it. Strings may be NULL. */
struct bench_setup {
    const char *hosts;              /* "a,b,c" */
    const char *hostfile;           /* one host a line */
    const char *interfaces;         /* "eth0,ib0": network interfaces to try instead of the topology's */
    const char *mpirun;             /* the command */
    const char *mpirun_args;        /* further arguments for it, split without a shell */
    int ranks_per_node;             /* 0: the engine chooses */
    const char *nccl;               /* nccl: the library that jobs use; NULL: search */
    const char *launch_prefix;      /* nccl: words in front of every worker ("enroot start image"), split as above */
    const int *nodes;               /* model: how many nodes; one prediction each */
    int nnodes;                     /* 0: as many as the topology has */
    int nccl_version;               /* model: whose choices are predicted, 22809 is 2.28.9; 0: the newest known */
    int graphs;                     /* nccl: small calls are captured in CUDA graphs, as inference engines do */
    int share_gpus;                 /* nccl: more ranks than GPUs; proves mechanics, never gains */
    const struct bench_knobs *jobs; /* nccl: try nothing, compare these launches with the default as jobs run them */
    int njobs;
    const struct topology *topology; /* NULL unknown */
    struct log *log;
};

/* A candidate within one launch. */
struct bench_call {
    int coll;
    uint64_t min_bytes; /* pointless below */
    struct bench_knobs knobs;
    const char *refines; /* label of the call that this one varies: tried where that one has won; NULL: on its own */
};

/* Everything that can be tried. The untouched default comes first in `launches`, and in `calls` for each collective. */
struct bench_plan {
    const char *library;
    struct bench_call *calls;
    struct bench_knobs *launches;
    int ncalls, nlaunches;
    struct bench_knobs *beside; /* what is tried together with the best of the launches, whatever that is */
    int nbeside;
    int keep_all;     /* launches are compared with one another: none is left behind */
    const int *nodes; /* engines that compute: the numbers of nodes, and */
    int nnodes, ranks_per_node;
    int one_session; /* the session that `open` gives cannot be had twice: a death ends the measurement */
    void *context;   /* the engine's own */
};

/* One running launch. Engines put it first into their own structure. */
struct bench_session {
    int nodes, ranks;
};

/* Candidates to be measured in turn, `samples` times around. */
struct bench_shot {
    const struct bench_knobs *knobs;
    int iterations;    /* calls in one sample; 0: as many as fill BENCH_SAMPLE_US */
    double patience_s; /* how long a sample may take before it counts as hung */
};
struct bench_batch {
    int coll;
    uint64_t bytes;
    int samples;
    int check; /* check the data of one call of each first; it also serves as warm-up */
    const struct bench_shot *shots;
    int nshots;
};

/* Short calls are repeated to fill this: the clock, the barrier before it and the wake-up of a core are then below a
 * few per cent. */
#define BENCH_SAMPLE_US 200.0

/* Told for every sample as it comes: BENCH_OK with the slowest rank's time of one call, or BENCH_WRONG or BENCH_FAILED
 * with a sentence, and no further samples of this shot. */
typedef void bench_sample_fn(void *user, int shot, enum bench_status status, double us, const char *detail);

enum bench_outcome {
    BENCH_ANSWERED,
    BENCH_STOPPED, /* *stop was set */
    BENCH_DIED,    /* the session is of no further use: crashed */
    BENCH_SILENT,  /* the same: no answer in time */
};

#define BENCH_DETAIL     400
#define BENCH_VARIATIONS 8

/* A prediction: nine of ten calls lie between low and high. */
struct bench_prediction {
    double us, low_us, high_us;
    char detail[120]; /* what bounds it */
};

struct bench_engine {
    const char *name, *description;

    /* Where a launcher has started this program several times: returns 0 in the one process that conducts, and in the
     * others becomes a worker and does not return. 0 too where there is nothing of the kind. */
    int (*join)(struct err *e);

    /* Finds what can be tried; starts nothing on other machines. `finish` frees what is not in `a`. */
    int (*plan)(const struct bench_setup *setup, struct arena *a, struct bench_plan *plan, struct err *e);

    /* The launch that uses what both use ("ib2,ib3"); 0 when there is no such thing. */
    int (*combine)(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a, struct bench_knobs *both);

    /* Starts a launch and waits for its first word; NULL after an error, also when *stop is set. */
    struct bench_session *(*open)(struct bench_plan *plan, const struct bench_knobs *launch, double patience_s,
                                  volatile sig_atomic_t *stop, struct err *e);

    /* `detail` says why, unless BENCH_ANSWERED. */
    enum bench_outcome (*measure)(struct bench_session *s, const struct bench_batch *batch, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL]);

    /* Ends the launch and frees the session: in good order, or at once when `kill`. */
    void (*close)(struct bench_session *s, int kill);

    void (*finish)(struct bench_plan *plan);

    /* What the library itself predicts for a call at a point, microseconds: the promising ones are tried first. 0: it
     * does not say; below 0: it does not offer this here. The function may be NULL. */
    double (*expect_us)(struct bench_session *s, int coll, uint64_t bytes, const struct bench_knobs *call,
                        volatile sig_atomic_t *stop);

    /* Variations of a call that has come out best at a point, to be tried against it there: their knobs in `a` into
     * `out`; returns how many. The function may be NULL. */
    int (*vary)(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS]);

    /* Engines that compute instead of measuring: the time of a call at a point. -1: not offered there. NULL: this one
     * measures. What has to do with sessions may be NULL in one that computes. */
    int (*predict)(struct bench_plan *plan, int nodes, const struct bench_knobs *launch, int coll, uint64_t bytes,
                   const struct bench_knobs *call, struct bench_prediction *g);
};

extern const struct bench_engine *const bench_engines[];        /* NULL-terminated */
const struct bench_engine *bench_engine_find(const char *name); /* NULL: unknown */

#endif
