/* The collectives, sizes and groups of ranks of a profile as options. */
#include "envgen/verify/verify.h"

#include <stdlib.h>

#include "bench/engines/engines.h"
#include "core/coll.h"

static int was_measured_so(const struct bench_options *o, const struct env_shape *s)
{
    return bench_evidence_of(s->engine) == bench_evidence_of(o->engine);
}

static void take_collectives(struct bench_options *o, const struct env_shape *s)
{
    for (int c = 0; c < s->ncolls; c++)
        o->collectives |= 1u << s->colls[c].coll;
}

static int ascending(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void add_size(struct bench_size_list *list, uint64_t bytes)
{
    for (int i = 0; i < list->count; i++)
        if (list->bytes[i] == bytes)
            return;
    if (list->count < BENCH_SIZES)
        list->bytes[list->count++] = bytes;
}

static void take_sizes(struct bench_options *o, const struct env_shape *s)
{
    struct bench_size_list *list = &o->sizes;
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            for (int i = 0; i < s->colls[c].ranges[r].npoints; i++)
                add_size(list, s->colls[c].ranges[r].points[i].bytes);
    if (list->count)
        qsort(list->bytes, (size_t)list->count, sizeof *list->bytes, ascending);
}

/* OpenMPI is started with as many ranks as there were; NCCL has one for each GPU. */
static void take_ranks(struct bench_options *o, const struct env_shape *s)
{
    if (bench_evidence_of(s->engine) == BENCH_ON_HOST && s->ranks / s->nodes > o->setup.ranks_per_node)
        o->setup.ranks_per_node = s->ranks / s->nodes;
}

static void take_shape(struct bench_options *o, const struct env_shape *s)
{
    struct bench_shape_list *shapes = &o->shapes;
    if (shapes->count < BENCH_SHAPES)
        shapes->items[shapes->count++] = (struct bench_shape){s->nodes, s->ranks, s->others};
    shapes->if_fitting = 1;
}

void verify_measure_like(struct bench_options *o, const struct env_profile *p)
{
    struct bench_options usual;
    bench_options_default(&usual);
    const struct {
        int wanted;
        void (*take)(struct bench_options *o, const struct env_shape *s);
    } parts[] = {
        {!o->collectives, take_collectives},
        {!o->sizes.count && !o->workload && o->min_bytes == usual.min_bytes &&
             (!o->max_bytes || o->max_bytes == usual.max_bytes) && o->step_factor == usual.step_factor,
         take_sizes},
        {!o->setup.ranks_per_node, take_ranks},
        {!o->shapes.count && !o->shapes.usual, take_shape},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int i = 0; i < p->decisions->nshapes && parts[k].wanted; i++)
            if (was_measured_so(o, &p->decisions->shapes[i]))
                parts[k].take(o, &p->decisions->shapes[i]);
    if (!o->collectives)
        o->collectives = 1u << COLL_ALLREDUCE;
}
