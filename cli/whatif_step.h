/* A job's step under the variations of a machine. */
#pragma once

#include "advise/whatif/whatif.h"

struct cli_whatif_job {
    const char *workload; /* a file */
    double measured_s;    /* what its communication takes a step; 0: not said */
};

/* Prints the step of a workload file under case `before` and under every other one, and what would save most and what
 * may be wrong; adds the cases that it tries for that. */
int cli_whatif_step(struct whatif *w, int before, const struct cli_whatif_job *job, int json, struct err *e);
