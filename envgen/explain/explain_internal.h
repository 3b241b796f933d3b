/* The parts of an answer that speak of NCCL, private to envgen/explain/. */
#pragma once

#include "core/units.h"
#include "envgen/explain/explain.h"

/* The answer for one call. */
void explain_call(const struct env_profile *p, const struct env_question *q, FILE *out);

/* Nonzero if the question allows a shape; and in a range of it the measured size that is nearest, as sizes are spaced
 * geometrically (NULL: none). */
int explain_matches(const struct env_shape *s, const struct env_question *q);
const struct env_point *explain_nearest(const struct env_range *r, uint64_t bytes);

/* Ratio of the baseline's times of an uneven and an even AllToAll of about `bytes` there; the even one's time is put
 * in *even_us; 0: not both were measured. */
double explain_skew(const struct env_shape *s, uint64_t bytes, double *even_us);

/* The options of a point, the fastest first, in `sorted`; returns how many of them at its beginning are worth telling
 * one by one, with those that are used and the default. */
int explain_told(const struct env_point *p, const struct env_option **sorted);

/* What the catalogue has about q->variable, with every change of its default, as an object; NULL: it is no variable. */
struct cJSON *explain_catalogued_json(const struct env_decisions *d, const struct env_question *q);

/* The rules of tuner.csv that a call meets, on any shape that the question allows. Returns their number. */
int explain_rules(const struct env_profile *p, const struct env_question *q, FILE *out);

/* The same as an array of objects, with "basis" and "why"; the caller adds it to a document. */
struct cJSON *explain_rules_json(const struct env_profile *p, const struct env_question *q);
