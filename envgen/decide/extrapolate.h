/* Beyond the numbers of nodes that were measured: NCCL's results fit the model's few free constants, and the fitted
 * model carries the measured gains on. */
#ifndef ENVGEN_DECIDE_EXTRAPOLATE_H
#define ENVGEN_DECIDE_EXTRAPOLATE_H

#include "core/log.h"
#include "envgen/profile/decisions.h"

/* Fills fit and reaches of `d`, up to extrapolate_nodes. For every series of measured shapes with the same ranks a node
 * the gains at its largest number of nodes are multiplied by how the model says that they change; their intervals take
 * up the model's band. A call has a reach where its gain still clears the margin at both ends of a box of node counts,
 * which never spans a factor of two. Where the topology has no GPU, or nothing was measured with NCCL that the model
 * can predict, nothing is filled, and rows_of extrapolates by agreement alone. Says to `log` how well the model fits.
 */
void env_extrapolation(struct env_decisions *d, const struct topology *t, struct log *log);

#endif
