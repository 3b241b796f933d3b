/* Frames over a socket pair: whole, in pieces, foreign, too large, sealed and tampered with, to somebody who is gone
 * and to somebody who does not read. */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/progress.h"
#include "core/wire/wire.h"
#include "tests/lib/unit.h"

static struct connection near, far;
static struct frame f;

static int begin(void **state)
{
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || connection_open(&near, ends[0], ends[0]) ||
           connection_open(&far, ends[1], ends[1]);
}

static int end(void **state)
{
    connection_close(&near);
    connection_close(&far);
    return 0;
}

static void seal_both(void)
{
    memset(near.in_seal.key, 1, HMAC_BYTES);
    memset(far.out_seal.key, 1, HMAC_BYTES);
    memset(near.out_seal.key, 2, HMAC_BYTES);
    memset(far.in_seal.key, 2, HMAC_BYTES);
    near.sealed = far.sealed = 1;
}

/* What far has sent, raw. */
static size_t intercept(char *bytes, size_t room)
{
    ssize_t n = read(near.from, bytes, room);
    return n < 0 ? 0 : (size_t)n;
}

/* Puts raw bytes before near. */
static int give(const void *bytes, size_t n)
{
    assert_int_equal(write(far.to, bytes, n), n);
    assert_int_equal(connection_fill(&near), 1);
    return connection_next(&near, &f);
}

TEST_CASE(frames_come_out_as_they_went_in)
{
    uint64_t value = 1ULL << 40, got;
    for (int sealed = 0; sealed < 2; sealed++) {
        if (sealed)
            seal_both();
        assert_int_equal(connection_send(&far, 40, -1, &value, sizeof value), 0);
        assert_int_equal(connection_send(&far, 41, 7, NULL, 0), 0);
        assert_int_equal(connection_fill(&near), 1);
        assert_int_equal(connection_next(&near, &f), 1);
        assert_int_equal(f.head.message, 40);
        assert_int_equal(f.head.rank, -1);
        assert_int_equal(frame_body(&f, &got, sizeof got), 0);
        assert_true(got == value);
        assert_int_equal(frame_body(&f, &got, sizeof got - 1), -1);
        assert_int_equal(connection_next(&near, &f), 1);
        assert_int_equal(f.head.message, 41);
        assert_int_equal(f.head.rank, 7);
        assert_int_equal(connection_next(&near, &f), 0);
    }
}

TEST_CASE(a_frame_may_come_byte_by_byte)
{
    char bytes[1024];
    seal_both();
    assert_int_equal(connection_send(&far, 40, 3, "half a frame is no frame", 25), 0);
    size_t n = intercept(bytes, sizeof bytes);
    assert_int_equal(n, sizeof(struct frame_head) + 25 + HMAC_BYTES);
    for (size_t i = 0; i + 1 < n; i++)
        assert_int_equal(give(bytes + i, 1), 0);
    assert_int_equal(give(bytes + n - 1, 1), 1);
    assert_string_equal((const char *)f.body, "half a frame is no frame");
}

TEST_CASE(what_is_no_frame_is_refused)
{
    assert_int_equal(give("bash: enroot: command not found\n", 32), -1);
}

TEST_CASE(another_version_and_a_giant_are_refused)
{
    const struct frame_head heads[] = {{FRAME_MAGIC, FRAME_VERSION + 1, 40, 0, 0},
                                       {FRAME_MAGIC, FRAME_VERSION, 40, 0, FRAME_BODY + 1},
                                       {FRAME_MAGIC, FRAME_VERSION, 40, 0, UINT32_MAX},
                                       {FRAME_MAGIC + 1, FRAME_VERSION, 40, 0, 0}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        end(state);
        assert_int_equal(begin(state), 0);
        assert_int_equal(give(&heads[i], sizeof heads[i]), -1);
    }
    char *giant = calloc(1, FRAME_BODY + 1);
    assert_int_equal(connection_send(&far, 40, 0, giant, FRAME_BODY + 1), -1);
    assert_int_equal(connection_send(&far, 40, 0, giant, FRAME_BODY), 0);
    free(giant);
}

