/* What a measured fabric (fabric.json, of the verbs engine) justifies: settings for NCCL, common or of single classes
 * of nodes, each with the numbers that speak for it. */
#ifndef ENVGEN_DECIDE_FABRIC_H
#define ENVGEN_DECIDE_FABRIC_H

#include "bench/fabric/fabric.h"
#include "envgen/decide/decide.h"

#define ENV_FABRIC "measured on the fabric" /* the source of its settings */

/* The class of a node of the fabric, by the hosts of the topology; -1 when it does not know the node. */
int env_fabric_class(const struct topology *t, const struct verbs_fabric *f, int node);

/* NCCL_NET_GDR_LEVEL: how far apart a GPU and a NIC may be so that the NIC still reads and writes the GPU's memory. A
 * value where the measurements contradict NCCL's default; `why` is NULL where nothing of the kind was measured.
 * Everything is allocated in the fabric's arena. */
struct verbs_decision;
struct env_setting env_gdr_level(const struct topology *t, const struct verbs_fabric *f,
                                 const struct verbs_decision *v);

/* Adds to `d`, after what was measured on GPUs and before what the topology says. A list of HCAs that was measured on
 * GPUs stays unless it names a port that is left out here. A rail that is bad on one node is left out on all; classes
 * whose ports have other names get the list in their own. What was looked at and needs no setting is added without a
 * value. */
void env_fabric(struct env_decisions *d, const struct topology *t, struct verbs_fabric *f);

#endif
