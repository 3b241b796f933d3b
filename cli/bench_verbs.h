/* nccltune bench --engine verbs. */
#ifndef CLI_BENCH_VERBS_H
#define CLI_BENCH_VERBS_H

#include "bench/engines/verbs/run.h"
#include "core/option.h"

/* What is to come of it. */
struct bench_verbs {
    struct verbs_options options; /* its journal is chosen here */
    const char *output;           /* the document; NULL nowhere */
    const char *svg;              /* the heat map as a picture; NULL none */
    int json;                     /* print the document, or the result of the check */
    const char *check;            /* a profile to compare with, or its fabric.json; NULL none */
};

extern const struct option_spec bench_verbs_options[]; /* into struct bench_verbs */

/* Measures the fabric, writes what is asked for and prints what was found. With `check` it measures briefly, and only
 * what has become worse than in the profile is printed. Returns the exit code: ERR_FAILED with an empty `e` when
 * something is broken, slow or worse. */
int bench_verbs(const struct bench_verbs *b, struct log *log, struct err *e);

/* "FILE.journal", beside the document. In `a`. */
const char *bench_verbs_journal(const char *output, struct arena *a);

#endif
