/* What every unit test includes: cmocka with the headers that it needs, tests that need no list, comparison of
 * floating-point numbers, which cmocka 1.1.5 lacks, and skipping with a reason. */
#pragma once

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* cmocka hands a state to every test, and few use it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* TEST_CASE(name) { ... } defines a test. TEST_CASES(test_file) below the last one defines the function that runs all
 * tests of the file in their order: TEST_CASES_EACH with functions to call around each of them (NULL: none),
 * TEST_CASES_WITHIN around them all, TEST_GROUP with both. A group that hangs is killed. */
#define TEST_CASE(name)                                            \
    static void name(void **state);                                \
    __attribute__((constructor)) static void add_case_##name(void) \
    {                                                              \
        add_case(#name, name);                                     \
    }                                                              \
    static void name(void **state)

#define TEST_CASES(group)                           TEST_CASES_WITHIN(group, NULL, NULL)
#define TEST_CASES_EACH(group, set_up, tear_down)   TEST_GROUP(group, set_up, tear_down, NULL, NULL)
#define TEST_CASES_WITHIN(group, set_up, tear_down) TEST_GROUP(group, NULL, NULL, set_up, tear_down)

#define TEST_GROUP(group, before_each, after_each, before, after)                     \
    int group(void)                                                                   \
    {                                                                                 \
        for (size_t i = 0; i < ncases; i++) {                                         \
            cases_of_file[i].setup_func = before_each;                                \
            cases_of_file[i].teardown_func = after_each;                              \
        }                                                                             \
        alarm(600);                                                                   \
        return _cmocka_run_group_tests(#group, cases_of_file, ncases, before, after); \
    }

static struct CMUnitTest cases_of_file[100];
static size_t ncases;

static inline void add_case(const char *name, CMUnitTestFunction test)
{
    if (ncases == sizeof cases_of_file / sizeof *cases_of_file)
        abort();
    cases_of_file[ncases].name = name;
    cases_of_file[ncases++].test_func = test;
}

#define assert_near(got, want, tolerance) assert_true(fabs((double)(got) - (double)(want)) <= (tolerance))

/* Descriptors that this process has. */
static inline int count_open(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#define NEEDS_OWN_STORE "needs root, or a scratch directory that nobody else can write to"

/* tests/check prints the line above a skipped test beside its name. */
#define skip_because(why)           \
    do {                            \
        print_message("%s\n", why); \
        skip();                     \
    } while (0)
