/* One group of ranks, one point at a time: buffers, one call, a timed batch of calls, the check of the data. Everything
 * that the GPU does for it is on one stream. */
#pragma once

#include "bench/nccltune-worker/buffers.h"
#include "bench/nccltune-worker/nccl.h"
#include "core/gpu_driver.h"
#include "tuner/plugin/control.h"

/* The plugin's control functions, where NCCL loaded it; NULL all of them otherwise. */
struct steering {
    int (*version)(void);
    void (*arm)(void);
    int (*force)(const struct nccltune_force *f);
    int (*last)(struct nccltune_record *r);
};

struct measurer {
    struct gpu gpu;
    struct nccl nccl;
    struct steering steer;
    void *stream, *start, *stop;
    void *scratch; /* one element for the barrier */
    int device;
    struct group all, group; /* everybody, who meet at barriers, and those that call together */
    struct buffers buffers;  /* of the prepared point */
};

/* Stream, events and scratch memory, once the communicator is there. */
int measure_open(struct measurer *m, struct err *e);

/* All ranks meet on the GPU, under NCCL's own choice. */
int measure_barrier(struct measurer *m, struct err *e);

/* Memory for a point, filled. */
int measure_prepare(struct measurer *m, const struct nccl_point *p, struct nccl_prepared *done, struct err *e);

/* NCCL_DONE, NCCL_WRONG or NCCL_REFUSED go into `t`. */
int measure_run(struct measurer *m, const struct nccl_measure *q, struct nccl_times *t, struct err *e);
