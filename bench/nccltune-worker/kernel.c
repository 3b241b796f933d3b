/* Finding a BLAS, compiling a kernel, and running either. */
#include "bench/nccltune-worker/kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

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

static int blas_stream(struct kernel *k)
{
    void *lib = open_blas(k->gpu->hip);
    int (*set)(void *handle, void *stream);
    *(void **)&set = lib ? dlsym(lib, k->gpu->hip ? "hipblasSetStream" : "cublasSetStream_v2") : NULL;
    return set ? set(k->blas, k->stream) : -1;
}

/* ---- our own ---- */

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

static int start_own(struct kernel *k, char *why, size_t bytes)
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

static int run_own(struct kernel *k)
{
    unsigned turns = TURNS;
    void *arguments[] = {&k->memory, &turns};
    return k->gpu->launch(k->function, BLOCKS, 1, 1, THREADS, 1, 1, 0, k->stream, arguments, NULL);
}

/* ---- either ---- */

int kernel_find(struct kernel *k, const struct gpu *g, char *why, size_t bytes)
{
    *k = (struct kernel){.gpu = g};
    if (g->module_load && g->module_function && g->launch)
        return 0;
    snprintf(why, bytes, "the GPU driver has no functions for kernels");
    return -1;
}

int kernel_open(struct kernel *k, void *stream, void *memory, char *why, size_t bytes)
{
    k->stream = stream;
    k->memory = memory;
    if (!k->blas && !k->function)
        start_blas(k);
    if (k->blas && !blas_stream(k))
        return 0;
    k->blas = NULL;
    return k->function ? 0 : start_own(k, why, bytes);
}

int kernel_run(struct kernel *k, char *why, size_t bytes)
{
    const float one = 1, zero = 0;
    float *a = k->memory, *b = a + (size_t)KERNEL_ORDER * KERNEL_ORDER, *c = b + (size_t)KERNEL_ORDER * KERNEL_ORDER;
    int plain = k->gpu->hip ? 111 : 0; /* HIPBLAS_OP_N, CUBLAS_OP_N */
    int rc = k->blas ? k->sgemm(k->blas, plain, plain, KERNEL_ORDER, KERNEL_ORDER, KERNEL_ORDER, &one, a, KERNEL_ORDER,
                                b, KERNEL_ORDER, &zero, c, KERNEL_ORDER)
                     : run_own(k);
    if (rc)
        snprintf(why, bytes, "cannot run a %s beside calls: %d", k->blas ? "matrix multiplication" : "kernel", rc);
    return rc ? -1 : 0;
}
