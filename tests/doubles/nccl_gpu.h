/* The machine behind the driver doubles: devices, memory, streams and the time that passes on them. Nothing waits in
 * real time: every process has a host clock in microseconds that its calls advance, a stream is a clock that work
 * advances, and waiting for an event takes the host's clock there. NCCL's double keeps the clocks of ranks together.
 *
 * As CUDA documents and programs forget: what is put on the NULL stream is done when somebody waits for the NULL stream
 * and no earlier, a memset and a copy from host memory return before that, and a stream that is non-blocking does not
 * wait for the NULL stream. Memory comes in pieces of 2 MiB. A stream that is captured takes calls of NCCL only.
 *
 *   DRIVER_DOUBLE_GPUS    how many devices there are (default 2)
 *   DRIVER_DOUBLE_BYTES   memory of each; an allocation beyond it fails as on a GPU
 *   DRIVER_DOUBLE_DMABUF  0: memory cannot be exported as dma-buf
 *   NCCL_DOUBLE_LAW       the law (nccl_law.h): gpu, cache, memory, exclusive, launch, timer */
#pragma once

#include <stddef.h>

#include "tests/doubles/nccl_driver.h"

/* Of CUresult and hipError_t alike. */
enum {
    GPU_OK = 0,
    GPU_BAD_VALUE = 1,
    GPU_OUT_OF_MEMORY = 2,
    GPU_UNAVAILABLE = 46,
    GPU_NO_DEVICE = 100,
    GPU_BAD_DEVICE = 101,
    GPU_BUSY_NOT_READY = 600,
    GPU_NOT_SUPPORTED = 801,
    GPU_CAPTURING = 900,
};

struct gpu_stream;
struct gpu_event;
struct gpu_graph;
struct gpu_graph_exec;

int gpu_count(void);
int gpu_take(int device); /* its context; GPU_UNAVAILABLE while another process has it */
void gpu_make_current(int device);
const char *gpu_text(int code);
int gpu_cache_bytes(void);

int gpu_alloc(void **memory, size_t bytes);
int gpu_free(void *memory);
void gpu_memory(size_t *left, size_t *all);
int gpu_export(void *handle, const void *start, size_t bytes);

/* `stream` NULL: the NULL stream. */
int gpu_set(void *to, unsigned char value, size_t bytes, struct gpu_stream *stream);
int gpu_copy_in(void *to, const void *from, size_t bytes, struct gpu_stream *stream);
int gpu_copy_across(void *to, const void *from, size_t bytes, struct gpu_stream *stream);
int gpu_copy_out(void *to, const void *from, size_t bytes, struct gpu_stream *stream); /* waits */
int gpu_wait(struct gpu_stream *stream);
int gpu_wait_for_all(void);

int gpu_stream(struct gpu_stream **stream, unsigned flags);
int gpu_event(struct gpu_event **event);
int gpu_record(struct gpu_event *event, struct gpu_stream *stream);
int gpu_query(struct gpu_event *event);
int gpu_elapsed(float *ms, const struct gpu_event *from, const struct gpu_event *to);

int gpu_capture_begin(struct gpu_stream *stream, int mode);
int gpu_capture_end(struct gpu_stream *stream, struct gpu_graph **graph);
int gpu_graph_make(struct gpu_graph_exec **exec, struct gpu_graph *graph, unsigned long long flags);
int gpu_graph_launch(struct gpu_graph_exec *exec, struct gpu_stream *stream);
int gpu_graph_free(struct gpu_graph_exec *exec);
int gpu_graph_drop(struct gpu_graph *graph);
