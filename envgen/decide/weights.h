/* What each measured point is worth to a workload. */
#ifndef ENVGEN_DECIDE_WEIGHTS_H
#define ENVGEN_DECIDE_WEIGHTS_H

#include "envgen/decide/slice.h"
#include "envgen/profile/decisions.h"

/* The time that a step of `d`'s workload spends at each point by default. NULL: there is no workload, or it calls
 * nothing of the kind. Lives in `d`'s arena. */
double *decide_weights(const struct env_decisions *d, struct decide_slice s);

#endif
