/* Options of a measurement: defaults, what makes no sense, and the sizes that they stand for. */
#include "bench/search/options.h"

#include <stdio.h>
#include <string.h>

#include "bench/engines/engines.h"
#include "bench/search/budget.h"
#include "core/coll.h"
#include "core/units.h"

/* The largest size of engines that name no other: what one MPI call counts in an int of bytes. */
#define USUAL_MOST ((uint64_t)1 << 30)

void bench_options_default(struct bench_options *o)
{
    *o = (struct bench_options){.engine = bench_engines[0]->name,
                                .collectives = 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER | 1u << COLL_REDUCESCATTER |
                                               1u << COLL_BROADCAST,
                                .min_bytes = 8,
                                .max_bytes = 16 << 20,
                                .step_factor = 4,
                                .budget_s = BUDGET_LEAST_S,
                                .margin = BENCH_MARGIN,
                                .confidence = BENCH_CONFIDENCE,
                                .watchdog_s = 10};
}

int bench_options_check(const struct bench_options *o, const struct bench_engine **engine, struct err *e)
{
    *engine = bench_engine_find(o->engine);
    if (!*engine) {
        char names[128] = "";
        for (const struct bench_engine *const *x = bench_engines; *x; x++)
            snprintf(names + strlen(names), sizeof names - strlen(names), " %s", (*x)->name);
        return err_set(e, ERR_USAGE, "'%s' is not an engine; there are:%s", o->engine, names);
    }
    if ((*engine)->documents)
        return err_set(e, ERR_USAGE, "the %s engine measures no collectives; nccltune bench --engine %s says more",
                       (*engine)->name, (*engine)->name);
    if (!o->collectives)
        return err_set(e, ERR_USAGE, "no collective is requested");
    char text[UNIT_TEXT];
    uint64_t most = (*engine)->most_bytes ? (*engine)->most_bytes : USUAL_MOST;
    if (o->min_bytes < 1 || o->min_bytes > o->max_bytes || o->max_bytes > most)
        return err_set(e, ERR_USAGE,
                       "sizes go from at least 1 B to at most %s with the %s engine, the smaller one first",
                       unit_bytes(text, most), (*engine)->name);
    for (int i = 0; i < o->sizes.count; i++)
        if (o->sizes.bytes[i] <= (i ? o->sizes.bytes[i - 1] : 0) || o->sizes.bytes[i] > most)
            return err_set(e, ERR_USAGE,
                           "listed sizes go from at least 1 B to at most %s with the %s engine, each above the one "
                           "before",
                           unit_bytes(text, most), (*engine)->name);
    if (o->sizes.count && o->workload)
        return err_set(e, ERR_USAGE, "a list of sizes and a workload are mutually exclusive");
    if (!(o->step_factor >= 1.1))
        return err_set(e, ERR_USAGE, "the factor between sizes must be at least 1.1");
    if (!(o->budget_s > 0) || !(o->watchdog_s > 0))
        return err_set(e, ERR_USAGE, "budget and watchdog must be above 0");
    return 0;
}

uint64_t *bench_sizes(const struct bench_options *o, struct arena *a, int *count)
{
    uint64_t *sizes = NULL;
    *count = o->sizes.count;
    if (*count) {
        sizes = arena_alloc(a, (size_t)*count * sizeof *sizes);
        memcpy(sizes, o->sizes.bytes, (size_t)*count * sizeof *sizes);
        return sizes;
    }
    for (double v = (double)o->min_bytes; (uint64_t)v < o->max_bytes; v *= o->step_factor) {
        uint64_t bytes = (uint64_t)v;
        if (*count && bytes == sizes[*count - 1])
            continue;
        sizes = arena_grow(a, sizes, (size_t)*count, sizeof *sizes);
        sizes[(*count)++] = bytes;
    }
    sizes = arena_grow(a, sizes, (size_t)*count, sizeof *sizes);
    sizes[(*count)++] = o->max_bytes;
    return sizes;
}
