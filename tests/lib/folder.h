/* A directory of a test's own, what is put there and what is found there; texts are in `arena`. */
#pragma once

#include "core/arena.h"
#include "tests/lib/unit.h"

static char dir[32];
static struct arena *arena;

static inline const char *at(const char *name)
{
    return arena_printf(arena, "%s/%s", dir, name);
}

static inline void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline const char *got(const char *name)
{
    enum { MOST = 1 << 16 };
    char *text = arena_alloc(arena, MOST);
    FILE *f = fopen(at(name), "r");
    if (!f)
        fail_msg("%s is not there", at(name));
    text[fread(text, 1, MOST - 1, f)] = 0;
    fclose(f);
    return text;
}
