/* The time-box: whatever the child does, the parent is back. */
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "slurm/hook.h"
#include "tests/lib/unit.h"

#define LIMIT_MS 200
#define LONG_MS  5000 /* never waited for */

static const struct hook_options options = {.conf = "/x", .sysfs = "/sys", .limit_ms = LIMIT_MS};

static void good(const struct hook_options *o, struct hook_report *r)
{
    snprintf(r->out, sizeof r->out, "%s", o->conf);
    r->done = 1;
}

static void takes_time(const struct hook_options *o, struct hook_report *r)
{
    (void)o;
    poll(NULL, 0, LIMIT_MS / 4);
    r->done = 1;
}

static void hangs(const struct hook_options *o, struct hook_report *r)
{
    (void)o;
    snprintf(r->out, sizeof r->out, "half of it");
    for (;;)
        pause();
}

static void crashes(const struct hook_options *o, struct hook_report *r)
{
    (void)o;
    (void)r;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void writes(const struct hook_options *o, struct hook_report *r)
{
    (void)o;
    /* What was standard output must not be: Slurm would read it as settings. */
    r->done = write(1, "export LD_PRELOAD=/x\n", 21) == 21;
}

static struct hook_report *box(hook_function *f, struct err *why)
{
    why->text[0] = 0;
    return hook_boxed(f, &options, why);
}

TEST_CASE(reports)
{
    struct err why;
    struct hook_report *r = box(good, &why);
    assert_non_null(r);
    assert_string_equal(r->out, "/x");
    assert_string_equal(why.text, "");
}

static void ignore(int signal)
{
    (void)signal;
}

TEST_CASE(waits_on_after_a_signal)
{
    struct err why;
    struct sigaction now = {.sa_handler = ignore}, before;
    struct itimerval t = {.it_value = {.tv_usec = LIMIT_MS * 1000 / 20}};
    sigaction(SIGALRM, &now, &before);
    setitimer(ITIMER_REAL, &t, NULL);
    assert_true(box(takes_time, &why)->done);
    assert_string_equal(why.text, "");
    sigaction(SIGALRM, &before, NULL);
}

TEST_CASE(is_back)
{
    struct err why;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_string_equal(box(hangs, &why)->out, "half of it");
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < LONG_MS);
    assert_non_null(strstr(why.text, "not done after 200 ms"));
    for (pid_t child = 0; child >= 0; clock_gettime(CLOCK_MONOTONIC, &b)) { /* and it does not stay */
        child = waitpid(-1, NULL, WNOHANG);
        assert_true(b.tv_sec - a.tv_sec < LONG_MS / 1000);
    }
    assert_non_null(box(crashes, &why));
    assert_string_equal(why.text, "ended by signal 6");
}

TEST_CASE(says_what_it_cannot_have)
{
    struct err why;
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    struct hook_report *r = box(good, &why);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_string_equal(why.text, "no pipe");
    assert_false(r->done);
}

TEST_CASE(has_no_output)
{
    struct err why;
    int ends[2], saved = dup(1);
    char text[64];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], 1);
    struct hook_report *r = box(writes, &why);
    dup2(saved, 1);
    close(saved);
    close(ends[1]);
    assert_non_null(r);
    assert_int_equal(read(ends[0], text, sizeof text), 0);
    close(ends[0]);
}

TEST_CASE(programs)
{
    char sh[] = "/bin/sh", c[] = "-c",
         yes[] = "[ \"$SLURM_CONF\" = /x ] && [ \"$SLURM_TIME_FORMAT\" = %s ] && [ -z \"$HOME\" ]", no[] = "exit 1",
         says[] = "echo 1234567890; echo 2", goes_on[] = "printf 1; sleep 0.05; printf 2; sleep 0.05; printf 3",
         slow[] = "sleep 60", none[] = "/nowhere/x";
    char *good_argv[] = {sh, c, yes, NULL}, *bad[] = {sh, c, no, NULL}, *hang[] = {sh, c, slow, NULL},
         *missing[] = {none, NULL}, *talks[] = {sh, c, says, NULL}, *pauses[] = {sh, c, goes_on, NULL};
    char out[8];
    setenv("SLURM_CONF", "/x", 1);
    assert_int_equal(hook_run(good_argv, LONG_MS, NULL, 0), 0);
    assert_int_equal(hook_run(talks, LONG_MS, out, sizeof out), 0);
    assert_string_equal(out, "1234567");
    assert_int_equal(hook_run(pauses, LONG_MS, out, sizeof out), 0);
    assert_string_equal(out, "123");
    assert_int_equal(hook_run(bad, LONG_MS, NULL, 0), -1);
    assert_int_equal(hook_run(missing, LONG_MS, NULL, 0), -1);
    assert_int_equal(hook_run(hang, LIMIT_MS, NULL, 0), -1);
}

/* A program has no input of ours to wait for or to take away. */
TEST_CASE(programs_have_no_input)
{
    char sh[] = "/bin/sh", c[] = "-c", says[] = "readlink /proc/self/fd/0", out[64];
    char *argv[] = {sh, c, says, NULL};
    int ends[2], saved = dup(0);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], 0);
    assert_int_equal(hook_run(argv, LONG_MS, out, sizeof out), 0);
    assert_string_equal(out, "/dev/null\n");
    dup2(saved, 0);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASES(test_hook_box)
