/* The call decisions. */
#ifndef ENVGEN_DECIDE_CALLS_H
#define ENVGEN_DECIDE_CALLS_H

#include "envgen/decide/evidence.h"
#include "envgen/decide/weights.h"
#include "envgen/profile/decisions.h"

/* Fills colls of `shape` for its chosen launch. */
void decide_calls(struct env_decisions *d, struct env_shape *shape, struct decide_slice s,
                  const struct decide_index *index);

#endif
