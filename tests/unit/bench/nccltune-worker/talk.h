/* nccltune-worker of this build variant on two pipes, spoken to in frames. */
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/proc.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

static struct connection talk;
static struct proc worker;
static char program[4096];

static inline const char *worker_path(void)
{
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    program[n > 0 ? n : 0] = 0;
    char *tests = strstr(program, "/tests/unit/");
    assert_non_null(tests);
    strcpy(tests, "/nccltune-worker");
    return program;
}

/* Its words end with NULL. */
static inline void talk_begin(const char *const *words)
{
    const char *argv[16] = {worker_path()};
    struct err e = {0};
    for (int i = 0; i < 14 && words[i]; i++)
        argv[i + 1] = words[i];
    signal(SIGPIPE, SIG_IGN);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* for it: what a process has when it ends is nobody's leak */
    if (proc_spawn(&worker, argv, NULL, &e))
        fail_msg("%s", e.text);
    assert_int_equal(connection_open(&talk, worker.out, worker.in), 0);
    worker.in = worker.out = -1;
}

static inline void tell(int message, int rank, const void *body, size_t bytes)
{
    assert_int_equal(connection_send(&talk, message, rank, body, bytes), 0);
}

/* The next frame; 0 where there is none any more. */
static inline int hear(struct frame *f)
{
    double until_s = progress_now_s() + 60;
    while (progress_now_s() < until_s) {
        int got = connection_next(&talk, f);
        if (got || !connection_wait(&talk, 1000))
            return got > 0;
    }
    fail_msg("no answer within a minute");
    return 0;
}

static inline void expect(int message, int rank, void *body, size_t bytes)
{
    struct frame f;
    if (!hear(&f))
        fail_msg("the end instead of message %d", message);
    if (f.head.message != message || f.head.rank != rank || frame_body(&f, body, bytes))
        fail_msg("message %d of rank %d, %u bytes, instead of %d of %d, %zu: %.200s", f.head.message, f.head.rank,
                 f.head.bytes, message, rank, bytes, (const char *)f.body);
}

/* Its exit code, -1 by a signal, once its input has ended. */
static inline int talk_end(void)
{
    connection_close(&talk);
    assert_true(proc_ended(&worker, 60));
    int status = worker.status;
    proc_stop(&worker, 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
