/* The nccl engine: collectives on device memory through NCCL or RCCL. */
#ifndef BENCH_ENGINES_NCCL_ENGINE_H
#define BENCH_ENGINES_NCCL_ENGINE_H

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_nccl;

/* Path of our tuner plugin: what NCCLTUNE_PLUGIN_SO says, beside the running program, or where it is installed. NULL
 * after an error (ERR_LACKS). In `a`. */
const char *bench_nccl_plugin(struct arena *a, struct err *e);

#endif
