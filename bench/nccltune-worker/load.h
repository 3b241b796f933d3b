/* What runs beside the calls that are measured, in equal pieces on a stream of its own: matrix multiplications by
 * cuBLAS or hipBLAS, where there is neither a small kernel that keeps all of the GPU busy, or AllReduces of a second
 * communicator. */
#pragma once

#include "bench/nccltune-worker/nccl.h"
#include "core/gpu_driver.h"

/* Work for all of a GPU. */
#define KERNEL_ORDER 2048 /* of the matrices: 17 GFLOP a multiplication */
#define KERNEL_BYTES ((size_t)3 * KERNEL_ORDER * KERNEL_ORDER * sizeof(float))

struct kernel {
    const struct gpu *gpu;
    void *stream, *memory; /* KERNEL_BYTES of zeros */
    void *blas;            /* handle; NULL: our own kernel runs */
    int (*sgemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    void *function;
};

struct load {
    const struct gpu *gpu;
    const struct nccl *nccl;
    struct kernel kernel;
    int kind; /* enum bench_load */
    void *stream, *start, *stop, *memory;
    struct group second;   /* its ranks; comm NULL: it computes */
    int units;             /* that were started last */
    double unit_us;        /* one alone; 0: nothing runs beside */
    char why[NCCL_ACTIVE]; /* nothing can; "": it can */
};

/* Looks what there is to compute with. Costs nothing on the GPU. */
void load_open(struct load *l, const struct gpu *g);

/* Gets ready for a shape's load; all ranks of `whole` have to. These return 0, or -1 with a sentence. */
int load_enter(struct load *l, const struct nccl *n, const struct group *whole, const struct nccl_groups *groups,
               char *why, size_t bytes);
void load_leave(struct load *l, const struct nccl *n);

/* Puts so many pieces on the stream; the end is marked by load_stop, to be called when all is launched that is to run
 * beside them. Whoever waits for `stop` may ask for times then. */
int load_start(struct load *l, int units, char *why, size_t bytes);
int load_stop(struct load *l, char *why, size_t bytes);

/* After LOAD_TRIAL pieces with nothing beside them: what one takes. */
#define LOAD_TRIAL 20
int load_calibrate(struct load *l, char *why, size_t bytes);

/* How many times longer the pieces took while calls of `us` ran beside them; 1: not at all. */
int load_slowdown(const struct load *l, double us, double *slowdown, char *why, size_t bytes);
