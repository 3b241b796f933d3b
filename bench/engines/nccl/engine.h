/* The nccl engine: collectives on device memory through NCCL or RCCL. */
#ifndef BENCH_ENGINES_NCCL_ENGINE_H
#define BENCH_ENGINES_NCCL_ENGINE_H

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_nccl;

#endif
