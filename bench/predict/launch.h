/* What a launch's variables mean for the model, which class of a topology is predicted, and for which library. */
#ifndef BENCH_PREDICT_LAUNCH_H
#define BENCH_PREDICT_LAUNCH_H

#include "bench/predict/nccl/model.h"
#include "bench/results/results.h"

/* Puts a variable as NCCL reads it into `s`, whose topology and class are known. -1: the model is silent on it, or on
 * that value. What has to be allocated is in `a`. */
int model_setting_apply(const char *name, const char *value, struct nccl_setup *s, struct arena *a);

/* Whether the model knows what the variable does. */
int model_knows_setting(const char *name);

/* The same for all settings of `launch`. -1 when the model is silent on one of them. */
int model_launch_apply(const struct bench_knobs *launch, struct nccl_setup *s, struct arena *a);

/* The class with GPUs that most hosts belong to, of several the first; -1: none has a GPU. */
int model_class_of(const struct topology *t);

/* How many hosts the class has; 1 when the topology names none. */
int model_hosts_of(const struct topology *t, int class_index);

/* "NCCL 2.28.9", "NCCL 2.28" when any of its patches is meant, "NCCL 2.27.7 (RCCL)" on AMD's GPUs. Returns `text`. */
#define MODEL_LIBRARY 48
char *model_library(const struct nccl_model *m, char text[MODEL_LIBRARY]);

#endif
