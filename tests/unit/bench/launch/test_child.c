/* Conversations with shells, and what is kept of complaints. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

static struct child start(const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct child t;
    struct err e;
    assert_int_equal(child_start(&t, argv, NULL, &e), 0);
    return t;
}

static double soon(double s)
{
    return progress_now_s() + s;
}

TEST_CASE(lines_in_order)
{
    struct child t =
        start("printf '{\"a\"'; sleep 0.05; printf ':1}\\nlogin banner\\n{\"b\"}\\n'; read x; echo \"{$x}\"");
    char *line;
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{\"a\":1}");
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{\"b\"}");
    assert_int_equal(child_say(&t, "echo\n"), 0);
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{echo}");
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_ENDED);
    child_end(&t, 1);
}

/* The longest that there is, with one behind it, several times over. */
TEST_CASE(long_lines)
{
    struct child t =
        start("x=$(head -c 65533 /dev/zero | tr '\\0' x); for i in 1 2 3; do printf '{%s}\\n{\"b\"}\\n' \"$x\"; done");
    char *line;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
        assert_int_equal(strlen(line), PROTOCOL_LINE - 1);
        assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
        assert_string_equal(line, "{\"b\"}");
    }
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_ENDED);
    child_end(&t, 1);
}

TEST_CASE(one_that_there_is_not)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct child t;
    struct err e = {0};
    assert_int_equal(child_start(&t, argv, NULL, &e), ERR_LACKS);
    assert_null(t.line);
}

/* What it is given beside our own environment. */
TEST_CASE(its_environment)
{
    const char *const argv[] = {"sh", "-c", "echo \"{$TEST_CHILD}\"", NULL}, *const env[] = {"TEST_CHILD=x", NULL};
    struct child t;
    struct err e;
    char *line;
    assert_int_equal(child_start(&t, argv, env, &e), 0);
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{x}");
    child_end(&t, 1);
}

TEST_CASE(deadline_and_stop)
{
    struct child t = start("sleep 60");
    char *line;
    volatile sig_atomic_t stop = 0;
    double began = progress_now_s();
    assert_int_equal(child_next(&t, soon(0.2), &stop, &line), CHILD_LATE);
    assert_true(progress_now_s() - began >= 0.2);
    stop = 1;
    assert_int_equal(child_next(&t, soon(60), &stop, &line), CHILD_STOPPED);
    child_end(&t, 1);
    assert_true(progress_now_s() - began < 50);
}

TEST_CASE(last_words)
{
    static const struct {
        const char *script, *words;
    } cases[] = {
        {"exit 4", "exited with code 4"},
        {"echo -----; echo ' first' >&2; echo >&2; echo ------ >&2; echo second >&2; exit 1",
         "exited with code 1: first / second"},
        {"for i in 1 2 3 4 5; do echo line $i >&2; done; exit 1", "exited with code 1: line 1 / line 5"},
        {"kill -9 $$", "was killed by signal 9 (Killed)"},
        {"echo why >&2; exec >&- 2>&-; exec sleep 60", "does not end: why"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct child t = start(cases[i].script);
        char *line, detail[BENCH_DETAIL];
        assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_ENDED);
        child_last_words(&t, detail);
        assert_string_equal(detail, cases[i].words);
        if (i == 1) { /* they are said once */
            child_last_words(&t, detail);
            assert_string_equal(detail, "exited with code 1");
        }
        child_end(&t, 0);
        assert_null(t.line);
    }
}

