/* GPU memory for the verbs engine: registered through dma-buf, else as the peer
 * memory of a kernel module. */
#ifndef BENCH_ENGINES_VERBS_GPU_MEMORY_H
#define BENCH_ENGINES_VERBS_GPU_MEMORY_H

#include "bench/engines/verbs/pair.h"
#include "core/gpu_driver.h"

struct verbs_gpu {
    struct gpu *driver;
    int hip, index;
    void *context;
    char pci[32];    /* "0000:17:00.0"; "" unknown */
    const char *via; /* how the last memory was registered: "dma-buf", "peer memory" */
};

/* Loads whichever driver there is; the number of GPUs, 0 without one. `*hip` tells which it is. */
int verbs_gpu_load(struct gpu *driver, int *hip);

/* Takes GPU number `index` for this thread. -1: `why` says why not. */
int verbs_gpu_take(struct verbs_gpu *g, struct gpu *driver, int hip, int index, char why[VERBS_FAILURE_TEXT]);

/* Its memory; `g` must outlive it. */
struct verbs_memory verbs_gpu_memory(struct verbs_gpu *g);

#endif
