/* Cost table of what NCCL 2.19 to 2.21 can run. */
#pragma once

#include "core/coll.h"

#define PLUGIN_LEGACY_ALGOS  7
#define PLUGIN_LEGACY_PROTOS 3

/* A cost table for versions 1 and 2, which pass none: -1 for what NCCL 2.19 to 2.21 could not run and would take
 * unchecked. `nodes` 0: not known. */
void plugin_legacy_costs(float cost[PLUGIN_LEGACY_ALGOS * PLUGIN_LEGACY_PROTOS], int coll, int collnet, int nvls,
                         int nodes);
