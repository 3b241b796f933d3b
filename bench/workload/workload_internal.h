/* Private to the generators: the framework's parts of a step. */
#ifndef BENCH_WORKLOAD_WORKLOAD_INTERNAL_H
#define BENCH_WORKLOAD_WORKLOAD_INTERNAL_H

#include "bench/workload/build.h"

/* How a framework communicates. Each adds to build->phase; `passes` counts micro-batches, `updates` optimizer steps. */
struct workload_parts {
    void (*forward)(struct workload_build *b, double passes);
    void (*backward)(struct workload_build *b, double passes);
    void (*update)(struct workload_build *b, double updates);
    void (*hand_over)(struct workload_build *b); /* weights from trainer to inference engine */
};
extern const struct workload_parts workload_sharded, workload_zero3, workload_megatron;

void workload_add_rollout(struct workload_build *b);

#endif
