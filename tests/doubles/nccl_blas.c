/* A double of libcublas.so.13: a multiplication takes the time of a kernel. BLAS_DOUBLE=1, or it does not start, as one
 * that is installed for another GPU. */
#include <stdlib.h>

#include "tests/doubles/nccl_gpu.h"

static void *on;

int cublasCreate_v2(void **handle)
{
    *handle = &on;
    return getenv("BLAS_DOUBLE") ? 0 : 1;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    on = stream;
    return handle != &on;
}

int cublasSetMathMode(void *handle, int mode)
{
    return handle != &on || mode != 3;
}

int cublasSgemm_v2(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    if (handle != &on || transpose_a || transpose_b || *alpha != 1 || *beta != 0 || lda != m || ldb != k || ldc != m ||
        n < 1 || !a || !b || !c)
        return 7;
    return gpu_compute(on);
}
