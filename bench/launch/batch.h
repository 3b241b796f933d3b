/* One request to a running launch, and what may become of it. */
#ifndef BENCH_LAUNCH_BATCH_H
#define BENCH_LAUNCH_BATCH_H

#include "bench/results/results.h"

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

enum bench_outcome {
    BENCH_ANSWERED,
    BENCH_STOPPED, /* *stop was set */
    BENCH_DIED,    /* the launch is of no further use: crashed */
    BENCH_SILENT,  /* the same: no answer in time */
    BENCH_LOST,    /* the same: a node or its agent is gone, which says nothing about the launch */
};

/* A sentence on why something failed. */
#define BENCH_DETAIL 400

#endif
