/* What a double is asked, a line each, and what has been asked since the last look; texts are in `arena`. */
#pragma once

#include "core/arena.h"
#include "tests/lib/unit.h"

static struct arena *arena;
static const char *notes;

static inline void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    notes = arena_printf(arena, "%s%s\n", notes, arena_vprintf(arena, fmt, ap));
    va_end(ap);
}

static inline void assert_noted(const char *expected)
{
    const char *noted = notes;
    notes = "";
    if (strcmp(noted, expected) != 0)
        fail_msg("noted was\n%sinstead of\n%s", noted, expected);
}
