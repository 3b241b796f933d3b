/* The engines' table. */
#pragma once

#include "bench/candidates/engine.h"

extern const struct bench_engine bench_engine_mpi;

/* NULL-terminated. The first is the default; those that suit fewer machines stand behind those that suit more. */
extern const struct bench_engine *bench_engines[];

/* Append an engine whose code is above this directory: cli/ does so with the one that predicts. */
void bench_engine_register(const struct bench_engine *engine);

/* The name under which results hold predictions, with or without that engine in the program. */
#define BENCH_PREDICTING "model"

const struct bench_engine *bench_engine_find(const char *name); /* NULL: unknown */
const char *bench_engine_name(int i);                           /* of bench_engines[i]; NULL behind the last */

/* The options that engines have of their own, a group for each, those that make documents of their own only with
 * `documents`. Groups and targets are in `a`; the last has NULL `options`. */
struct option_group *bench_engine_groups(int documents, struct arena *a);

/* The target of an engine's group; NULL: it has none. */
void *bench_engine_own(const struct option_group *groups, const struct bench_engine *engine);

/* The first engine but `except` of whose own options one, which goes to `*option`, is on the command line; NULL: none.
 */
const struct bench_engine *bench_engine_given(const struct option_group *groups, const struct bench_engine *except,
                                              const char **option);

/* The last of those that measure which suits these nodes; the one that predicts where they are only `described`. */
const struct bench_engine *bench_engine_for(const struct topology *topology, int described);

/* The first with such evidence, which there is. */
const struct bench_engine *bench_engine_with(enum bench_evidence evidence);

/* Return whether copies of this program that a launcher has started can be the ranks that it measures with. */
int bench_engine_has_ranks(const struct bench_engine *engine);

/* Of an engine's name in results: BENCH_NO_EVIDENCE and "" of one that this build does not know. */
enum bench_evidence bench_evidence_of(const char *engine);
const char *bench_family_of(const char *engine);

/* "measured on GPUs", "measured on host memory", ... */
const char *bench_evidence_text(enum bench_evidence e);
