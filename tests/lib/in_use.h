/* What is allocated, for tests of what is kept: leaks show without sanitizers, too. */
#pragma once

#include <malloc.h>

/* Bytes; always 0 under sanitizers, which look for leaks themselves. */
static inline size_t bytes_in_use(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Does it again and again: what one time keeps is kept by all, in either half of them; what malloc itself holds back
 * shows once. */
#define assert_keeps_nothing(statement)                                                   \
    do {                                                                                  \
        size_t kept[3] = {0};                                                             \
        for (int time = 0; time <= 72; time++) {                                          \
            if (time % 32 == 8)                                                           \
                kept[time / 32] = bytes_in_use();                                         \
            if (time < 72)                                                                \
                statement;                                                                \
        }                                                                                 \
        if (kept[1] > kept[0] + 512 && kept[2] > kept[1] + 512)                           \
            fail_msg("%zu and %zu bytes are kept", kept[1] - kept[0], kept[2] - kept[1]); \
    } while (0)
