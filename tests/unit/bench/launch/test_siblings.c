/* bench/launch/siblings.c, with real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

int main(void)
{
    snprintf(job, sizeof job, "test-%d", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_end_alike), cmocka_unit_test(killed),
                                       cmocka_unit_test(nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
