/* The GPU driver, loaded when it is needed: CUDA's driver interface or HIP's runtime, which has the same functions
 * under other names. Functions return the driver's code, 0 for success. */
#pragma once

#include <stddef.h>

#include "core/err.h"

#define GPU_NOT_READY 600 /* CUDA_ERROR_NOT_READY, hipErrorNotReady */

/* Work on a stream runs in order; the calls without one go to the NULL stream, for which a stream that is
 * non-blocking does not wait. to_device and all of those on a stream return before it is done. */
struct gpu {
    int hip;
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
    int (*finish_all)(void); /* waits for everything on this GPU */
    int (*put_in)(void *to, const void *from, size_t bytes, void *stream);
    int (*put_out)(void *to, const void *from, size_t bytes, void *stream);
    int (*put_across)(void *to, const void *from, size_t bytes, void *stream);
    int (*put_fill)(void *to, unsigned char value, size_t bytes, void *stream);
    int (*finish)(void *stream);
    int (*attribute)(int *value, int attribute, int device);
    int (*stream)(void **stream, unsigned flags);
    int (*event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*query)(void *event);
    int (*elapsed_ms)(float *ms, void *from, void *to);
    int (*memory)(size_t *left, size_t *all);
    /* NULL in a driver that is too old for them. */
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **captured);
    int (*graph_make)(void **graph, void *captured, unsigned long long flags);
    int (*graph_launch)(void *graph, void *stream);
    int (*graph_free)(void *graph);
    int (*graph_drop)(void *captured);
    double (*host_us)(void); /* a double of the driver brings the host's clock along; else NULL */
};

/* Loads and initialises the driver. */
int gpu_load(struct gpu *g, int hip, struct err *e);

/* The GPU's last-level cache as the driver reports it; 0 when it does not. AMD's reports the L2 of one die, not the
 * cache behind all of them. */
size_t gpu_cache_bytes(const struct gpu *g, int device);

/* Nonzero if a code says that another process has the GPU, as in exclusive mode, or has not quite gone. */
int gpu_is_taken(int code);

/* "out of memory"; never NULL. */
const char *gpu_error(const struct gpu *g, int code);
