/* Work for all of a GPU: a matrix multiplication by cuBLAS or hipBLAS, or where there is neither a small kernel of our
 * own, which the driver compiles. */
#ifndef BENCH_NCCLTUNE_WORKER_KERNEL_H
#define BENCH_NCCLTUNE_WORKER_KERNEL_H

#include "bench/launch/gpu_driver.h"

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

/* Whether this driver can run a kernel; -1 with a sentence. */
int kernel_find(struct kernel *k, const struct gpu *g, char *why, size_t bytes);

/* Once in a process; later calls only change where it runs. -1 with a sentence. */
int kernel_open(struct kernel *k, void *stream, void *memory, char *why, size_t bytes);

/* One piece of work onto the stream; all take equally long. */
int kernel_run(struct kernel *k, char *why, size_t bytes);

#endif
