/* GPU memory for the verbs engine, private to bench/worker_verbs*.c: registered through dma-buf, else as the peer
 * memory of a kernel module. */
#ifndef BENCH_WORKER_VERBS_MEMORY_H
#define BENCH_WORKER_VERBS_MEMORY_H

#include "bench/gpuworker_gpu.h"
#include "bench/verbs_pair.h"

struct worker_gpu {
    struct gpu *driver;
    int hip, index;
    void *context;
    char pci[32];    /* "0000:17:00.0"; "" unknown */
    const char *via; /* how the last memory was registered: "dma-buf", "peer memory" */
};

/* Loads whichever driver there is; the number of GPUs, 0 without one. `*hip` tells which it is. */
int worker_gpu_load(struct gpu *driver, int *hip);

/* Takes GPU number `index` for this thread. -1: `why` says why not. */
int worker_gpu_take(struct worker_gpu *g, struct gpu *driver, int hip, int index, char why[VERBS_WORDS]);

/* Its memory; `g` must outlive it. */
struct verbs_memory worker_gpu_memory(struct worker_gpu *g);

#endif
