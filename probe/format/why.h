/* Why a port is on NCCL's list, or is not. */
#ifndef PROBE_FORMAT_WHY_H
#define PROBE_FORMAT_WHY_H

#include <stdio.h>

#include "probe/topology/topology.h"

/* What each rule on roles sees of `port` ("mlx5_4", "mlx5_4:1"), for every class that has it, as text or JSON. Errors:
 * ERR_LACKS where no class has it. */
int why_write(const struct topology *t, const char *port, int json, FILE *out, struct err *e);

#endif
