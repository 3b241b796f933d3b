/* Variables that people set for AMD's RCCL, and what is known about them: said in the files, never set unmeasured. */
#pragma once

#include "envgen/profile/decisions.h"

/* Adds them, without values, when the topology's GPUs are AMD's. */
void env_amd_advice(struct env_decisions *d, const struct topology *t);
