/* The engines' table. */
#include "bench/engines/engines.h"

#include <string.h>

#include "bench/engines/nccl/engine.h"
#include "bench/engines/verbs/engine.h"

#define MOST 8
const struct bench_engine *bench_engines[MOST + 1] = {&bench_engine_mpi, &bench_engine_nccl, &bench_engine_verbs};

void bench_engine_register(const struct bench_engine *engine)
{
    int n = 0;
    while (bench_engines[n] && bench_engines[n] != engine)
        n++;
    if (n < MOST)
        bench_engines[n] = engine;
}

const struct bench_engine *bench_engine_find(const char *name)
{
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if (!strcmp((*e)->name, name))
            return *e;
    return NULL;
}

const char *bench_engine_name(int i)
{
    return bench_engines[i] ? bench_engines[i]->name : NULL;
}

struct option_group *bench_engine_groups(int documents, struct arena *a)
{
    struct option_group *groups = NULL;
    int n = 0;
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->options && (documents || !(*e)->documents))
            ARENA_ADD(a, groups, n) =
                (struct option_group){(*e)->options_title, (*e)->options, arena_alloc(a, (*e)->options_bytes)};
    ARENA_ADD(a, groups, n) = (struct option_group){0};
    return groups;
}

void *bench_engine_own(const struct option_group *groups, const struct bench_engine *engine)
{
    for (const struct option_group *g = groups; g && g->options; g++)
        if (g->options == engine->options)
            return g->target;
    return NULL;
}

const struct bench_engine *bench_engine_given(const struct option_group *groups, const struct bench_engine *except,
                                              const char **option)
{
    for (const struct option_group *g = groups; g && g->options; g++)
        for (const struct bench_engine *const *e = bench_engines; *e && g->given; e++)
            if ((*e)->options == g->options && *e != except) {
                *option = g->given;
                return *e;
            }
    return NULL;
}

const struct bench_engine *bench_engine_for(const struct topology *topology, int described)
{
    const struct bench_engine *best = bench_engines[0];
    for (const struct bench_engine *const *e = bench_engines; *e; e++) {
        const struct bench_measure_ops *m = (*e)->measures;
        if (described ? (*e)->predicts != NULL : m && (!m->suits || m->suits(topology)))
            best = *e;
    }
    return best;
}

const struct bench_engine *bench_engine_with(enum bench_evidence evidence)
{
    const struct bench_engine *const *e = bench_engines;
    while ((*e)->evidence != evidence)
        e++;
    return *e;
}

int bench_engine_has_ranks(const struct bench_engine *engine)
{
    return engine->measures && engine->measures->join;
}

enum bench_evidence bench_evidence_of(const char *engine)
{
    const struct bench_engine *e = bench_engine_find(engine);
    return e ? e->evidence : !strcmp(engine, BENCH_PREDICTING) ? BENCH_PREDICTED : BENCH_NO_EVIDENCE;
}

const char *bench_family_of(const char *engine)
{
    const struct bench_engine *e = bench_engine_find(engine);
    return e ? e->family : !strcmp(engine, BENCH_PREDICTING) ? BENCH_FAMILY_NCCL : "";
}

const char *bench_evidence_text(enum bench_evidence e)
{
    static const char *const texts[] = {
        [BENCH_ON_GPUS] = "measured on GPUs",         [BENCH_ON_HOST] = "measured on host memory",
        [BENCH_ON_FABRIC] = "measured on the fabric", [BENCH_PREDICTED] = "predicted",
        [BENCH_NO_EVIDENCE] = "of an unknown engine",
    };
    return texts[e];
}
