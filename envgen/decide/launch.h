/* The launch decision. */
#pragma once

#include "envgen/decide/weights.h"
#include "envgen/profile/decisions.h"

/* Fills launches, chosen and why of `shape`. */
void decide_launch(struct env_decisions *d, struct env_shape *shape, struct decide_slice s);

/* For a shape of other types or places of the data (env_shape_follows): the launch of the usual shape like it. */
void decide_follow(struct env_decisions *d, struct env_shape *shape);
