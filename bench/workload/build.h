/* What the generators of workloads are made of: adding calls to a phase, and the quantities that sizes come from. */
#ifndef BENCH_WORKLOAD_BUILD_H
#define BENCH_WORKLOAD_BUILD_H

#include "bench/workload/job.h"

struct workload_build {
    const struct workload_job *job;
    struct workload *out;
    struct workload_phase *phase; /* where calls go; NULL while only the time is asked for */
    int ranks;
};

/* Adds calls over groups of `group` ranks `stride` apart; nothing when there is nothing to say (one rank, no bytes). */
void workload_put(struct workload_build *b, int kind, double bytes, double count, int group, int stride,
                  const char *dtype, double overlap_us, const char *what);

/* Microseconds that `flops` take on one GPU; -1 when the job does not say how fast it is. */
double workload_compute_us(const struct workload_job *job, double flops);

/* FLOPs of a backward pass per parameter and token: 2 for the inputs' gradients, 2 for the weights' unless they are
 * frozen below adapters, and 2 to recompute. */
double workload_backward_flops(const struct workload_job *job);

/* Tokens of one micro-batch of one rank: its share of the sequences. */
double workload_tokens(const struct workload_job *job);

/* Whole pieces that `total` is cut into so that none is larger than `largest`, 1 or more. */
double workload_pieces(double total, double largest);

#endif
