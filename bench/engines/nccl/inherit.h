/* What workers have of the environment that the command was started in. */
#pragma once

#include "bench/launch/launch.h"
#include "core/log.h"

/* Add the names that candidates do not get. What nccltune has installed is gone already (core/delivered.h). */
void inherit_clear(struct words *w, struct arena *a);

/* What jobs have decided for NCCL here, and candidates must not: "NCCL_ALGO=Ring, NCCL_PROTO=LL"; NULL nothing. */
const char *inherit_pins(struct arena *a);

/* Says what holds for every candidate, and what for none. */
void inherit_log(struct log *log);