/* The largest frame is as long as the buffer: it comes out, and so does the next. */
TEST_CASE(the_largest_frame_passes)
{
    char *body = calloc(1, FRAME_BODY);
    seal_both();
    body[FRAME_BODY - 1] = 'z';
    for (int k = 0; k < 3; k++)
        assert_int_equal(connection_send(&far, 40, k, body, FRAME_BODY), 0);
    for (int k = 0; k < 3;) {
        connection_flush(&far);
        connection_fill(&near);
        int got = connection_next(&near, &f);
        assert_true(got >= 0);
        if (!got)
            continue;
        assert_int_equal(f.head.rank, k++);
        assert_memory_equal(f.body, body, FRAME_BODY);
    }
    free(body);
}

TEST_CASE(no_bit_of_a_sealed_frame_can_be_changed)
{
    char bytes[128];
    for (size_t bit = 0;; bit++) {
        end(state);
        assert_int_equal(begin(state), 0);
        seal_both();
        assert_int_equal(connection_send(&far, 40, 1, "go", 2), 0);
        size_t n = intercept(bytes, sizeof bytes);
        if (bit == 8 * n)
            break;
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        memset(bytes + n, 0, sizeof bytes - n); /* so that a length that has grown finds its bytes */
        assert_int_not_equal(give(bytes, sizeof bytes), 1);
    }
}

TEST_CASE(sealed_frames_are_not_taken_twice_or_out_of_turn_or_back)
{
    char first[128], second[128];
    for (int kind = 0; kind < 3; kind++) {
        end(state);
        assert_int_equal(begin(state), 0);
        seal_both();
        assert_int_equal(connection_send(&far, 40, 1, "go", 2), 0);
        size_t n = intercept(first, sizeof first);
        assert_int_equal(connection_send(&far, 40, 1, "on", 2), 0);
        assert_int_equal(intercept(second, sizeof second), n);
        if (kind == 0) { /* twice */
            assert_int_equal(give(first, n), 1);
            assert_int_equal(give(first, n), -1);
        } else if (kind == 1) { /* the first one is left out */
            assert_int_equal(give(second, n), -1);
        } else { /* sent back to where it came from */
            assert_int_equal(write(near.to, first, n), n);
            assert_int_equal(connection_fill(&far), 1);
            assert_int_equal(connection_next(&far, &f), -1);
        }
    }
}

TEST_CASE(an_unsealed_frame_is_not_taken_by_a_sealed_connection)
{
    seal_both();
    far.sealed = 0;
    char nothing[HMAC_BYTES] = {0};
    assert_int_equal(connection_send(&far, 40, 1, "go", 2), 0);
    assert_int_equal(give(nothing, sizeof nothing), -1);
}

TEST_CASE(the_end_is_noticed)
{
    connection_close(&far);
    assert_int_equal(connection_fill(&near), 0);
    assert_int_equal(connection_send(&near, 40, 0, NULL, 0), -1);
    int pipes[2];
    struct connection half;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(connection_open(&half, dup(0), pipes[1]), 0);
    close(pipes[0]);
    assert_int_equal(connection_send(&half, 40, 0, NULL, 0), -1);
    connection_close(&half);
}

/* A peer that does not read: sending goes on without waiting, up to a limit; once it reads, it gets all of it. */
TEST_CASE(who_does_not_read_stops_nobody)
{
    static char body[32768];
    double began = progress_now_s();
    int sent = 0, got = 0;
    while (sent < 100 && !connection_send(&near, 40, sent, body, sizeof body))
        sent++;
    assert_int_equal(sent, 100);
    assert_true(near.queued > 0);
    while (got < sent) {
        assert_int_equal(connection_flush(&near), 0);
        if (connection_fill(&far) != 1)
            continue;
        while (connection_next(&far, &f) > 0)
            assert_int_equal(f.head.rank, got++);
    }
    assert_int_equal(near.queued, 0);
    while (sent < 10000 && !connection_send(&near, 40, sent, body, sizeof body))
        sent++;
    assert_true(sent < 10000);
    assert_true(progress_now_s() - began < 20);
}

static int prepare_group(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

TEST_GROUP(test_connection, begin, end, prepare_group, NULL)
