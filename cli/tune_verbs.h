/* The fabric's part in tune: what connects to what is measured first, where there is something to connect. */
#ifndef CLI_TUNE_VERBS_H
#define CLI_TUNE_VERBS_H

#include "bench/search/bench.h"

/* Measures the fabric of the nodes that `o` and `topology` name into DIR/fabric.json, in half of the budget at most,
 * which is taken off `o->budget_s`. `*fabric` gets the file's path, in `a`; NULL when the machine is only described,
 * when there is neither a second node nor a second RDMA port, or when it could not be measured: a warning says why
 * then, and that is no error. A file that is complete is kept with o->resume, else replaced. Returns 130 when it was
 * interrupted, after a word of its own: o->resume goes on with the journal beside the file. Error: the file cannot be
 * written. */
int tune_verbs(struct bench_options *o, const struct topology *topology, const char *dir, struct log *log,
               struct progress *progress, volatile sig_atomic_t *stop, struct arena *a, const char **fabric,
               struct err *e);

#endif
