/* Loading the GPU driver: one table of names, two columns. */
#include "core/gpu_driver.h"

#include <dlfcn.h>

static const struct {
    const char *cuda, *hip;
    size_t offset;
    int optional;
} functions[] = {
    {"cuInit", "hipInit", offsetof(struct gpu, init)},
    {"cuDeviceGetCount", "hipGetDeviceCount", offsetof(struct gpu, count)},
    {"cuDeviceGet", "hipDeviceGet", offsetof(struct gpu, device)},
    {"cuDeviceGetName", "hipDeviceGetName", offsetof(struct gpu, name)},
    {"cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", offsetof(struct gpu, retain)},
    {"cuCtxSetCurrent", "hipCtxSetCurrent", offsetof(struct gpu, set_current)},
    {"cuGetErrorString", "hipDrvGetErrorString", offsetof(struct gpu, error_text)},
    {"cuMemAlloc_v2", "hipMalloc", offsetof(struct gpu, alloc)},
    {"cuMemFree_v2", "hipFree", offsetof(struct gpu, release)},
    {"cuMemcpyHtoD_v2", "hipMemcpyHtoD", offsetof(struct gpu, to_device)},
    {"cuMemcpyDtoH_v2", "hipMemcpyDtoH", offsetof(struct gpu, to_host)},
    {"cuCtxSynchronize", "hipDeviceSynchronize", offsetof(struct gpu, finish_all)},
    {"cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", offsetof(struct gpu, put_in)},
    {"cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", offsetof(struct gpu, put_out)},
    {"cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", offsetof(struct gpu, put_across)},
    {"cuMemsetD8Async", "hipMemsetD8Async", offsetof(struct gpu, put_fill)},
    {"cuStreamSynchronize", "hipStreamSynchronize", offsetof(struct gpu, finish)},
    {"cuDeviceGetAttribute", "hipDeviceGetAttribute", offsetof(struct gpu, attribute)},
    {"cuStreamCreate", "hipStreamCreateWithFlags", offsetof(struct gpu, stream)},
    {"cuEventCreate", "hipEventCreateWithFlags", offsetof(struct gpu, event)},
    {"cuEventRecord", "hipEventRecord", offsetof(struct gpu, record)},
    {"cuEventQuery", "hipEventQuery", offsetof(struct gpu, query)},
    {"cuEventElapsedTime", "hipEventElapsedTime", offsetof(struct gpu, elapsed_ms)},
    {"cuMemGetInfo_v2", "hipMemGetInfo", offsetof(struct gpu, memory)},
    {"cuStreamBeginCapture_v2", "hipStreamBeginCapture", offsetof(struct gpu, capture_begin), 1},
    {"cuStreamEndCapture", "hipStreamEndCapture", offsetof(struct gpu, capture_end), 1},
    {"cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", offsetof(struct gpu, graph_make), 1},
    {"cuGraphLaunch", "hipGraphLaunch", offsetof(struct gpu, graph_launch), 1},
    {"cuGraphExecDestroy", "hipGraphExecDestroy", offsetof(struct gpu, graph_free), 1},
    {"cuGraphDestroy", "hipGraphDestroy", offsetof(struct gpu, graph_drop), 1},
    {"double_host_us", "double_host_us", offsetof(struct gpu, host_us), 1},
};

static void *open_driver(int hip)
{
    static const char *const cuda_names[] = {"libcuda.so.1", NULL};
    static const char *const hip_names[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                            "/opt/rocm/lib/libamdhip64.so", NULL};
    void *lib = NULL;
    for (const char *const *n = hip ? hip_names : cuda_names; *n && !lib; n++)
        lib = dlopen(*n, RTLD_NOW | RTLD_GLOBAL);
    return lib;
}

int gpu_load(struct gpu *g, int hip, struct err *e)
{
    void *lib = open_driver(hip);
    if (!lib)
        return err_set(e, ERR_FAILED, "no GPU driver: %s", dlerror());
    g->hip = hip;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *name = hip ? functions[i].hip : functions[i].cuda;
        void *f = dlsym(lib, name);
        if (!f && !functions[i].optional)
            return err_set(e, ERR_FAILED, "the GPU driver has no %s", name);
        *(void **)((char *)g + functions[i].offset) = f;
    }
    int rc = g->init(0);
    return rc ? err_set(e, ERR_FAILED, "the GPU driver does not start: %s", gpu_error(g, rc)) : 0;
}

size_t gpu_cache_bytes(const struct gpu *g, int device)
{
    int bytes = 0, number = g->hip ? 19 : 38; /* hipDeviceAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */
    return g->attribute(&bytes, number, device) || bytes < 0 ? 0 : (size_t)bytes;
}

int gpu_is_taken(int code)
{
    return code == 46 || code == 54; /* CUDA_ERROR_DEVICE_UNAVAILABLE, hipErrorContextAlreadyInUse */
}

const char *gpu_error(const struct gpu *g, int code)
{
    const char *text = NULL;
    return g->error_text(code, &text) || !text ? "unknown driver error" : text;
}
