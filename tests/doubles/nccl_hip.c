/* The driver double under HIP's names: libamdhip64.so, as hip_runtime_api.h of ROCm 6 declares them. What differs from
 * CUDA beyond names: numbers of attributes; the L2 of one die is what the driver reports as its cache, though the
 * Infinity Cache behind it holds far more; memory is void *; and there is no exclusive mode, but a context that is
 * taken says hipErrorContextAlreadyInUse. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/nccl_gpu.h"

#define L2_CACHE_SIZE       19 /* hipDeviceAttributeL2CacheSize */
#define L2_OF_A_DIE         (4 << 20)
#define ALREADY_IN_USE      54
#define STREAM_NON_BLOCKING 1

static int devices[64];

int hipInit(unsigned flags)
{
    return flags ? GPU_BAD_VALUE : gpu_count() ? GPU_OK : GPU_NO_DEVICE;
}

int hipDriverGetVersion(int *version)
{
    *version = 60342134;
    return GPU_OK;
}

int hipGetDeviceCount(int *count)
{
    *count = gpu_count();
    return gpu_count() ? GPU_OK : GPU_NO_DEVICE;
}

int hipDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < 0 || ordinal >= gpu_count() ? GPU_BAD_DEVICE : GPU_OK;
}

int hipDeviceGetName(char *name, int len, int device)
{
    (void)device;
    snprintf(name, (size_t)len, "GPU double of AMD's");
    return GPU_OK;
}

int hipDeviceGetPCIBusId(char *text, int len, int device)
{
    snprintf(text, (size_t)len, "0000:%02x:00.0", 0x10 + device);
    return GPU_OK;
}

int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = L2_OF_A_DIE;
    return attribute == L2_CACHE_SIZE ? GPU_OK : GPU_BAD_VALUE;
}

int hipDevicePrimaryCtxRetain(void **context, int device)
{
    devices[device] = device;
    *context = &devices[device];
    return gpu_take(device) ? ALREADY_IN_USE : GPU_OK;
}

int hipCtxSetCurrent(void *context)
{
    if (!context)
        return GPU_BAD_VALUE;
    gpu_make_current(*(int *)context);
    return GPU_OK;
}

int hipDeviceSynchronize(void)
{
    return gpu_wait_for_all();
}

int hipDrvGetErrorString(int code, const char **text)
{
    *text = code == ALREADY_IN_USE  ? "context is already in use"
            : code == GPU_NO_DEVICE ? "no ROCm-capable device is detected"
                                    : gpu_text(code);
    return GPU_OK;
}

int hipMalloc(void **memory, size_t bytes)
{
    return gpu_alloc(memory, bytes);
}

int hipFree(void *memory)
{
    return memory ? gpu_free(memory) : GPU_OK;
}

int hipMemGetInfo(size_t *left, size_t *all)
{
    gpu_memory(left, all);
    return GPU_OK;
}

int hipMemcpyHtoD(void *to, const void *from, size_t bytes)
{
    return gpu_copy_in(to, from, bytes, NULL);
}

int hipMemcpyDtoH(void *to, const void *from, size_t bytes)
{
    return gpu_copy_out(to, from, bytes, NULL);
}

int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream)
{
    return gpu_copy_in(to, from, bytes, stream);
}

int hipMemcpyDtoHAsync(void *to, const void *from, size_t bytes, void *stream)
{
    return gpu_copy_out(to, from, bytes, stream);
}

int hipMemcpyDtoDAsync(void *to, const void *from, size_t bytes, void *stream)
{
    return gpu_copy_across(to, from, bytes, stream);
}

int hipMemsetD8(void *to, unsigned char value, size_t bytes)
{
    return gpu_set(to, value, bytes, NULL);
}

int hipMemsetD8Async(void *to, unsigned char value, size_t bytes, void *stream)
{
    return gpu_set(to, value, bytes, stream);
}

int hipMemGetHandleForAddressRange(void *handle, void *start, size_t bytes, int type, unsigned long long flags)
{
    return flags || type != 1 ? GPU_BAD_VALUE : gpu_export(handle, start, bytes);
}

int hipStreamCreateWithFlags(void **stream, unsigned flags)
{
    return flags > STREAM_NON_BLOCKING ? GPU_BAD_VALUE : gpu_stream((struct gpu_stream **)stream, flags);
}

int hipStreamSynchronize(void *stream)
{
    return gpu_wait(stream);
}

int hipEventCreateWithFlags(void **event, unsigned flags)
{
    return flags ? GPU_BAD_VALUE : gpu_event((struct gpu_event **)event);
}

int hipEventRecord(void *event, void *stream)
{
    return gpu_record(event, stream);
}

int hipEventQuery(void *event)
{
    return gpu_query(event);
}

int hipEventElapsedTime(float *ms, void *from, void *to)
{
    return gpu_elapsed(ms, from, to);
}

int hipStreamBeginCapture(void *stream, int mode)
{
    return gpu_capture_begin(stream, mode);
}

int hipStreamEndCapture(void *stream, void **graph)
{
    return gpu_capture_end(stream, (struct gpu_graph **)graph);
}

int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    return gpu_graph_make((struct gpu_graph_exec **)exec, graph, flags);
}

int hipGraphLaunch(void *exec, void *stream)
{
    return gpu_graph_launch(exec, stream);
}

int hipGraphExecDestroy(void *exec)
{
    return gpu_graph_free(exec);
}

int hipGraphDestroy(void *graph)
{
    return gpu_graph_drop(graph);
}
