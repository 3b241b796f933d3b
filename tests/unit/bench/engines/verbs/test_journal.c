/* bench/engines/verbs/journal.c: what was written before an interruption is there afterwards, and only for the same
 * job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/verbs/journal.h"

static char path[] = "/tmp/nccltune-journal-XXXXXX";

static int setup(void **state)
{
    (void)state;
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 || close(fd) || unlink(path);
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct verbs_journal begin(struct arena *a, const char *what, int resume, int expected)
{
    struct verbs_journal j;
    struct err e = {0};
    assert_int_equal(verbs_journal_open(&j, path, what, resume, a, &e), expected);
    return j;
}

static void gone_on_with(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct verbs_journal j = begin(a, "rails 2 nodes", 1, 0);
    assert_int_equal(j.nlines, 0);
    assert_int_equal(verbs_journal_add(&j, "{\"try\": 1}", NULL), 0);
    assert_int_equal(verbs_journal_add(&j, "{\"try\": 2}", NULL), 0);
    verbs_journal_close(&j, 0);
    /* A line that was being written when the machine went down. */
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputs("{\"try\": 3", file);
    fclose(file);
    for (int turn = 0; turn < 2; turn++) {
        j = begin(a, "rails 2 nodes", 1, 0);
        assert_int_equal(j.nlines, 2 + turn);
        assert_string_equal(j.lines[1], "{\"try\": 2}");
        assert_int_equal(verbs_journal_add(&j, "{\"try\": 4}", NULL), 0);
        verbs_journal_close(&j, 0);
    }
    arena_free(a);
}

static void of_something_else(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct err e = {0};
    struct verbs_journal j = begin(a, "rails 2 nodes", 0, 0);
    verbs_journal_close(&j, 0);
    assert_int_equal(verbs_journal_open(&j, path, "rails 3 nodes", 1, a, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "begun for something else: \"rails 2 nodes\""));
    /* Without --resume it is replaced. */
    j = begin(a, "rails 3 nodes", 0, 0);
    verbs_journal_close(&j, 0);
    j = begin(a, "rails 3 nodes", 1, 0);
    verbs_journal_close(&j, 0);
    arena_free(a);
}

static void gone_when_complete(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct verbs_journal j = begin(a, "matrix", 0, 0);
    verbs_journal_close(&j, 1);
    assert_int_equal(access(path, F_OK), -1);
    verbs_journal_close(&j, 1);
    arena_free(a);
}

static void no_journal_at_all(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct err e = {0};
    struct verbs_journal j;
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("{\"format\": \"nccltune-results/1\"}\n", file);
    fclose(file);
    assert_int_equal(verbs_journal_open(&j, path, "matrix", 1, a, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "nccltune-fabric-journal"));
    assert_int_equal(verbs_journal_open(&j, "/proc/nothing/here", "matrix", 0, a, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "cannot be written"));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(gone_on_with, setup, teardown),
                                       cmocka_unit_test_setup_teardown(of_something_else, setup, teardown),
                                       cmocka_unit_test_setup_teardown(gone_when_complete, setup, teardown),
                                       cmocka_unit_test_setup_teardown(no_journal_at_all, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
