/* The NICs that NCCL would use. In use by model/nccl/model.c alone. */
#pragma once

#include "model/nccl/model.h"

/* At least one, in `a`; their number in `n`. `*assumed` is set to what the topology did not tell, else left alone.
 * NULL after an error: an HCA that the class does not have. */
struct nccl_net *nccl_model_nets(const struct nccl_setup *s, int version, struct arena *a, int *n, const char **assumed,
                                 struct err *e);
