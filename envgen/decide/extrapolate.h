/* Numbers of nodes that were not measured: NCCL's results fit the model's few free constants, and the fitted model
 * carries the measured gains to them. */
#ifndef ENVGEN_DECIDE_EXTRAPOLATE_H
#define ENVGEN_DECIDE_EXTRAPOLATE_H

#include "core/log.h"
#include "envgen/profile/decisions.h"

/* Fills fit and extrapolations of `d`, unless extrapolate_nodes is 0. Measured shapes with the same ranks a node are a
 * series. Their gains are multiplied by how the model says that they change: between two of them from both, where the
 * lesser counts, and beyond the largest up to extrapolate_nodes; their intervals take up the model's band. A call has
 * an extrapolation where its gain still clears the margin at both ends of a box of node counts, which never spans a
 * factor of two. One node is no neighbour: within a node another fabric carries the data. Where the topology has no
 * GPU, or nothing was measured with NCCL that the model can predict, nothing is filled, and the table's rules go by
 * agreement alone. Says to `log` how well the model fits. */
void env_extrapolate(struct env_decisions *d, const struct topology *t, struct log *log);

#endif
