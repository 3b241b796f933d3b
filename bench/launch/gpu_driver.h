/* The GPU driver, loaded when it is needed: CUDA's driver interface or HIP's runtime, which has the same functions
 * under other names. Functions return the driver's code, 0 for success. */
#ifndef BENCH_LAUNCH_GPU_DRIVER_H
#define BENCH_LAUNCH_GPU_DRIVER_H

#include <stddef.h>

#define GPU_NOT_READY 600 /* CUDA_ERROR_NOT_READY, hipErrorNotReady */

struct gpu {
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*device)(int *device, int ordinal);
    int (*name)(char *name, int bytes, int device);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*error_text)(int code, const char **text);
    int (*alloc)(void **memory, size_t bytes);
    int (*release)(void *memory);
    int (*to_device)(void *to, const void *from, size_t bytes);
    int (*to_host)(void *to, const void *from, size_t bytes);
    int (*fill)(void *to, unsigned char value, size_t bytes);
    int (*stream)(void **stream, unsigned flags);
    int (*event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*query)(void *event);
    int (*elapsed_ms)(float *ms, void *from, void *to);
    /* NULL in a driver that is too old for them. */
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **captured);
    int (*graph_make)(void **graph, void *captured, unsigned long long flags);
    int (*graph_launch)(void *graph, void *stream);
    int (*graph_free)(void *graph);
    int (*graph_drop)(void *captured);
};

/* Loads and initialises the driver. 0, or -1 with a sentence in `why`. */
int gpu_load(struct gpu *g, int hip, char *why, size_t bytes);

/* "out of memory"; never NULL. */
const char *gpu_error(const struct gpu *g, int code);

#endif
