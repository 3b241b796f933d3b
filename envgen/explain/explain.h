/* What a profile makes OpenMPI and NCCL do, and why: as a whole, for one variable, or for one call. */
#ifndef ENVGEN_EXPLAIN_EXPLAIN_H
#define ENVGEN_EXPLAIN_EXPLAIN_H

#include <stdint.h>
#include <stdio.h>

#include "envgen/profile/profile.h"

struct env_question {
    const char *variable; /* NULL: none; "OMPI_MCA_" in front is fine */
    int coll;             /* -1: no call asked for */
    uint64_t bytes;
    int nodes, ranks; /* 0: any */
    int nccl;         /* the release whose own choices and defaults are told; 0: those that the profile is for */
};

/* Prints the answer for people. Error: nothing, so far; an unknown variable or shape is an answer, too. */
int env_explain(const struct env_profile *p, const struct env_question *q, FILE *out, struct err *e);

/* The same as a document: decisions.json less what was not asked for (of a call the nearest size that was measured, and
 * its fastest candidates), with the profile's "hash" and "dir", for a call
 * the "rules" and the rules of "tuner" that apply, for a variable its "catalogue" entry, and as "model" what NCCL would
 * choose by itself. cJSON_Delete frees. NULL after an error. */
cJSON *env_explain_json(const struct env_profile *p, const struct env_question *q, struct err *e);

/* The table of what was decided: per shape its launch, and per collective the ranges with their gains. */
void env_print_decisions(const struct env_decisions *d, FILE *out);

#endif
