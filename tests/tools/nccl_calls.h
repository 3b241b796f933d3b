/* What a job calls of the doubles of NCCL and the GPU driver; their times are those of the law, by events. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    char bytes[128];
} id_t128;

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *memory, size_t bytes);
int cuStreamCreate(void **stream, unsigned flags);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventElapsedTime(float *ms, void *from, void *to);
int ncclGetUniqueId(id_t128 *id);
int ncclCommInitRank(void **comm, int ranks, id_t128 id, int rank);
int ncclCommSplit(void *comm, int color, int key, void **group, const void *config);
int ncclCommDestroy(void *comm);
int ncclAllReduce(unsigned long long send, unsigned long long recv, size_t count, int type, int op, void *comm,
                  void *stream);

#define MUST(call)                                   \
    do {                                             \
        int rc_ = (call);                            \
        if (rc_) {                                   \
            fprintf(stderr, "%s: %d\n", #call, rc_); \
            exit(1);                                 \
        }                                            \
    } while (0)

static inline void use_device(int ordinal, void **stream)
{
    void *context;
    int device;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, ordinal));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(stream, 1));
}

struct timer {
    void *from, *to;
};

static inline void timer_start(struct timer *t, void *stream)
{
    MUST(cuEventCreate(&t->from, 0));
    MUST(cuEventCreate(&t->to, 0));
    MUST(cuEventRecord(t->from, stream));
}

/* Waits; microseconds. */
static inline double timer_end(const struct timer *t, void *stream)
{
    float ms = 0;
    MUST(cuEventRecord(t->to, stream));
    while (cuEventQuery(t->to) == 600)
        usleep(50);
    MUST(cuEventElapsedTime(&ms, t->from, t->to));
    return 1e3 * ms;
}
