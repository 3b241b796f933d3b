/* The verbs engine: which RDMA ports reach which, how fast, by which GID. */
#ifndef BENCH_ENGINES_VERBS_ENGINE_H
#define BENCH_ENGINES_VERBS_ENGINE_H

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_verbs;

#endif
