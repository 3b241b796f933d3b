/* The engines' table. */
#include "bench/engines/engines.h"

#include <string.h>

#include "bench/engines/model.h"
#include "bench/engines/mpi.h"
#include "bench/engines/nccl/engine.h"

const struct bench_engine *const bench_engines[] = {&bench_engine_mpi, &bench_engine_nccl, &bench_engine_model, NULL};

const struct bench_engine *bench_engine_find(const char *name)
{
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if (!strcmp((*e)->name, name))
            return *e;
    return NULL;
}

const struct bench_engine *bench_engine_for(const struct topology *topology, int described)
{
    const struct bench_engine *best = bench_engines[0];
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->suits && (*e)->suits(topology, described))
            best = *e;
    return best;
}

const struct bench_engine *bench_engine_as_jobs(void)
{
    const struct bench_engine *const *e = bench_engines;
    while (!(*e)->as_jobs)
        e++;
    return *e;
}

enum bench_evidence bench_evidence_of(const char *engine)
{
    const struct bench_engine *e = bench_engine_find(engine);
    return e ? e->evidence : BENCH_NO_EVIDENCE;
}

const char *bench_family_of(const char *engine)
{
    const struct bench_engine *e = bench_engine_find(engine);
    return e ? e->family : "";
}

const char *bench_evidence_text(enum bench_evidence e)
{
    static const char *const texts[] = {
        [BENCH_ON_GPUS] = "measured on GPUs",
        [BENCH_ON_HOST] = "measured on host memory",
        [BENCH_PREDICTED] = "predicted",
        [BENCH_NO_EVIDENCE] = "of an unknown engine",
    };
    return texts[e];
}
