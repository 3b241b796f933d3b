/* The parts of the verbs engine among themselves. */
#ifndef BENCH_ENGINES_VERBS_VERBS_INTERNAL_H
#define BENCH_ENGINES_VERBS_VERBS_INTERNAL_H

#include "bench/candidates/engine.h"

/* Measures the fabric, writes what is asked for and prints what was found. ERR_FAILED with an empty `e` when something
 * is broken or slow. */
int verbs_document(const struct bench_document *d, struct err *e);

/* Measures briefly, and prints what has become worse than in the profile of --check. ERR_FAILED with an empty `e` when
 * something has. */
int verbs_document_check(const struct bench_document *d, struct err *e);

/* The engine's `survey`. */
int verbs_survey(const struct bench_document *d, int *made, struct err *e);

#endif
