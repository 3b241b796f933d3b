/* nccltune bench --engine verbs. */
#ifndef CLI_BENCH_VERBS_H
#define CLI_BENCH_VERBS_H

#include "bench/engines/verbs/run.h"

/* What is to come of it. */
struct bench_verbs {
    struct verbs_options options; /* its journal is chosen here */
    const char *output;           /* the document; NULL nowhere */
    const char *svg;              /* the heat map as a picture; NULL none */
    int json;                     /* print the document, or the result of the check */
    const char *check;            /* a profile to compare with, or its fabric.json; NULL none */
};

/* Values that getopt_long returns for the options of this engine; see CLI_OPT_MEASURE for the others. */
enum { CLI_OPT_PORTS = 640, CLI_OPT_SCHEDULE, CLI_OPT_CHECK, CLI_OPT_SVG, CLI_OPT_SWEEP, CLI_OPT_VERBS_END };

/* Stores what option `c` says. ERR_USAGE: a word that is none of those expected. */
int bench_verbs_take(int c, const char *arg, struct bench_verbs *b, struct err *e);

/* Lines for --help. */
#define BENCH_VERBS_HELP                                                                                              \
    "Pairs of RDMA ports (--engine verbs)\n"                                                                          \
    "      --ports LIST          mlx5_0:1,mlx5_1:1; default: the active ones of the topology\n"                       \
    "      --schedule S          rails (the default on several nodes): ports of the same rail, and some that cross\n" \
    "                            rails; reach: every two ports of different nodes; matrix (the default on one\n"      \
    "                            node): every ordered pair\n"                                                         \
    "      --sweep[=BYTES]       also all sizes from 2 bytes to BYTES (8M) on 1, 2 and 4 queue pairs, on a few "      \
    "pairs\n"                                                                                                         \
    "      --svg FILE            the map of bandwidths as a picture\n"                                                \
    "      --check PROFILE       measure briefly and say what has become worse than in PROFILE; exit status 1 then\n"

/* Measures the fabric, writes what is asked for and prints what was found. With `check` it measures briefly, and only
 * what has become worse than in the profile is printed. Returns the exit code: ERR_FAILED with an empty `e` when
 * something is broken, slow or worse. */
int bench_verbs(const struct bench_verbs *b, struct log *log, struct err *e);

/* "FILE.journal", beside the document. In `a`. */
const char *bench_verbs_journal(const char *output, struct arena *a);

#endif
