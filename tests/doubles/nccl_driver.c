/* A double of the GPU driver, CUDA's and HIP's names at once: device memory is host memory, a stream is a clock in
 * microseconds that the NCCL double advances by its law, an event notes that clock.
 *
 *   DRIVER_DOUBLE_GPUS    how many devices there are (default 2)
 *   DRIVER_DOUBLE_BYTES   memory of each; an allocation beyond it fails as on a GPU
 *   DRIVER_DOUBLE_DMABUF  0: memory cannot be exported as dma-buf
 *
 * Declarations are checked against an installed <cuda.h> with -DREAL_HEADER. */
#include "tests/doubles/nccl_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef REAL_HEADER
#include <cuda.h>
#else
typedef int CUresult, CUdevice, CUmemRangeHandleType;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUstreamCaptureMode;
#endif

enum {
    OK = 0,
    BAD_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    BAD_DEVICE = 101,
    NOT_READY = 600,
    NOT_SUPPORTED = 801
};

struct CUctx_st {
    int device;
};
struct CUstream_st {
    double clock_us;
    int stuck;
    CUgraph captured; /* NULL: what comes is done */
};
struct node {
    double_graph_work *run;
    void *work;
};
struct CUgraph_st {
    struct node *nodes;
    int count, users; /* the graph itself and what was made of it */
};
struct CUgraphExec_st {
    CUgraph graph;
};
struct CUevent_st {
    double clock_us;
    const struct CUstream_st *stream;
    int stuck; /* recorded behind work that never finishes */
};
struct block {
    struct block *next;
    void *start;
    size_t bytes;
};

static struct CUctx_st contexts[64];
static struct block *blocks;
static size_t in_use;
static uint64_t writes;
static int current;

static size_t number_from(const char *name, size_t otherwise)
{
    const char *s = getenv(name);
    return s ? strtoull(s, NULL, 10) : otherwise;
}

static int gpus(void)
{
    return (int)number_from("DRIVER_DOUBLE_GPUS", 2);
}

/* ---- for the NCCL double ---- */

double_stream_work double_put_work;
double_stream_stick double_stick;
double_writes double_count_writes;
double_device double_current_device;
double_owner double_owns;

int double_current_device(void)
{
    return current;
}

void double_put_work(void *stream, double us)
{
    ((struct CUstream_st *)stream)->clock_us += us;
}

void double_stick(void *stream)
{
    ((struct CUstream_st *)stream)->stuck = 1;
}

uint64_t double_count_writes(void)
{
    return writes;
}

/* ---- devices ---- */

CUresult cuInit(unsigned int flags)
{
    return flags ? BAD_VALUE : gpus() ? OK : NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return OK;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = gpus();
    return OK;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= gpus())
        return BAD_DEVICE;
    *device = ordinal;
    return OK;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
    (void)device;
    strncpy(name, "GPU double", (size_t)len);
    name[len - 1] = 0;
    return OK;
}

CUresult cuDeviceGetPCIBusId(char *text, int len, CUdevice device)
{
    snprintf(text, (size_t)len, "0000:%02X:00.0", 0x10 + device);
    return OK;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    contexts[device].device = device;
    *context = &contexts[device];
    return OK;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    if (!context)
        return BAD_VALUE;
    current = context->device;
    return OK;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
    *text = code == OUT_OF_MEMORY ? "out of memory"
            : code == BAD_DEVICE  ? "invalid device ordinal"
            : code == NO_DEVICE   ? "no CUDA-capable device is detected"
                                  : "driver error";
    return OK;
}

