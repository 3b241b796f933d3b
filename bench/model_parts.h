/* Private to bench/model*.c: a prepared model with other factors. */
#ifndef BENCH_MODEL_PARTS_H
#define BENCH_MODEL_PARTS_H

#include "bench/model.h"

/* The model predicts with these from now on. */
void model_set_factors(struct model *m, const struct model_factors *f);

#endif
