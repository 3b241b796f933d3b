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
