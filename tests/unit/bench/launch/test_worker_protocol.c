/* Frames over a pipe: whole, in pieces, foreign, too large, and to somebody who is gone. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/worker_protocol.h"

static int ends[2];
static struct nccl_inbox in;

static int begin(void **state)
{
    (void)state;
    return pipe(ends) || nccl_inbox_open(&in);
}

static int end(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    nccl_inbox_close(&in);
    return 0;
}

static void frames_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct nccl_point p = {.coll = 4, .bytes = 1ULL << 40}, q;
    struct nccl_frame f;
    assert_int_equal(nccl_send(ends[1], NCCL_PREPARE, NCCL_ALL, &p, sizeof p), 0);
    assert_int_equal(nccl_send(ends[1], NCCL_QUIT, 7, NULL, 0), 0);
    assert_int_equal(nccl_inbox_fill(&in, ends[0]), 1);
    assert_int_equal(nccl_inbox_next(&in, &f), 1);
    assert_int_equal(f.head.message, NCCL_PREPARE);
    assert_int_equal(f.head.rank, NCCL_ALL);
    assert_int_equal(nccl_body(&f, &q, sizeof q), 0);
    assert_true(q.bytes == p.bytes && q.coll == 4);
    assert_int_equal(nccl_body(&f, &q, sizeof q - 1), -1);
    assert_int_equal(nccl_inbox_next(&in, &f), 1);
    assert_int_equal(f.head.message, NCCL_QUIT);
    assert_int_equal(f.head.rank, 7);
    assert_int_equal(nccl_inbox_next(&in, &f), 0);
}

static void a_frame_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct nccl_text t = {"half a frame is no frame"};
    char bytes[1024];
    struct nccl_frame f;
    assert_int_equal(nccl_send(ends[1], NCCL_ERROR, 3, &t, sizeof t), 0);
    ssize_t n = read(ends[0], bytes, sizeof bytes);
    for (ssize_t i = 0; i < n; i++) {
        assert_int_equal(nccl_inbox_next(&in, &f), 0);
        assert_int_equal(write(ends[1], bytes + i, 1), 1);
        assert_int_equal(nccl_inbox_fill(&in, ends[0]), 1);
    }
    assert_int_equal(nccl_inbox_next(&in, &f), 1);
    assert_string_equal(((const struct nccl_text *)f.body)->text, t.text);
}

static void what_is_no_frame_is_refused(void **state)
{
    (void)state;
    struct nccl_frame f;
    const char words[] = "bash: enroot: command not found\n";
    assert_int_equal(write(ends[1], words, sizeof words), sizeof words);
    assert_int_equal(nccl_inbox_fill(&in, ends[0]), 1);
    assert_int_equal(nccl_inbox_next(&in, &f), -1);
}

static void another_version_and_a_giant_are_refused(void **state)
{
    (void)state;
    struct nccl_frame f;
    struct nccl_head heads[] = {{WORKER_PROTOCOL_MAGIC, WORKER_PROTOCOL_VERSION + 1, NCCL_QUIT, 0, 0},
                                {WORKER_PROTOCOL_MAGIC, WORKER_PROTOCOL_VERSION, NCCL_QUIT, 0, UINT32_MAX}};
    for (size_t i = 0; i < 2; i++) {
        struct nccl_inbox fresh;
        assert_int_equal(nccl_inbox_open(&fresh), 0);
        assert_int_equal(write(ends[1], &heads[i], sizeof heads[i]), sizeof heads[i]);
        assert_int_equal(nccl_inbox_fill(&fresh, ends[0]), 1);
        assert_int_equal(nccl_inbox_next(&fresh, &f), -1);
        nccl_inbox_close(&fresh);
    }
    char *giant = calloc(1, NCCL_FRAME);
    assert_int_equal(nccl_send(ends[1], NCCL_SPAWN, 0, giant, NCCL_FRAME), -1);
    free(giant);
}

static void the_end_is_noticed(void **state)
{
    (void)state;
    int gone[2];
    assert_int_equal(pipe(gone), 0);
    close(gone[1]);
    assert_int_equal(nccl_inbox_fill(&in, gone[0]), 0);
    close(gone[0]);
    assert_int_equal(pipe(gone), 0);
    close(gone[0]);
    assert_int_equal(nccl_send(gone[1], NCCL_QUIT, 0, NULL, 0), -1);
    close(gone[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_come_out_as_they_went_in, begin, end),
        cmocka_unit_test_setup_teardown(a_frame_may_come_byte_by_byte, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_frame_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(another_version_and_a_giant_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(the_end_is_noticed, begin, end),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
