/* The variables of a profile. */
#ifndef ENVGEN_DECIDE_SETTINGS_H
#define ENVGEN_DECIDE_SETTINGS_H

#include "bench/fabric/fabric.h"
#include "envgen/decide/openmpi_rules.h"
#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

/* The variables: OpenMPI's from the decisions and their rules, NCCL's from them, the fabric (NULL: not measured) and
 * the topology. Call after env_decide. Error: a launch setting that may not be written into a file. */
int env_settings(struct env_decisions *d, const struct env_rules *rules, const struct topology *t,
                 struct verbs_fabric *fabric, struct err *e);

#endif
