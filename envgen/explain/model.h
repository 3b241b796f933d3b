/* What NCCL would choose by itself on a profile's topology, by its own cost model; private to envgen/explain/. */
#ifndef ENVGEN_EXPLAIN_MODEL_H
#define ENVGEN_EXPLAIN_MODEL_H

#include "envgen/explain/explain.h"

struct explain_model;

/* Never NULL: where the topology has no GPU, or cannot be read, it has nothing to say. explain_model_free frees. */
struct explain_model *explain_model_new(const struct env_profile *p, int nccl);
void explain_model_free(struct explain_model *m); /* NULL is fine */

/* Whether it can say anything. */
int explain_model_speaks(const struct explain_model *m);

/* Whether a shape is NCCL's, or the model engine's for NCCL: it has nothing to say of OpenMPI's. */
int explain_model_knows(const struct env_shape *s);

/* The same of a shape by its number, and none before it has as many nodes and ranks, as a measured one and a predicted
 * one may. */
int explain_model_knows_first(const struct env_decisions *d, int shape);

/* The shape of job that a question comes to, where it leaves nodes or ranks open: the nodes of the topology, a rank on
 * each of their GPUs. -1: there is none, or nothing can be said. */
int explain_model_shape(const struct explain_model *m, const struct env_question *q, int *nodes, int *ranks);

/* NCCL's own choice for a call, with a heading. */
void explain_model_call(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks, FILE *out);

/* The same in a word, "ring/simple"; NULL: it has nothing to say. In the model's own memory. */
const char *explain_model_cell(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks);

/* NCCL's choices over the measured sizes of a range, each once, in order: "tree/ll128, ring/simple"; NULL: it has
 * nothing to say. In the model's own memory. */
const char *explain_model_range(struct explain_model *m, const struct env_shape *s, int coll,
                                const struct env_range *r);

/* The choice for a call as an object, or one with "why" it is not known. */
cJSON *explain_model_json(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks);

/* "RCCL" where the GPUs are AMD's, else "NCCL". */
const char *explain_model_library(const struct explain_model *m);

#endif
