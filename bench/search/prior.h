/* The model's predictions for launches before any is measured. */
#pragma once

#include "bench/candidates/engine.h"

/* Sorts the launches of `p` behind the default, which stays first, so that the promising ones are screened while there
 * is time: predicted faster than the default, then those that the model is silent on, in their order, then predicted
 * slower. Of sets of HCAs and the like NCCL's own cost table says nothing. Returns the number of launches that the
 * model had a word on; 0, and nothing is moved, where s->predictor is NULL or does not know the machine. */
int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p);
