/* Running something beside calls, and what that cost it: finding a BLAS, compiling a kernel, timing pieces of either.
 */
#include "bench/nccltune-worker/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1

/* Of one AllReduce of the second communicator: large enough to be about bandwidth, as gradients are. */
#define CALL_BYTES ((size_t)4 << 20)

/* Nothing is slowed more than this; beyond it a clock was wrong. */
#define MOST 100.0

/* Blocks of our own kernel and turns of its loop: some per multiprocessor of any GPU, short enough for NCCL's kernels
 * to find room between them. */
#define BLOCKS  1056
#define THREADS 256
#define TURNS   2048

#define NAME "nccltune_load"

/* Four chains of multiplications and additions; the store, which never happens, keeps them alive. */
static const char ptx[] =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry " NAME "(.param .u64 out, .param .u32 turns)\n{\n"
    ".reg .pred p;\n.reg .f32 a, b, c, d, x;\n.reg .u32 i;\n.reg .u64 o;\n"
    "ld.param.u64 o, [out];\ncvta.to.global.u64 o, o;\n"
    "mov.u32 i, %tid.x;\ncvt.rn.f32.u32 x, i;\nld.param.u32 i, [turns];\n"
    "mov.f32 a, x;\nadd.f32 b, x, 0f3F000000;\nadd.f32 c, x, 0f3F800000;\nadd.f32 d, x, 0f40000000;\n"
    "again:\n"
    "fma.rn.f32 a, a, 0f3F7FF000, x;\nfma.rn.f32 b, b, 0f3F7FF000, x;\n"
    "fma.rn.f32 c, c, 0f3F7FF000, x;\nfma.rn.f32 d, d, 0f3F7FF000, x;\n"
    "sub.u32 i, i, 1;\nsetp.ne.u32 p, i, 0;\n@p bra again;\n"
    "add.f32 a, a, b;\nadd.f32 c, c, d;\nadd.f32 a, a, c;\n"
    "setp.lt.f32 p, a, 0fC0000000;\n@p st.global.f32 [o], a;\nret;\n}\n";
static const char hip_source[] = "extern \"C\" __global__ void " NAME "(float *out, unsigned turns)\n{\n"
                                 "    float x = threadIdx.x, a = x, b = x + 0.5f, c = x + 1, d = x + 2;\n"
                                 "    for (unsigned i = 0; i < turns; i++) {\n"
                                 "        a = a * 0.9997f + x;\n        b = b * 0.9997f + x;\n"
                                 "        c = c * 0.9997f + x;\n        d = d * 0.9997f + x;\n    }\n"
                                 "    if (a + b + c + d < -2)\n        *out = a;\n}\n";

static void *open_first(const char *const *names)
{
    void *lib = NULL;
    for (; *names && !lib; names++)
        lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return lib;
}

/* ---- BLAS ---- */

static void *open_blas(int hip)
{
    static const char *const cuda_names[] = {"libcublas.so.13",
                                             "libcublas.so.12",
                                             "libcublas.so.11",
                                             "/usr/local/cuda/lib64/libcublas.so.13",
                                             "/usr/local/cuda/lib64/libcublas.so.12",
                                             NULL};
    static const char *const hip_names[] = {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so",
                                            "/opt/rocm/lib/libhipblas.so", NULL};
    return open_first(hip ? hip_names : cuda_names);
}

/* Loading it takes a second, and its handle takes memory: not before something is to run. */
static void start_blas(struct kernel *k)
{
    int hip = k->gpu->hip;
    void *lib = open_blas(hip);
    int (*create)(void **handle), (*math)(void *handle, int mode);
    if (!lib)
        return;
    *(void **)&create = dlsym(lib, hip ? "hipblasCreate" : "cublasCreate_v2");
    *(void **)&k->sgemm = dlsym(lib, hip ? "hipblasSgemm" : "cublasSgemm_v2");
    *(void **)&math = hip ? NULL : dlsym(lib, "cublasSetMathMode");
    if (!create || !k->sgemm || create(&k->blas)) {
        k->blas = NULL;
        return;
    }
    if (math)
        math(k->blas, 3); /* CUBLAS_TF32_TENSOR_OP_MATH: on the tensor cores, as training is */
}

static int set_blas_stream(struct kernel *k)
{
    void *lib = open_blas(k->gpu->hip);
    int (*set)(void *handle, void *stream);
    *(void **)&set = lib ? dlsym(lib, k->gpu->hip ? "hipblasSetStream" : "cublasSetStream_v2") : NULL;
    return set ? set(k->blas, k->stream) : -1;
}

/* ---- our own kernel ---- */

/* For AMD's GPUs; free() the result. NULL with a sentence. */
static char *compile_hip(char *why, size_t bytes)
{
    static const char *const names[] = {
        "libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so", "/opt/rocm/lib/libhiprtc.so", NULL};
    void *lib = open_first(names), *program = NULL;
    int (*create)(void **program, const char *source, const char *name, int headers, const char **, const char **);
    int (*compile)(void *program, int options, const char **);
    int (*size_of)(void *program, size_t *bytes), (*code_of)(void *program, char *code);
    *(void **)&create = lib ? dlsym(lib, "hiprtcCreateProgram") : NULL;
    *(void **)&compile = lib ? dlsym(lib, "hiprtcCompileProgram") : NULL;
    *(void **)&size_of = lib ? dlsym(lib, "hiprtcGetCodeSize") : NULL;
    *(void **)&code_of = lib ? dlsym(lib, "hiprtcGetCode") : NULL;
    size_t size = 0;
    char *code = NULL;
    int rc = !create || !compile || !size_of || !code_of ? -1 : create(&program, hip_source, NAME, 0, NULL, NULL);
    rc = rc ? rc : compile(program, 0, NULL);
    rc = rc ? rc : size_of(program, &size);
    if (!rc && (code = malloc(size)) && code_of(program, code)) {
        free(code);
        code = NULL;
    }
    if (!code)
        snprintf(why, bytes, "neither hipBLAS nor a compiler for kernels (libhiprtc.so) can be had");
    return code;
}

static int start_own_kernel(struct kernel *k, char *why, size_t bytes)
{
    const struct gpu *g = k->gpu;
    void *module = NULL;
    char *compiled = g->hip ? compile_hip(why, bytes) : NULL;
    if (g->hip && !compiled)
        return -1;
    int rc = g->module_load(&module, compiled ? compiled : ptx);
    free(compiled);
    rc = rc ? rc : g->module_function(&k->function, module, NAME);
    if (rc)
        snprintf(why, bytes, "cannot load a kernel: %s", gpu_error(g, rc));
    return rc ? -1 : 0;
}

static int run_own_kernel(struct kernel *k)
{
    unsigned turns = TURNS;
    void *arguments[] = {&k->memory, &turns};
    return k->gpu->launch(k->function, BLOCKS, 1, 1, THREADS, 1, 1, 0, k->stream, arguments, NULL);
}

/* ---- either of them ---- */

/* Return whether this driver can run a kernel; -1 with a sentence. */
static int find_kernel(struct kernel *k, const struct gpu *g, char *why, size_t bytes)
{
    *k = (struct kernel){.gpu = g};
    if (g->module_load && g->module_function && g->launch)
        return 0;
    snprintf(why, bytes, "the GPU driver has no functions for kernels");
    return -1;
}

/* Make it run on `stream`; once in a process, later calls only change where. -1 with a sentence. */
static int open_kernel(struct kernel *k, void *stream, void *memory, char *why, size_t bytes)
{
    k->stream = stream;
    k->memory = memory;
    if (!k->blas && !k->function)
        start_blas(k);
    if (k->blas && !set_blas_stream(k))
        return 0;
    k->blas = NULL;
    return k->function ? 0 : start_own_kernel(k, why, bytes);
}

/* Put one piece of work onto the stream; all take equally long. -1 with a sentence. */
static int run_kernel(struct kernel *k, char *why, size_t bytes)
{
    const float one = 1, zero = 0;
    float *a = k->memory, *b = a + (size_t)KERNEL_ORDER * KERNEL_ORDER, *c = b + (size_t)KERNEL_ORDER * KERNEL_ORDER;
    int plain = k->gpu->hip ? 111 : 0; /* HIPBLAS_OP_N, CUBLAS_OP_N */
    int rc = k->blas ? k->sgemm(k->blas, plain, plain, KERNEL_ORDER, KERNEL_ORDER, KERNEL_ORDER, &one, a, KERNEL_ORDER,
                                b, KERNEL_ORDER, &zero, c, KERNEL_ORDER)
                     : run_own_kernel(k);
    if (rc)
        snprintf(why, bytes, "cannot run a %s beside calls: %d", k->blas ? "matrix multiplication" : "kernel", rc);
    return rc ? -1 : 0;
}

/* ---- beside calls ---- */

static int set_gpu_error(const struct load *l, int code, const char *what, char *why, size_t bytes)
{
    if (code)
        snprintf(why, bytes, "%s: %s", what, gpu_error(l->gpu, code));
    return code ? -1 : 0;
}

void load_open(struct load *l, const struct gpu *g)
{
    *l = (struct load){.gpu = g};
    find_kernel(&l->kernel, g, l->why, sizeof l->why);
}

/* Whose calls run beside those of `groups`: over nodes, one rank of each, beside groups within a node; within each node
 * beside the others; everybody where there is but one rank a node or one node. */
static int color_beside(const struct nccl_groups *groups, const struct group *whole)
{
    int on_node = whole->nranks / groups->whole_nodes;
    if (groups->whole_nodes == 1 || on_node == 1)
        return 0;
    return groups->shape.nodes == 1 ? whole->rank % on_node : whole->rank / on_node;
}

static int open_second(struct load *l, const struct group *whole, const struct nccl_groups *groups, char *why,
                       size_t bytes)
{
    char text[NCCL_TEXT - 64];
    l->second = *whole;
    l->second.number = color_beside(groups, whole);
    l->second.comm = NULL;
    int rc = group_split(&l->second, l->nccl, whole);
    if (rc)
        snprintf(why, bytes, "rank %d: cannot split a second communicator off: %s", whole->rank,
                 nccl_error(l->nccl, whole->comm, rc, text, sizeof text));
    return rc ? -1 : 0;
}

int load_enter(struct load *l, const struct nccl *n, const struct group *whole, const struct nccl_groups *groups,
               char *why, size_t bytes)
{
    const struct gpu *g = l->gpu;
    int rc = l->stream ? 0 : g->stream(&l->stream, NON_BLOCKING);
    rc = rc || l->start ? rc : g->event(&l->start, 0);
    rc = rc || l->stop ? rc : g->event(&l->stop, 0);
    size_t need = groups->shape.load == BENCH_CALLS ? CALL_BYTES : KERNEL_BYTES;
    rc = rc ? rc : g->alloc(&l->memory, need);
    rc = rc ? rc : g->put_fill(l->memory, 0, need, l->stream);
    rc = rc ? rc : g->finish(l->stream);
    l->nccl = n;
    l->kind = groups->shape.load;
    if (set_gpu_error(l, rc, "cannot set up what runs beside calls", why, bytes))
        return -1;
    return l->kind == BENCH_CALLS ? open_second(l, whole, groups, why, bytes)
                                  : open_kernel(&l->kernel, l->stream, l->memory, why, bytes);
}

void load_leave(struct load *l, const struct nccl *n)
{
    if (l->second.comm)
        n->comm_destroy(l->second.comm);
    if (l->memory)
        l->gpu->release(l->memory);
    l->memory = NULL;
    l->second.comm = NULL;
    l->unit_us = 0;
}

static int run_second_call(struct load *l, char *why, size_t bytes)
{
    char text[NCCL_TEXT];
    int rc =
        l->nccl->all_reduce(l->memory, l->memory, CALL_BYTES / 4, NCCL_FLOAT32, NCCL_SUM, l->second.comm, l->stream);
    rc = nccl_settled(l->nccl, l->second.comm, rc);
    if (rc)
        snprintf(why, bytes, "a call of the second communicator: %s",
                 nccl_error(l->nccl, l->second.comm, rc, text, sizeof text));
    return rc ? -1 : 0;
}

int load_start(struct load *l, int units, char *why, size_t bytes)
{
    int rc = set_gpu_error(l, l->gpu->record(l->start, l->stream), "cannot record an event", why, bytes);
    for (int i = 0; i < units && !rc; i++)
        rc = l->kind == BENCH_CALLS ? run_second_call(l, why, bytes) : run_kernel(&l->kernel, why, bytes);
    l->units = units;
    return rc;
}

int load_stop(struct load *l, char *why, size_t bytes)
{
    return set_gpu_error(l, l->gpu->record(l->stop, l->stream), "cannot record an event", why, bytes);
}

static int read_elapsed_us(const struct load *l, double *us, char *why, size_t bytes)
{
    float ms = 0;
    int rc = l->gpu->elapsed_ms(&ms, l->start, l->stop);
    *us = (double)ms * 1e3;
    return set_gpu_error(l, rc, "cannot read a time", why, bytes);
}

int load_calibrate(struct load *l, char *why, size_t bytes)
{
    double us;
    if (read_elapsed_us(l, &us, why, bytes))
        return -1;
    l->unit_us = us / l->units;
    if (l->unit_us > 0)
        return 0;
    snprintf(why, bytes, "what is to run beside calls takes no time");
    return -1;
}

/* What the pieces took longer than alone they lost while the calls ran. */
int load_slowdown(const struct load *l, double us, double *slowdown, char *why, size_t bytes)
{
    double all_us;
    if (read_elapsed_us(l, &all_us, why, bytes))
        return -1;
    double beside_us = us < all_us ? us : all_us, lost_us = all_us - l->units * l->unit_us;
    *slowdown = lost_us <= 0 ? 1 : beside_us - lost_us > beside_us / MOST ? beside_us / (beside_us - lost_us) : MOST;
    return 0;
}
