/* An earlier measurement, of another release: what it has shown to be far behind is not tried again. */
#pragma once

#include "bench/candidates/engine.h"
#include "core/err.h"

/* Takes out of `p` the launches and calls that the journal at `path` has times of, of this engine, and that took more
 * than EARLIER_BEHIND times the best wherever they were measured. The default stays, and so does what crashed, gave
 * wrong data or was not tried then. `log` is told how many went. */
#define EARLIER_BEHIND 1.5
int search_leave_out_losers(struct bench_plan *p, const char *engine, const char *path, struct log *log, struct err *e);
