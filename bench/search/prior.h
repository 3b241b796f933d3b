/* What the model says about launches before any of them is measured. */
#ifndef BENCH_SEARCH_PRIOR_H
#define BENCH_SEARCH_PRIOR_H

#include "bench/candidates/plan.h"

/* Sorts the launches of `p` behind the default, which stays first, so that the promising ones are screened while there
 * is time: predicted faster than the default, then those that the model is silent on, in their order, then predicted
 * slower. Of sets of HCAs and the like NCCL's own cost table says nothing. Returns the number of launches that the
 * model had a word on; 0, and nothing is moved, where the topology has no GPU or the model fails on it. */
int search_prior_launches(const struct topology *t, int nodes, int ranks_per_node, struct bench_plan *p);

#endif
