/* NCCL's cost model: bandwidth and latency of every algorithm and protocol.
 *
 * Source of the formulas: NCCL src/graph/tuning.cc and src/enqueue.cc of the release named. CollNet (SHARP) needs a
 * network plugin that offers it and is off by default, so its cells stay empty. */
#pragma once

#include "model/nccl/types.h"

/* Fills `bw` and `latency` from the graphs and the numbers of `m`. */
void nccl_cost_fill(struct nccl_model *m);

/* NCCL's estimate for one call, microseconds; below 0: NCCL does not offer that here. `bytes` is NCCL's nBytes. */
double nccl_cost_us(const struct nccl_model *m, int coll, int algo, int proto, uint64_t bytes);
