/* bench/engines/verbs/journal.c: what was written before an interruption is there afterwards, and only for the same
 * job. */
#include <unistd.h>

#include "bench/engines/verbs/run.h"
#include "tests/lib/unit.h"

static char path[] = "/tmp/nccltune-journal-XXXXXX";

static int setup(void **state)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 || close(fd) || unlink(path);
}

static int teardown(void **state)
{
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

TEST_CASE(gone_on_with)
{
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

TEST_CASE(of_something_else)
{
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

TEST_CASE(gone_when_complete)
{
    struct arena *a = arena_new();
    struct verbs_journal j = begin(a, "matrix", 0, 0);
    verbs_journal_close(&j, 1);
    assert_int_equal(access(path, F_OK), -1);
    verbs_journal_close(&j, 1);
    arena_free(a);
}

TEST_CASE(no_journal_at_all)
{
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
    assert_non_null(strstr(e.text, "cannot be "));
    arena_free(a);
}

TEST_CASES_EACH(test_run_journal, setup, teardown)
