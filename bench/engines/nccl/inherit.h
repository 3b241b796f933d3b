/* Environment of workers, from that of the command. */
#pragma once

#include "bench/launch/launch.h"
#include "core/log.h"

/* Add the names that candidates do not get. What nccltune has installed is gone already (core/delivered.h). */
void inherit_clear(struct words *w, struct arena *a);

/* Settings that jobs pin here, and candidates must not have: "NCCL_ALGO=Ring, NCCL_PROTO=LL"; NULL nothing. */
const char *inherit_pins(struct arena *a);

/* Says what holds for every candidate, and what for none. */
void inherit_log(struct log *log);
