/* bench/launch/siblings.c, with real processes. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/siblings.h"

#define WAITERS 5

static char job[64];

static void start(pid_t pids[WAITERS])
{
    for (int i = 0; i < WAITERS; i++) {
        pids[i] = fork();
        if (!pids[i]) {
            int word = siblings_wait(job, 20);
            _exit(word >= 0 ? word : 200 - word);
        }
    }
}

static void assert_all_end_with(const pid_t pids[WAITERS], int expected)
{
    for (int i = 0; i < WAITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected);
    }
}

static void all_end_alike(void **state)
{
    struct err e = {0};
    pid_t pids[WAITERS];
    (void)state;
    start(pids); /* before there is anybody to wait for */
    usleep(100000);
    int fd = siblings_open(job, &e);
    assert_true(fd >= 0);
    assert_int_equal(siblings_open(job, &e), -1);
    char want[128];
    snprintf(want, sizeof want, "another nccltune of the job '%s' runs on this node", job);
    assert_string_equal(e.text, want);
    usleep(100000);
    siblings_tell(fd, 77);
    assert_all_end_with(pids, 77);
}

static void killed(void **state)
{
    struct err e = {0};
    pid_t pids[WAITERS];
    int status;
    (void)state;
    pid_t first = fork();
    if (!first) {
        siblings_open(job, &e);
        usleep(400000);
        raise(9);
    }
    start(pids);
    assert_all_end_with(pids, 200 - SIBLINGS_LOST);
    waitpid(first, &status, 0);
}

static void nobody(void **state)
{
    (void)state;
    assert_int_equal(siblings_wait("no such job", 0.2), SIBLINGS_NONE);
}

static int word_of(const char *name, int word)
{
    struct err e = {0};
    int status, fd = siblings_open(name, &e);
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (!pid) {
        close(fd); /* or it would meet itself when it comes late */
        _exit(siblings_wait(name, 60) == word ? 0 : 1);
    }
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000), 1);
    siblings_tell(fd, word);
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* Any byte, under a name of any length: of long ones the beginning counts. */
static void every_word_and_name(void **state)
{
    char name[200];
    struct err e = {0};
    (void)state;
    assert_int_equal(word_of(job, 0), 0);
    assert_int_equal(word_of(job, 255), 0);
    /* Others may be at this test on this machine. */
    snprintf(name, sizeof name, "%s-%0*d", job, (int)(sizeof name - 2 - strlen(job)), 0);
    assert_int_equal(word_of(name, 7), 0);
    int fd = siblings_open(name, &e);
    name[sizeof name - 2] = 'y';
    assert_int_equal(siblings_open(name, &e), -1);
    name[0] = 'y'; /* of "test-..." */
    int other = siblings_open(name, &e);
    assert_true(fd >= 0 && other >= 0);
    siblings_tell(fd, 0);
    siblings_tell(other, 0);
    siblings_tell(-1, 0);
    fd = siblings_open(name, &e); /* closed, so free again */
    assert_true(fd >= 0);
    close(fd);
}

int main(void)
{
    alarm(300);
    snprintf(job, sizeof job, "test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_end_alike), cmocka_unit_test(killed),
                                       cmocka_unit_test(nobody), cmocka_unit_test(every_word_and_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
