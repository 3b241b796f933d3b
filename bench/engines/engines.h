/* The engines' table. */
#ifndef BENCH_ENGINES_ENGINES_H
#define BENCH_ENGINES_ENGINES_H

#include "bench/candidates/engine.h"

extern const struct bench_engine *const bench_engines[];        /* NULL-terminated */
const struct bench_engine *bench_engine_find(const char *name); /* NULL: unknown */

#endif
