/* Where a candidate stands in the journals. */
#include "envgen/decide/evidence.h"

#include <stdlib.h>
#include <string.h>

#define INSIDE "measured inside job " /* in journals that jobs of earlier releases left when they explored */

struct entry {
    const struct bench_result *result;
    const char *source;
};

struct decide_index {
    struct entry *entries; /* sorted by key, then as read */
    size_t count;
};

static int compare_keys(const struct bench_result *x, const struct bench_result *y)
{
    int c = bench_results_compare(x, y);
    if (!c)
        c = strcmp(x->launch.label, y->launch.label);
    return c ? c : strcmp(x->call.label, y->call.label);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = compare_keys(x->result, y->result);
    if (!c)
        c = strcmp(x->source, y->source);
    return c ? c : (x->result->line > y->result->line) - (x->result->line < y->result->line);
}

struct decide_index *decide_index_new(struct arena *a, const struct env_source *sources, int nsources)
{
    struct decide_index *index = ARENA_NEW(a, struct decide_index);
    size_t total = 0;
    for (int i = 0; i < nsources; i++)
        total += (size_t)sources[i].results->count;
    index->entries = arena_alloc(a, (total + 1) * sizeof *index->entries);
    for (int i = 0; i < nsources; i++)
        for (int k = 0; k < sources[i].results->count; k++)
            index->entries[index->count++] = (struct entry){&sources[i].results->items[k], sources[i].name};
    qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    return index;
}

static size_t first_of(const struct decide_index *index, const struct bench_result *key)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(index->entries[middle].result, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *decide_lines(struct arena *a, const struct decide_index *index, const struct bench_point *p,
                         const struct bench_candidate *c)
{
    struct bench_result key = {
        .engine = p->engine,
        .library = p->library,
        .nodes = p->nodes,
        .ranks = p->ranks,
        .others = p->others,
        .load = p->load,
        .buffers = p->buffers,
        .coll = p->coll,
        .bytes = p->bytes,
        .launch = c->launch,
        .call = c->call,
    };
    const char *text = "", *source = NULL;
    for (size_t i = first_of(index, &key); i < index->count; i++) {
        const struct entry *en = &index->entries[i];
        if (compare_keys(en->result, &key) != 0)
            break;
        if (source && !strcmp(source, en->source))
            text = arena_printf(a, "%s,%ld", text, en->result->line);
        else
            text = arena_printf(a, "%s%s%s:%ld", text, source ? " " : "", en->source, en->result->line);
        if (en->result->detail && !strncmp(en->result->detail, INSIDE, strlen(INSIDE)))
            text = arena_printf(a, "%s (%s)", text, en->result->detail);
        source = en->source;
    }
    return text;
}
