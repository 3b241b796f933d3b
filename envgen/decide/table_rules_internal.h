/* The parts of env_table_rules_of, private to envgen/rows*.c. */
#ifndef ENVGEN_DECIDE_TABLE_RULES_INTERNAL_H
#define ENVGEN_DECIDE_TABLE_RULES_INTERNAL_H

#include "envgen/decide/table_rules.h"

/* Fills algorithm, protocol, channels and chunk_bytes from a call. Error: a setting that a tuner cannot express. */
int rows_read_call(const struct bench_knobs *call, struct env_table_rule *row, struct err *e);

/* The rows that a law gives for `low` to `high` nodes, which lie between the measured shapes x and y, at the sizes
 * where those two differ. The time of a call is taken to change with the number of nodes linearly or with its
 * logarithm, as that of rings and of trees does (NCCL's cost model has both terms); a call is a row when its gain over
 * the default clears the margin by either law at both ends, with the intervals of the measurements carried along.
 * Between the ends it does so, too: a quotient of two straight lines has no inner minimum. Returns their number, -1
 * after an error. */
int rows_fit(const struct env_decisions *d, const struct env_shape *x, const struct env_shape *y, int low, int high,
             struct arena *a, struct env_table_rule **rows, struct err *e);

#endif
