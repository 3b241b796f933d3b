/* The parts of an answer that speak of NCCL, private to envgen/explain/. */
#ifndef ENVGEN_EXPLAIN_EXPLAIN_INTERNAL_H
#define ENVGEN_EXPLAIN_EXPLAIN_INTERNAL_H

#include "envgen/explain/explain.h"

/* What the catalogue knows about a variable: what it does, its default in the release that was asked for, else in those
 * of the profile. Nothing for names that are not there. */
void explain_catalogued(const struct env_decisions *d, const struct env_question *q, const char *name, FILE *out);

/* The same as an object, with every change of the default; NULL for such names. */
cJSON *explain_catalogued_json(const struct env_decisions *d, const struct env_question *q);

/* The rules of tuner.csv that a call meets, on any shape that the question allows. Returns their number. */
int explain_rules(const struct env_profile *p, const struct env_question *q, FILE *out);

/* The same as an array of objects, with "basis" and "why"; the caller adds it to a document. */
cJSON *explain_rules_json(const struct env_profile *p, const struct env_question *q);

#endif
