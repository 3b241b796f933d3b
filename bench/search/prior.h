/* What the model says about launches before any of them is measured. */
#pragma once

#include <stdio.h>

#include "bench/candidates/engine.h"

/* Sorts the launches of `p` behind the default, which stays first, so that the promising ones are screened while there
 * is time: predicted faster than the default, then those that the model is silent on, in their order, then predicted
 * slower. Of sets of HCAs and the like NCCL's own cost table says nothing. Returns the number of launches that the
 * model had a word on; 0, and nothing is moved, where s->predictor is NULL or does not know the machine. Fills
 * `p->expected`, in `a`. */
int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p);

/* What is expected of all that is to be tried, the most gain per second first where a start takes start_s, as [{launch
 * or collective and bytes, gain, time_s, gain_per_s}]: gain is how many times as fast the launch makes all calls, or
 * the best call this one, beside NCCL's choice; gain_per_s the logarithm over all `n` sizes of `collectives`, each
 * counting alike. What the model is silent on is left out. NULL: all of it. cJSON_Delete frees. */
struct cJSON *search_prior_json(const struct bench_setup *s, const struct bench_plan *p, unsigned collectives,
                                const uint64_t *sizes, int n, double start_s);

/* The first of them, a line each, for people. */
void search_prior_print(const struct cJSON *expected, FILE *out);
