/* Output of other benchmarks as measurements: nccl-tests and rccl-tests (text with anything around it, -J
 * JSON, CSV). Several runs may stand in one file, launchers' prefixes and NCCL's log among
 * them.
 *
 * A row of such a table is a mean over calls: one sample. What was set is taken from the command line in front of a
 * run, from NCCL's log and from nccl-tests' JSON. NCCL_ALGO and NCCL_PROTO that name one each are a call's settings; of
 * the other variables those that all runs have in common are the site's own, the rest make launches. */
#pragma once

#include "bench/results/results.h"
#include "core/coll.h"

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

/* ---- for readers of logs ---- */

/* Nonzero if a GPU that a log calls `name` may be a `model`: "NVIDIA A100-PCIE-40GB" is no "A100-SXM4-40GB". */
int import_is_gpu(const char *name, const char *model);

/* A line behind what launchers, kubectl, syslog and clocks put in front of it. */
const char *import_behind_prefix(const char *line);

/* "all_gather_perf" of a collective. */
const char *import_program_name(int coll);
/* The collective whose program a line names; IMPORT_OTHER: a program of another; -1: none. */
#define IMPORT_OTHER COLL_MEASURED
int import_named(const char *line);

/* What a run of nccl-tests shows of its collective. */
struct import_clues {
    unsigned programs;        /* that its file names, as bits */
    int redop, root;          /* the columns: 1 has one, -1 has none; 0: no such column */
    double algbw_GBps, ratio; /* of its fastest row; busbw over algbw: 0 unknown */
};
/* One more row; redop and root "": there is no such column. */
void import_clue_row(struct import_clues *c, const char *redop, const char *root, double algbw_GBps, double busbw_GBps);
/* The number of ranks that the ratio tells; 0: it does not. */
int import_clue_ranks(const struct import_clues *c);
/* The collectives that may be, as bits; `ranks` 0: unknown. The name of the file decides last. */
unsigned import_clue_colls(const struct import_clues *c, const char *path, int ranks);
int import_likeliest(unsigned colls); /* of them */
/* "allgather or alltoall" */
const char *import_coll_names(unsigned colls, struct arena *a);