/* A child that complains without end neither blocks nor grows us. */
TEST_CASE(floods)
{
    struct child t = start("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo; echo last >&2; echo '{\"ok\"}'; exit 1");
    char *line, detail[BENCH_DETAIL];
    assert_int_equal(child_next(&t, soon(30), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{\"ok\"}");
    assert_int_equal(child_next(&t, soon(30), NULL, &line), CHILD_ENDED);
    child_last_words(&t, detail);
    assert_true(strlen(detail) < BENCH_DETAIL);
    child_end(&t, 1);
    t = start("head -c 300000 /dev/zero | tr '\\0' x");
    assert_int_equal(child_next(&t, soon(30), NULL, &line), CHILD_ENDED);
    child_end(&t, 1);
}

TEST_CASE(nobody_listens)
{
    struct child t = start("exec 0<&-; echo '{}'; sleep 60");
    char *line;
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_int_equal(child_say(&t, "anybody?\n"), -1);
    child_end(&t, 1);
}

/* ---- complaints, out of what launchers really print ---- */

#define RULE "--------------------------------------------------------------------------\n"

TEST_CASE(two_lines_of_many)
{
    static const struct {
        const char *said, *kept;
    } cases[] = {
        {"", ""},
        {"one\n", "one"},
        {"one\nand no newline", "one / and no newline"},
        {"same\nsame\n", "same"},
        {"first\n\n  second  \n ----\nthird\r\n", "first / third"},
        {"Warning: Permanently added 'n1' (ED25519) to the list of known hosts.\nssh: no route\n", "ssh: no route"},
        /* mpirun of OpenMPI 4.1 where ssh does not know a host. */
        {"ssh: Could not resolve hostname nosuchhost: Name or service not known\n" RULE
         "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n"
         "* not finding the required libraries and/or binaries on\n  one or more nodes.\n" RULE,
         "ssh: Could not resolve hostname nosuchhost: Name or service not known"},
        /* It says nothing but this. */
        {RULE "There are not enough slots available in the system to satisfy the 3\nslots\n" RULE,
         "There are not enough slots available in the system to satisfy the 3"},
        /* The frame that names the signal is the second one. */
        {RULE "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n" RULE RULE
              "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).\n" RULE,
         "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed)."},
        /* What the other rank says of it comes first. */
        {"[n1:7] Read -1, expected 4194304, errno = 3\n" RULE
         "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n" RULE RULE
         "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).\n" RULE,
         "[n1:7] Read -1, expected 4194304, errno = 3 / mpirun noticed that process rank 1 with PID 0 on node n1 "
         "exited on signal 9 (Killed)."},
        {RULE "advice\n" RULE "cause\n" RULE "more advice\n" RULE "[n1:1] 1 more process\n",
         "cause / [n1:1] 1 more process"},
        /* 39 dashes are no frame, 40 are; blank lines and rules of other signs say nothing. */
        {"---------------------------------------\nadvice\n---------------------------------------\nend\n",
         "advice / end"},
        {"----------------------------------------\nadvice\n----------------------------------------\nend\n", "end"},
        {RULE "\n  \nreal\nmore\n" RULE, "real"},
        {RULE "\treal\t \r\n" RULE RULE "another\n" RULE, "real"},
        {RULE "Primary job  terminated normally, but\nmore\n" RULE, ""},
        {"====\n * * *\n\t-=-\nreal\nConnection to n1 closed.\n", "real"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 40; step += 19) {
            struct complaint c = {.used = 0};
            char text[600];
            size_t n = strlen(cases[i].said);
            for (size_t at = 0; at < n; at += step)
                complaint_add(&c, cases[i].said + at, step < n - at ? step : n - at);
            assert_string_equal(complaint_text(&c, text, sizeof text), cases[i].kept);
        }
}

TEST_CASE(a_line_without_end)
{
    struct complaint c = {.used = 0};
    char text[8];
    for (int i = 0; i < 5000; i++)
        complaint_add(&c, "x\0y", 3);
    complaint_add(&c, "\nlast", 5);
    assert_string_equal(complaint_text(&c, text, sizeof text), "xyxyxyx");
    assert_int_equal(strlen(c.first), COMPLAINT_LINE - 1);
    assert_string_equal(c.last, ""); /* not ended yet */
    assert_int_equal(c.used, 4);
    char both[COMPLAINT_LINE + 16];
    complaint_text(&c, both, sizeof both);
    assert_string_equal(both + COMPLAINT_LINE - 1, " / last");
}

TEST_CASE(reads_what_is_there)
{
    struct complaint c = {.used = 0};
    char text[64];
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(complaint_read(&c, ends[0]), 1); /* nothing yet */
    assert_int_equal(write(ends[1], "a cause\n", 8), 8);
    assert_int_equal(complaint_read(&c, ends[0]), 1);
    close(ends[1]);
    errno = EAGAIN; /* of an earlier call */
    assert_int_equal(complaint_read(&c, ends[0]), 0);
    close(ends[0]);
    assert_int_equal(complaint_read(&c, ends[0]), 0); /* an error is an end */
    assert_string_equal(complaint_text(&c, text, sizeof text), "a cause");
}

TEST_CASES(test_child)
