/* Out of what launchers really print. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/complaint.h"

#define RULE "--------------------------------------------------------------------------\n"

static void two_lines_of_many(void **state)
{
    (void)state;
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

static void a_line_without_end(void **state)
{
    (void)state;
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

static void reads_what_is_there(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_lines_of_many), cmocka_unit_test(a_line_without_end),
                                       cmocka_unit_test(reads_what_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
