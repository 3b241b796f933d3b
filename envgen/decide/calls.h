/* The call decisions. */
#pragma once

#include "envgen/decide/weights.h"
#include "envgen/profile/decisions.h"

/* Fills colls of `n` shapes that a tuner cannot tell apart (envgen/decide/agree.h), each for its chosen launch. */
void decide_calls(struct env_decisions *d, struct env_shape *shapes, const struct decide_slice *slices, int n);
