/* What is allocated, for tests of what is kept: leaks show without sanitizers, too. */
#ifndef TESTS_LIB_IN_USE_H
#define TESTS_LIB_IN_USE_H

#include <malloc.h>

/* Bytes; always 0 under sanitizers, which look for leaks themselves. */
static inline size_t bytes_in_use(void)
{
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Does it again and again: what one time keeps is kept by all. */
#define assert_keeps_nothing(statement)                              \
    do {                                                             \
        size_t before = 0;                                           \
        for (int time = 0; time < 72; time++) {                      \
            if (time == 8)                                           \
                before = bytes_in_use();                             \
            statement;                                               \
        }                                                            \
        if (bytes_in_use() > before + 1024)                          \
            fail_msg("%zu bytes are kept", bytes_in_use() - before); \
    } while (0)

#endif
