/* bench/verbs_channel.c: swapping over a socket, also more than it holds; a silent and a dead peer.
 * bench/verbs_pair.c: the agreement on top of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/verbs_channel.h"
#include "bench/verbs_pair.h"
#include "core/progress.h"

enum { MUCH = 4 << 20 };

static void *other_side(void *user)
{
    char *mine = malloc(MUCH), *theirs = malloc(MUCH);
    memset(mine, 'b', MUCH);
    int error = verbs_channel_swap(user, mine, theirs, MUCH, progress_now_s() + 60);
    error = error ? error : theirs[MUCH - 1] != 'a';
    free(mine);
    free(theirs);
    return (void *)(intptr_t)error;
}

static void swaps(void **state)
{
    (void)state;
    int fds[2];
    void *result;
    pthread_t thread;
    char *mine = malloc(MUCH), *theirs = malloc(MUCH);
    memset(mine, 'a', MUCH);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(pthread_create(&thread, NULL, other_side, &fds[1]), 0);
    assert_int_equal(verbs_channel_swap(&fds[0], mine, theirs, MUCH, progress_now_s() + 60), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_int_equal(theirs[0], 'b');
    assert_int_equal(theirs[MUCH - 1], 'b');
    close(fds[0]);
    close(fds[1]);
    free(mine);
    free(theirs);
}

static void silent_and_dead(void **state)
{
    (void)state;
    int fds[2];
    char mine[8] = "hello", theirs[8];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    double began_s = progress_now_s();
    assert_int_equal(verbs_channel_swap(&fds[0], mine, theirs, sizeof mine, began_s + 0.1), ETIMEDOUT);
    assert_true(progress_now_s() - began_s >= 0.1);
    close(fds[1]);
    int error = verbs_channel_swap(&fds[0], mine, theirs, sizeof mine, progress_now_s() + 60);
    assert_true(error == EPIPE || error == ECONNRESET);
    close(fds[0]);
}

/* A peer whose word is fixed beforehand. */
static int canned_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    (void)mine;
    (void)deadline_s;
    memcpy(theirs, user, bytes);
    return 0;
}

static int failing_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    (void)user;
    (void)mine;
    (void)theirs;
    (void)bytes;
    (void)deadline_s;
    return EPIPE;
}

static void agreement_names_the_side(void **state)
{
    (void)state;
    struct verbs_word good = {.number = 7}, bad = {.failure = "broken"}, theirs;
    struct verbs_channel c = {canned_swap, &good, "node0 rxe0:1", "node1 rxe0:1"};
    struct err e = {0};
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), 0);
    assert_int_equal(theirs.number, 7);
    assert_int_equal(verbs_pair_agree(&c, &bad, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node0 rxe0:1: broken");
    c.user = &bad;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_string_equal(e.text, "node1 rxe0:1: broken");
    /* A peer without manners: no end to its sentence. */
    struct verbs_word endless;
    memset(&endless, 'x', sizeof endless);
    c.user = &endless;
    assert_int_equal(verbs_pair_agree(&c, &good, &theirs, 0, &e), ERR_FAILED);
    assert_int_equal(strlen(e.text), strlen("node1 rxe0:1: ") + VERBS_WORDS - 1);
    c.swap = failing_swap;
    assert_int_equal(verbs_pair_agree(&c, &bad, &theirs, 0, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "the other side ended; before that broken"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(swaps), cmocka_unit_test(silent_and_dead),
                                       cmocka_unit_test(agreement_names_the_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
