/* Skipping with a reason: tests/check prints the line above a skipped test beside its name. */
#ifndef TESTS_LIB_SKIP_H
#define TESTS_LIB_SKIP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define NEEDS_OWN_STORE "needs root, or a scratch directory that nobody else can write to"
#define NEEDS_CORPUS    "needs the recorded files: NCCLTUNE_CORPUS"

#define skip_because(why)           \
    do {                            \
        print_message("%s\n", why); \
        skip();                     \
    } while (0)

#endif
