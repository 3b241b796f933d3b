/* The NICs that NCCL would use. In use by model/nccl/model.c alone. */
#ifndef MODEL_NCCL_MODEL_NETS_H
#define MODEL_NCCL_MODEL_NETS_H

#include "model/nccl/types.h"

/* At least one, in `a`; their number in `n`. `*assumed` is set to what the topology did not tell, else left alone.
 * NULL after an error: an HCA that the class does not have. */
struct nccl_net *nccl_model_nets(const struct nccl_setup *s, int version, struct arena *a, int *n, const char **assumed,
                                 struct err *e);

#endif
