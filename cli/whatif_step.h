/* A job's step under the variations of a machine. */
#ifndef CLI_WHATIF_STEP_H
#define CLI_WHATIF_STEP_H

#include "bench/predict/whatif.h"

/* Prints the step of a workload file under case `before` and under every other one, and what would save most; adds the
 * cases that it tries for that. */
int cli_whatif_step(struct whatif *w, int before, const char *workload, int json, struct err *e);

#endif
