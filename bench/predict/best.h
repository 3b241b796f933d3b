/* The fastest way that the model knows of to make a call: what tuning would find if the model were right. */
#ifndef BENCH_PREDICT_BEST_H
#define BENCH_PREDICT_BEST_H

#include "bench/predict/model.h"

/* Tries every algorithm, protocol and number of channels that a tuner can ask for. NCCL's own choice stands unless
 * another is faster. -1: not even that can be predicted. */
int model_best(const struct model *m, int coll, uint64_t bytes, struct model_time *t);

#endif
