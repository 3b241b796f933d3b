/* nccltune bench --calibrate: a few measured calls make the model that of this site. */
#pragma once

#include "bench/search/bench.h"

/* Measures the default of the engine in `o` at a few sizes, keeps the journal (o->results, else where predictions look
 * for it) and prints what the model makes of it. Returns the exit code; `e` says why. */
int cli_calibrate(const struct bench_options *o, const struct topology *t, int json, struct log *log, struct err *e);
