/* Private to the generators: the framework's parts of a step, and adding calls to them. */
#ifndef BENCH_WORKLOAD_WORKLOAD_INTERNAL_H
#define BENCH_WORKLOAD_WORKLOAD_INTERNAL_H

#include "bench/workload/job.h"

struct workload_build {
    const struct workload_job *job;
    struct workload *out;
    struct workload_phase *phase; /* where calls go; NULL while only the time is asked for */
    int ranks;
};

/* How a framework communicates. Each adds to build->phase; `passes` counts micro-batches, `updates` optimizer steps. */
struct workload_parts {
    void (*forward)(struct workload_build *b, double passes);
    void (*backward)(struct workload_build *b, double passes);
    void (*update)(struct workload_build *b, double updates);
    void (*hand_over)(struct workload_build *b); /* weights from trainer to inference engine */
};
extern const struct workload_parts workload_sharded, workload_zero3, workload_megatron;

void workload_add_rollout(struct workload_build *b);

/* Adds calls over groups of `group` ranks `stride` apart; nothing when there is nothing to say (one rank, no bytes). */
void workload_put(struct workload_build *b, int kind, double bytes, double count, int group, int stride,
                  const char *dtype, double overlap_us, const char *what);

int workload_dtype_bytes(const char *dtype); /* 0 for an unknown name */

/* Microseconds that `flops` take on one GPU; -1 when the job does not say how fast it is. */
double workload_compute_us(const struct workload_job *job, double flops);

/* Tokens of one micro-batch of one rank. */
double workload_tokens(const struct workload_job *job);

/* Whole pieces that `total` is cut into so that none is larger than `largest`, 1 or more. */
double workload_pieces(double total, double largest);

#endif
