/* One request to a running launch, and what may become of it. */
#ifndef BENCH_LAUNCH_BATCH_H
#define BENCH_LAUNCH_BATCH_H

#include "bench/results/results.h"
#include "bench/results/shape.h"

/* Candidates to be measured in turn, `samples` times around. */
struct bench_shot {
    const struct bench_knobs *knobs;
    int iterations;    /* calls in one sample; 0: the engine finds out with bench_sample_calls */
    double patience_s; /* how long a sample may take before it counts as hung */
};
struct bench_batch {
    int coll;
    uint64_t bytes;
    int samples;
    int check; /* check the data of one call of each first; it also serves as warm-up */
    const struct bench_shot *shots;
    int nshots;
    struct bench_shape shape; /* of the groups that do this; nodes 0: everybody together */
    int buffers;              /* enum bench_buffers; BENCH_USUAL: those of the plan */
};

/* What a sample is: calls that fill least_us together, and at least `calls` of them unless these take more than
 * most_us. All zero stands for 200 us and one call: the clock, the barrier before it and the wake-up of a core are then
 * below a few per cent. */
struct bench_sampling {
    double least_us, most_us;
    int calls;
};

/* Calls in a sample of what takes `us`. */
int bench_sample_calls(const struct bench_sampling *s, double us);

/* What such a sample takes. */
double bench_sample_us(const struct bench_sampling *s, double us);

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
