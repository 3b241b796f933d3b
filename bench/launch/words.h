/* A command line that is being put together. */
#ifndef BENCH_LAUNCH_WORDS_H
#define BENCH_LAUNCH_WORDS_H

#include "core/arena.h"

struct words {
    const char **items; /* in the arena */
    int count;
};

/* `word` NULL ends the list, and is not counted. */
static inline void words_add(struct words *w, struct arena *a, const char *word)
{
    w->items = arena_grow(a, w->items, (size_t)w->count, sizeof *w->items);
    w->items[w->count] = word;
    w->count += word != NULL;
}

static inline void words_add_all(struct words *w, struct arena *a, const char *const *more)
{
    for (; more && *more; more++)
        words_add(w, a, *more);
}

#endif
