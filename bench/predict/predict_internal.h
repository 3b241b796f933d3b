/* Private to bench/predict/: a prepared model with other factors. */
#ifndef BENCH_PREDICT_PREDICT_INTERNAL_H
#define BENCH_PREDICT_PREDICT_INTERNAL_H

#include "bench/predict/model.h"

/* The model predicts with these from now on. */
void model_set_factors(struct model *m, const struct model_factors *f);

#endif
