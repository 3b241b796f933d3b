/* The model engine: no machine is needed, every time is a prediction with a band. */
#ifndef BENCH_ENGINES_MODEL_H
#define BENCH_ENGINES_MODEL_H

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_model;

#endif
