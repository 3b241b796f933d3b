/* What a measured fabric (fabric.json, of the verbs engine) justifies: settings for NCCL, common or of single classes
 * of nodes, each with the numbers that speak for it. */
#pragma once

#include "bench/fabric/fabric.h"
#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

/* Adds to `d`, after what was measured on GPUs and before what the topology says. A list of HCAs that was measured on
 * GPUs stays unless it names a port that is left out here. A rail that is bad on one node is left out on all; classes
 * whose ports have other names get the list in their own. What was looked at and needs no setting is added without a
 * value. */
void env_fabric(struct env_decisions *d, const struct topology *t, struct verbs_fabric *f);
