/* The engines' table. */
#include <string.h>

#include "bench/engine.h"
#include "bench/engine_model.h"
#include "bench/engine_mpi.h"
#include "bench/engine_nccl.h"

const struct bench_engine *const bench_engines[] = {&bench_engine_mpi, &bench_engine_nccl, &bench_engine_model, NULL};

const struct bench_engine *bench_engine_find(const char *name)
{
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if (!strcmp((*e)->name, name))
            return *e;
    return NULL;
}
