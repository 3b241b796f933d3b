/* What the files of bench/fabric share alone. */
#ifndef BENCH_FABRIC_FABRIC_INTERNAL_H
#define BENCH_FABRIC_FABRIC_INTERNAL_H

#include "bench/fabric/decide.h"

/* Fills d->left_out, d->nodes_out and d->nnodes_out from the faults. */
void verbs_weigh(struct verbs_fabric *f, struct verbs_decision *d);

#endif
