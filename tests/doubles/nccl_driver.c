/* The driver double under CUDA's names: libcuda.so.1. Declarations are checked against an installed <cuda.h> with
 * -DREAL_HEADER. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/doubles/nccl_gpu.h"

#ifdef REAL_HEADER
#include <cuda.h>
#else
typedef int CUresult, CUdevice, CUmemRangeHandleType, CUdevice_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUstreamCaptureMode;
#endif

#define L2_CACHE_SIZE 38 /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */

struct CUctx_st {
    int device;
};

static struct CUctx_st contexts[64];

static void *at(CUdeviceptr p)
{
    return (void *)(uintptr_t)p;
}

CUresult cuInit(unsigned int flags)
{
    return flags ? GPU_BAD_VALUE : gpu_count() ? GPU_OK : GPU_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return GPU_OK;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = gpu_count();
    return GPU_OK;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= gpu_count())
        return GPU_BAD_DEVICE;
    *device = ordinal;
    return GPU_OK;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)len, "GPU double");
    return GPU_OK;
}

CUresult cuDeviceGetPCIBusId(char *text, int len, CUdevice device)
{
    snprintf(text, (size_t)len, "0000:%02X:00.0", 0x10 + device);
    return GPU_OK;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = gpu_cache_bytes();
    return (int)attribute == L2_CACHE_SIZE ? GPU_OK : GPU_BAD_VALUE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    contexts[device].device = device;
    *context = &contexts[device];
    return gpu_take(device);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    if (!context)
        return GPU_BAD_VALUE;
    gpu_make_current(context->device);
    return GPU_OK;
}

CUresult cuCtxSynchronize(void)
{
    return gpu_wait_for_all();
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    *text = gpu_text(code);
    return GPU_OK;
}

/* ---- memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
    void *memory = NULL;
    int rc = gpu_alloc(&memory, bytes);
    *p = (CUdeviceptr)(uintptr_t)memory;
    return rc;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    return gpu_free(at(p));
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *all)
{
    gpu_memory(left, all);
    return GPU_OK;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return gpu_copy_in(at(to), from, bytes, NULL);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return gpu_copy_out(to, at(from), bytes, NULL);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return gpu_copy_in(at(to), from, bytes, (void *)stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return gpu_copy_out(to, at(from), bytes, (void *)stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return gpu_copy_across(at(to), at(from), bytes, (void *)stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes)
{
    return gpu_set(at(to), value, bytes, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    return gpu_set(at(to), value, bytes, (void *)stream);
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr start, size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags)
{
    return flags || type != 1 ? GPU_BAD_VALUE : gpu_export(handle, at(start), bytes);
}

/* ---- streams, events, graphs ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return gpu_stream((struct gpu_stream **)(void *)stream, flags);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return gpu_wait((void *)stream);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    return flags ? GPU_BAD_VALUE : gpu_event((struct gpu_event **)(void *)event);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return gpu_record((void *)event, (void *)stream);
}

CUresult cuEventQuery(CUevent event)
{
    return gpu_query((void *)event);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    return gpu_elapsed(ms, (void *)from, (void *)to);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return gpu_capture_begin((void *)stream, (int)mode);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    return gpu_capture_end((void *)stream, (struct gpu_graph **)(void *)graph);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    return gpu_graph_make((struct gpu_graph_exec **)(void *)exec, (void *)graph, flags);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    return gpu_graph_launch((void *)exec, (void *)stream);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    return gpu_graph_free((void *)exec);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    return gpu_graph_drop((void *)graph);
}
