/* tuner/observe/record.c: what is taken of a rank's file, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/coll.h"
#include "tuner/observe/record.h"

#define HEAD(job, rank)                                                                                               \
    "{\n  \"format\": \"nccltune-workload/1\",\n  \"name\": \"" job                                                   \
    "\",\n  \"source\": \"captured\",\n  \"rank\": \"" rank                                                           \
    "\",\n  \"host\": \"n1\",\n  \"began\": 1790000000,\n  \"ended\": true,\n  \"ranks\": 8,\n  \"ranks_per_node\": " \
    "4,\n"                                                                                                            \
    "  \"phases\": [\n"
#define CALL                                                                                                          \
    "{\"collective\": \"allreduce\", \"bytes\": 1024, \"count\": 50, \"group_size\": 8, \"placement\": \"cluster\", " \
    "\"stride\": 2, \"dtype\": \"bfloat16\", \"time_us\": 10.5, \"timed\": 40, \"total_us\": 400.0, "                 \
    "\"algorithm\": \"nvlstree\", \"protocol\": \"simple\", \"channels\": 16, \"group\": \"00000000000000ff\"}"

static struct observe_job job;

static int tear_down(void **state)
{
    (void)state;
    observe_free(&job);
    return 0;
}

static int add(const char *text)
{
    return observe_add(&job, text, strlen(text));
}

static void takes_a_call(void **state)
{
    (void)state;
    assert_int_equal(add(HEAD("7", "3") CALL ",\n" CALL "\n"), 0);
    assert_int_equal(add(HEAD("7", "3") CALL "\n"), 0); /* the same rank once more */
    assert_int_equal(job.nranks, 1);
    assert_int_equal(job.ncalls, 2);
    const struct observe_call *c = &job.calls[0];
    assert_true(c->kind == COLL_ALLREDUCE && c->bytes == 1024 && c->count == 50 && c->timed == 40 && c->group == 255);
    assert_true(c->group_size == 8 && c->stride == 2 && c->crosses_nodes && !strcmp(c->dtype, "bfloat16"));
    assert_true(c->algo == ALGO_NVLS_TREE && c->proto == PROTO_SIMPLE && c->channels == 16);
    assert_true(c->median_us == 10.0 && c->total_us == 400.0); /* the mean, which is of the median's class */
    assert_true(job.size == 8 && job.per_node == 4 && job.began == 1790000000 && !strcmp(job.ranks[0].host, "n1"));
}

static void refuses_what_is_no_such_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "\n\n\n", "{\n  \"name\": \"7\",\n" CALL "\n",
                                        "{\n  \"format\": \"nccltune-topology/1\",\n  \"name\": \"7\"\n" CALL "\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(add(texts[i]), -1);
    assert_int_equal(add(HEAD("7", "3")), 0);
    assert_int_equal(add(HEAD("8", "4")), -1);
    assert_int_equal(job.nranks, 1);
}

/* Numbers that are none, too large or of the wrong kind; lines cut anywhere. */
static void leaves_out_broken_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"collective\": \"allreduce\", \"bytes\": -1, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"allreduce\", \"bytes\": 99999999999999999999999, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"allreduce\", \"bytes\": 10, \"count\": 5, \"group_size\": 1}",
        "{\"collective\": \"allreduce\", \"bytes\": 10, \"count\": 5, \"group_size\": 99999999}",
        "{\"collective\": \"frobnicate\", \"bytes\": 10, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": \"all\\u0072educe\", \"bytes\": 10, \"count\": 5, \"group_size\": 8}",
        "{\"collective\": 5, \"bytes\": \"10\", \"count\": 5, \"group_size\": 8}"};
    char text[4096];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(text, sizeof text, "%s%s\n", HEAD("7", "-"), lines[i]);
        assert_int_equal(add(text), 0);
        assert_int_equal(job.ncalls, 0);
    }
    snprintf(text, sizeof text, "%s%s", HEAD("7", "-"), CALL);
    for (size_t n = strlen(text); n-- > 0;) {
        char *exact = malloc(n ? n : 1); /* so that a sanitizer sees what is read behind it */
        assert_non_null(exact);
        for (size_t i = 0; i < n; i++)
            exact[i] = text[i];
        observe_add(&job, exact, n);
        free(exact);
    }
}

static void reads_no_more_than_it_may(void **state)
{
    (void)state;
    size_t bytes;
    char path[] = "/tmp/nccltune-record-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    char *text = observe_read(path, &bytes);
    assert_true(text && bytes == 4 && !strcmp(text, "text"));
    free(text);
    assert_int_equal(ftruncate(fd, OBSERVE_BYTES + 1), 0);
    assert_null(observe_read(path, &bytes));
    close(fd);
    unlink(path);
    assert_null(observe_read(path, &bytes));
    assert_null(observe_read("/tmp", &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(takes_a_call, tear_down),
        cmocka_unit_test_teardown(refuses_what_is_no_such_file, tear_down),
        cmocka_unit_test_teardown(leaves_out_broken_lines, tear_down),
        cmocka_unit_test_teardown(reads_no_more_than_it_may, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
