/* Where the programs lie that nccltune starts to measure. */
#ifndef CORE_LOCATE_H
#define CORE_LOCATE_H

#include "core/arena.h"
#include "core/err.h"

/* The path of `name` ("nccltune-bench"): what the environment variable `variable` says, else beside the running
 * program, else in the libexec directory. NULL after ERR_LACKS. In `a`, or of static life. */
const char *bench_program(const char *name, const char *variable, struct arena *a, struct err *e);

#endif
