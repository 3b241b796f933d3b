/* Conversations with shells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/child_io.h"
#include "core/progress.h"

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

static void lines_in_order(void **state)
{
    (void)state;
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
static void long_lines(void **state)
{
    (void)state;
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

static void one_that_there_is_not(void **state)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct child t;
    struct err e = {0};
    (void)state;
    assert_int_equal(child_start(&t, argv, NULL, &e), ERR_LACKS);
    assert_null(t.line);
}

/* What it is given beside our own environment. */
static void its_environment(void **state)
{
    const char *const argv[] = {"sh", "-c", "echo \"{$TEST_CHILD}\"", NULL}, *const env[] = {"TEST_CHILD=x", NULL};
    struct child t;
    struct err e;
    char *line;
    (void)state;
    assert_int_equal(child_start(&t, argv, env, &e), 0);
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_string_equal(line, "{x}");
    child_end(&t, 1);
}

static void deadline_and_stop(void **state)
{
    (void)state;
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

static void last_words(void **state)
{
    (void)state;
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
static void floods(void **state)
{
    (void)state;
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

static void nobody_listens(void **state)
{
    (void)state;
    struct child t = start("exec 0<&-; echo '{}'; sleep 60");
    char *line;
    assert_int_equal(child_next(&t, soon(20), NULL, &line), CHILD_LINE);
    assert_int_equal(child_say(&t, "anybody?\n"), -1);
    child_end(&t, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_there_is_not),
        cmocka_unit_test(its_environment),
        cmocka_unit_test(lines_in_order),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(deadline_and_stop),
        cmocka_unit_test(last_words),
        cmocka_unit_test(floods),
        cmocka_unit_test(nobody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
