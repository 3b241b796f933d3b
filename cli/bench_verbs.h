/* nccltune bench --engine verbs. */
#ifndef CLI_BENCH_VERBS_H
#define CLI_BENCH_VERBS_H

#include "bench/verbs_run.h"

/* Measures the fabric, writes the document to `path` (NULL: nowhere), prints what was found, or the document when
 * `json` is set. Returns the exit code: ERR_FAILED with an empty `e` when something is broken or slow. */
int bench_verbs(const struct verbs_options *o, const char *path, int json, struct log *log, struct err *e);

#endif
