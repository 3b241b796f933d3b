/* A row of calls as one CUDA graph: what a call takes where the launch of each is no longer paid, as in inference. */
#ifndef BENCH_NCCLTUNE_WORKER_CUDA_GRAPH_H
#define BENCH_NCCLTUNE_WORKER_CUDA_GRAPH_H

#include "bench/launch/gpu_driver.h"

/* Captures what `work` puts on `stream` into `*graph`, ready to be launched. Returns the driver's code; `*worked` is
 * what `work` returned, and unless that is 0 nothing was captured. GPU_NO_GRAPHS: the driver has none. */
#define GPU_NO_GRAPHS 801 /* CUDA_ERROR_NOT_SUPPORTED, hipErrorNotSupported */
int cuda_graph_capture(const struct gpu *g, void *stream, int (*work)(void *user), void *user, int *worked,
                       void **graph);

#endif
