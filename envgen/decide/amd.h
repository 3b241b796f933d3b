/* Variables that people set for AMD's RCCL, and what is known about them: said in the files, never set unmeasured. */
#ifndef ENVGEN_DECIDE_AMD_H
#define ENVGEN_DECIDE_AMD_H

#include "envgen/profile/decisions.h"

/* Adds them, without values, when the topology's GPUs are AMD's. */
void env_amd_advice(struct env_decisions *d, const struct topology *t);

#endif
