/* The conductor: launches in turns, points, candidates; time, deaths and interruptions. */
#ifndef BENCH_CONDUCT_H
#define BENCH_CONDUCT_H

#include "bench/bench.h"

/* Everything about one run. */
struct bench_study {
    const struct bench_options *options;
    const struct bench_engine *engine;
    struct bench_plan plan;
    struct bench_results *results; /* what the journal holds, growing */
    struct bench_journal *journal;
    struct arena *arena; /* that of `results` */
    struct log *log;
    struct progress *progress;
    volatile sig_atomic_t *stop;
    struct bench_summary *summary;

    uint64_t *sizes; /* bytes, ascending */
    int nsizes;
    int nodes, ranks; /* 0 until the first session has said so */
    double started_s; /* progress_now_s() */
    double deadline_s;
    double units, done; /* of work, for the progress bar */
};

/* One visit to a launch: a session of its own in which points are measured. */
struct bench_visit {
    const struct bench_knobs *launch;
    int round;
    int full;       /* all calls; else the default call alone */
    int decisive;   /* only the few points that tell launches apart */
    double until_s; /* time is dealt out so that it ends about then */
};

/* The sizes of `o`: its bounds and what lies between. Allocated in `a`. */
uint64_t *bench_sizes(const struct bench_options *o, struct arena *a, int *count);

/* Runs everything; what has been journalled already is not measured again. */
int bench_conduct(struct bench_study *s, struct err *e);

/* One visit. Crashed and hung sessions are journalled, killed and replaced. Errors: the journal cannot be written; the
 * default launch does not start. */
int bench_visit_run(struct bench_study *s, const struct bench_visit *v, struct err *e);

/* The few sizes that tell launches apart: the smallest, the largest, two between, as indices into sizes, ascending. */
int bench_decisive_sizes(const struct bench_study *s, int indices[4]);

/* The collective that launches are told apart by: AllReduce where it is asked for. */
int bench_decisive_coll(const struct bench_study *s);

/* `bytes` less what does not divide into equal blocks for `ranks`, where the collective has such. */
uint64_t bench_fitting_bytes(int coll, uint64_t bytes, int ranks);

int bench_stopped(const struct bench_study *s);

#endif