/* ---- memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
    struct block *b = malloc(sizeof *b);
    void *memory = in_use + bytes <= number_from("DRIVER_DOUBLE_BYTES", (size_t)8 << 30) ? malloc(bytes) : NULL;
    if (!b || !memory) {
        free(b);
        free(memory);
        return OUT_OF_MEMORY;
    }
    *b = (struct block){blocks, memory, bytes};
    blocks = b;
    in_use += bytes;
    *p = (CUdeviceptr)(uintptr_t)memory;
    return OK;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    for (struct block **b = &blocks; *b; b = &(*b)->next)
        if ((*b)->start == (void *)(uintptr_t)p) {
            struct block *gone = *b;
            *b = gone->next;
            in_use -= gone->bytes;
            free(gone->start);
            free(gone);
            return OK;
        }
    return BAD_VALUE;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    writes++;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes)
{
    writes++;
    memset((void *)(uintptr_t)to, value, bytes);
    return OK;
}

int double_owns(const void *memory)
{
    for (const struct block *b = blocks; b; b = b->next)
        if ((const char *)memory >= (const char *)b->start && (const char *)memory < (const char *)b->start + b->bytes)
            return 1;
    return 0;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr start, size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags)
{
    if (flags || type != 1 || !bytes || !double_owns((void *)(uintptr_t)start))
        return BAD_VALUE;
    if (!number_from("DRIVER_DOUBLE_DMABUF", 1))
        return NOT_SUPPORTED;
    *(int *)handle = memfd_create("dma-buf of the driver double", MFD_CLOEXEC);
    return OK;
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    return *stream ? OK : OUT_OF_MEMORY;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? OK : OUT_OF_MEMORY;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    *event = (struct CUevent_st){stream->clock_us, stream, stream->stuck};
    return OK;
}

CUresult cuEventQuery(CUevent event)
{
    return event->stuck ? NOT_READY : OK;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    if (from->stream != to->stream)
        return BAD_VALUE;
    *ms = (float)((to->clock_us - from->clock_us) / 1e3);
    return OK;
}

/* ---- graphs ---- */

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    if ((int)mode < 0 || (int)mode > 2 || stream->captured)
        return BAD_VALUE;
    stream->captured = calloc(1, sizeof *stream->captured);
    if (!stream->captured)
        return OUT_OF_MEMORY;
    stream->captured->users = 1;
    return OK;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    *graph = stream->captured;
    stream->captured = NULL;
    return *graph ? OK : BAD_VALUE;
}

int double_record(void *on, double_graph_work *run, const void *work, size_t bytes)
{
    CUgraph g = ((CUstream)on)->captured;
    struct node *more = g ? realloc(g->nodes, (size_t)(g->count + 1) * sizeof *more) : NULL;
    void *copy = more ? malloc(bytes) : NULL;
    if (more)
        g->nodes = more;
    if (!copy)
        return 0;
    memcpy(copy, work, bytes);
    g->nodes[g->count++] = (struct node){run, copy};
    return 1;
}

static void leave(CUgraph g)
{
    if (--g->users)
        return;
    for (int i = 0; i < g->count; i++)
        free(g->nodes[i].work);
    free(g->nodes);
    free(g);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    *exec = flags ? NULL : malloc(sizeof **exec);
    if (!*exec)
        return BAD_VALUE;
    (*exec)->graph = graph;
    graph->users++;
    return OK;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    for (int i = 0; i < exec->graph->count; i++)
        exec->graph->nodes[i].run(stream, exec->graph->nodes[i].work);
    return OK;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    leave(exec->graph);
    free(exec);
    return OK;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    leave(graph);
    return OK;
}

/* ---- the same under HIP's names ---- */

#ifndef REAL_HEADER
#define HIP(name, original) __typeof__(original)(name) __attribute__((alias(#original)))
HIP(hipInit, cuInit);
HIP(hipDriverGetVersion, cuDriverGetVersion);
HIP(hipGetDeviceCount, cuDeviceGetCount);
HIP(hipDeviceGet, cuDeviceGet);
HIP(hipDeviceGetName, cuDeviceGetName);
HIP(hipDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
HIP(hipCtxSetCurrent, cuCtxSetCurrent);
HIP(hipDrvGetErrorString, cuGetErrorString);
HIP(hipMalloc, cuMemAlloc_v2);
HIP(hipFree, cuMemFree_v2);
HIP(hipMemcpyHtoD, cuMemcpyHtoD_v2);
HIP(hipMemcpyDtoH, cuMemcpyDtoH_v2);
HIP(hipMemsetD8, cuMemsetD8_v2);
HIP(hipMemGetHandleForAddressRange, cuMemGetHandleForAddressRange);
HIP(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId);
HIP(hipStreamCreateWithFlags, cuStreamCreate);
HIP(hipEventCreateWithFlags, cuEventCreate);
HIP(hipEventRecord, cuEventRecord);
HIP(hipEventQuery, cuEventQuery);
HIP(hipEventElapsedTime, cuEventElapsedTime);
HIP(hipStreamBeginCapture, cuStreamBeginCapture_v2);
HIP(hipStreamEndCapture, cuStreamEndCapture);
HIP(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
HIP(hipGraphLaunch, cuGraphLaunch);
HIP(hipGraphExecDestroy, cuGraphExecDestroy);
HIP(hipGraphDestroy, cuGraphDestroy);
#endif
