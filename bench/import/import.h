/* Output of other benchmarks as measurements: nccl-tests and rccl-tests (text with anything around it, -J
 * JSON, CSV). Several runs may stand in one file, launchers' prefixes and NCCL's log among
 * them.
 *
 * A row of such a table is a mean over calls: one sample. What was set is taken from the command line in front of a
 * run, from NCCL's log and from nccl-tests' JSON. NCCL_ALGO and NCCL_PROTO that name one each are a call's settings; of
 * the other variables those that all runs have in common are the site's own, the rest make launches. */
#pragma once

#include "bench/results/results.h"

/* Facts that files do not have. */
struct import_given {
    int coll;         /* -1: not given */
    int nodes, ranks; /* 0: not given */
    int nccl;         /* the release: 22809; 0: not given */
};

/* Return whether the file begins as a journal of nccltune does, or cannot be read. */
int import_is_journal(const char *path);

/* Reads files of both kinds, nccltune's own journals too, as one. Warns of rows that are left out, with line and
 * reason. Errors: a file that is none of these, no row at all. bench_results_free frees. */
struct bench_results *import_load(const char *const *paths, int npaths, const struct import_given *given,
                                  struct log *log, struct err *e);

/* The same of a text in memory; `path` is only named. */
struct bench_results *import_parse(const char *path, const char *text, size_t bytes, const struct import_given *given,
                                   struct log *log, struct err *e);
