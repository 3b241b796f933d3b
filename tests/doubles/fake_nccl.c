/* A double of libnccl, as far as a tuner can tell: it has ncclGetVersion, and it is the library that calls init. */
#include "tuner/plugin/abi.h"

static int version = 22809;

void fake_nccl_set_version(int v)
{
    version = v;
}

int ncclGetVersion(int *v)
{
    *v = version;
    return NCCLTUNE_SUCCESS;
}

int fake_nccl_init(const struct nccl_tuner_v5 *tuner, void **context, nccl_logger log)
{
    volatile int rc = tuner->init(context, 7, 16, 2, log, NULL, NULL); /* no tail call: the plugin asks who called */
    return rc;
}
