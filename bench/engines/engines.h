/* The engines' table. */
#ifndef BENCH_ENGINES_ENGINES_H
#define BENCH_ENGINES_ENGINES_H

#include "bench/candidates/engine.h"

/* NULL-terminated. The first is the default; those that suit fewer machines stand behind those that suit more. */
extern const struct bench_engine *const bench_engines[];

const struct bench_engine *bench_engine_find(const char *name); /* NULL: unknown */

/* The last of them that suits these nodes; see `suits`. */
const struct bench_engine *bench_engine_for(const struct topology *topology, int described);

/* The one that runs launches as jobs do. */
const struct bench_engine *bench_engine_as_jobs(void);

/* What stands in results under the name of an engine: BENCH_NO_EVIDENCE and "" of one that this build does not know. */
enum bench_evidence bench_evidence_of(const char *engine);
const char *bench_family_of(const char *engine);

/* "measured on GPUs", "measured on host memory", "predicted" */
const char *bench_evidence_text(enum bench_evidence e);

#endif
