/* Settings that name devices, on clusters whose nodes are not all alike: what does not hold for every class of nodes
 * goes to the classes that it holds for. Only node-local variables are treated so: lists of devices, which ranks need
 * not agree on. */
#pragma once

#include "envgen/profile/decisions.h"

/* Adds to `d` what the topology alone justifies for single classes, and splits what was measured. */
void env_classes(struct env_decisions *d, const struct topology *t);
