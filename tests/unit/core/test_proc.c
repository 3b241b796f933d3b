/* Child processes, real ones. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/proc.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

TEST_CASE(talks_through_pipes)
{
    const char *const argv[] = {"sh", "-c", "read line; echo \"$line $ADDED\"; echo oops >&2; exit 3", NULL};
    const char *const env[] = {"ADDED=there", NULL};
    struct proc p;
    struct err e;
    char text[64] = "", complaint[64] = "";
    assert_int_equal(proc_spawn(&p, argv, env, &e), 0);
    assert_int_equal(proc_write(p.in, "hello\n", 6), 0);
    assert_true(proc_ended(&p, 10));
    assert_true(read(p.out, text, sizeof text - 1) > 0);
    assert_true(read(p.err, complaint, sizeof complaint - 1) > 0);
    assert_string_equal(text, "hello there\n");
    assert_string_equal(complaint, "oops\n");
    char how[PROC_STATUS_TEXT];
    assert_string_equal(proc_status_text(p.status, how), "exited with code 3");
    proc_stop(&p, 0);
    assert_int_equal(p.out, -1);
}

TEST_CASE(missing_program)
{
    const char *const argv[] = {"/nonexistent/program", NULL};
    struct proc p;
    struct err e;
    assert_int_equal(proc_spawn(&p, argv, NULL, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/nonexistent/program"));
    proc_stop(&p, 0);
}

TEST_CASE(stop_reaches_grandchildren)
{
    const char *const argv[] = {"sh", "-c", "trap '' TERM; sleep 60 & echo $!; wait; sleep 60", NULL};
    struct proc p;
    struct err e;
    char text[32] = "";
    assert_int_equal(proc_spawn(&p, argv, NULL, &e), 0);
    assert_true(read(p.out, text, sizeof text - 1) > 0);
    pid_t grandchild = (pid_t)strtol(text, NULL, 10);
    assert_true(grandchild > 0 && !kill(grandchild, 0));
    double start = progress_now_s();
    proc_stop(&p, 0.2);
    assert_true(progress_now_s() - start < 30);
    assert_true(WIFSIGNALED(p.status) && WTERMSIG(p.status) == SIGKILL);
    /* Whoever adopted it may take a moment to wait for it. */
    int gone = 0;
    for (int i = 0; i < 500 && !gone; i++) {
        char path[64], stat[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
        FILE *f = fopen(path, "r");
        gone = !f || !fgets(stat, sizeof stat, f) || strstr(stat, ") Z") != NULL;
        if (f)
            fclose(f);
        usleep(10000);
    }
    assert_true(gone);
}

TEST_CASE(writing_to_nobody_is_an_error_only)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(proc_write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
    sigset_t pending;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
}

TEST_CASE(splits_without_a_shell)
{
    static const struct {
        const char *line;
        const char *words[6];
    } cases[] = {
        {"", {NULL}},
        {"  \t ", {NULL}},
        {"--mca btl tcp,self", {"--mca", "btl", "tcp,self", NULL}},
        {"-x 'A=b c' \"d e\"f g\\ h ''", {"-x", "A=b c", "d ef", "g h", "", NULL}},
        {"$(rm) `x` ; | *", {"$(rm)", "`x`", ";", "|", "*", NULL}},
    };
    struct arena *a = arena_new();
    struct err e;
    int n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char **words = proc_split(cases[i].line, a, &n, &e);
        assert_non_null(words);
        int k = 0;
        for (; cases[i].words[k]; k++)
            assert_string_equal(words[k], cases[i].words[k]);
        assert_int_equal(n, k);
        assert_null(words[k]);
    }
    assert_null(proc_split("open 'quote", a, &n, &e));
    assert_int_equal(e.code, ERR_USAGE);
    arena_free(a);
}

TEST_CASE(says_how_it_ended)
{
    const char *const argv[] = {"sh", "-c", "kill -9 $$", NULL};
    struct proc p;
    struct err e;
    char how[PROC_STATUS_TEXT];
    assert_int_equal(proc_spawn(&p, argv, NULL, &e), 0);
    assert_true(proc_ended(&p, 10));
    assert_string_equal(proc_status_text(p.status, how), "was killed by signal 9 (Killed)");
    proc_stop(&p, 0);
}

TEST_CASES(test_proc)
