/* Explain what a profile makes OpenMPI and NCCL do: as a whole, for one variable, or for one call. */
#pragma once

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

/* Print the answer for people. Error: nothing, so far; an unknown shape is an answer, too. */
int env_explain(const struct env_profile *p, const struct env_question *q, FILE *out, struct err *e);

/* The same as a document: decisions.json less what was not asked for (of a call the nearest size that was measured, and
 * its fastest candidates), with the profile's "hash" and "dir", for a call
 * the "rules" and the rules of "tuner" that apply, for a variable its "catalogue" entry, and as "model" what NCCL would
 * choose by itself. cJSON_Delete frees. NULL after an error. */
struct cJSON *env_explain_json(const struct env_profile *p, const struct env_question *q, struct err *e);

/* Return ERR_USAGE, with the nearest name, for a variable that neither the catalogue nor the profile has. `p`: NULL if
 * there is none. */
int env_explain_check(const struct env_profile *p, const char *variable, struct err *e);

/* Return the name of the variable that a word stands for, in any case and with or without NCCL_, or whose values have
 * the distance ("PXB"); NULL: none. */
const char *env_explain_name(const char *word);

/* Print what the catalogue has about a variable: meaning, default by release, what it interacts with. `nccl` as in
 * struct env_question. Error: the name is unknown. */
int env_explain_variable(const char *variable, int nccl, int json, FILE *out, struct err *e);

/* The table of what was decided: per shape its launch, and per collective the ranges with their gains. */
void env_print_decisions(const struct env_decisions *d, FILE *out);

/* ---- what NCCL would choose by itself on a profile's topology, by its own cost model; private to envgen/explain/.
 * ---- */

struct explain_model;

/* Never NULL: where the topology has no GPU, or cannot be read, it has nothing to say. explain_model_free frees. */
struct explain_model *explain_model_new(const struct env_profile *p, int nccl);
void explain_model_free(struct explain_model *m); /* NULL is fine */

/* Nonzero if it can say anything. */
int explain_model_speaks(const struct explain_model *m);

/* Nonzero if a shape is NCCL's, or the model engine's for NCCL: it has nothing to say of OpenMPI's. */
int explain_model_knows(const struct env_shape *s);

/* The shapes of job that a question comes to, into `out`, which has room for all of `d` and one more; returns how many:
 * those of `d` that NCCL runs on, each number of nodes and ranks once, though it may be measured and predicted. Without
 * any the nodes of the topology, a rank on each of their GPUs, where the question leaves that open. */
struct explain_shape {
    int nodes, ranks;
};
int explain_model_shapes(const struct explain_model *m, const struct env_decisions *d, const struct env_question *q,
                         struct explain_shape *out);

/* NCCL's own choice for a call, with a heading. */
void explain_model_call(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks, FILE *out);

/* The same in a word, "ring/simple"; NULL: it has nothing to say. In the model's own memory. */
const char *explain_model_cell(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks);

/* NCCL's choices over the measured sizes of a range, each once, in order: "tree/ll128, ring/simple"; NULL: it has
 * nothing to say. In the model's own memory. */
const char *explain_model_range(struct explain_model *m, const struct env_shape *s, int coll,
                                const struct env_range *r);

/* The choice for a call as an object, or one with "why" it is not known. */
struct cJSON *explain_model_json(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks);

/* "RCCL" where the GPUs are AMD's, else "NCCL". */
const char *explain_model_library(const struct explain_model *m);
