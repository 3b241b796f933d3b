/* What may stand in a profile's files, and quoting that shells agree with. */
#include "core/vars/text.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

TEST_CASE(names_and_values)
{
    static const char *const good_names[] = {"NCCL_IB_HCA", "btl_tcp_if_include", "x"};
    static const char *const bad_names[] = {"", "1x", "_x", "A B", "A=B", "A$", "A\n", "a-b", "a.b", "\xc3\xa4"};
    static const char *const good_values[] = {"=mlx5_0:1,mlx5_1:1", "^docker0,lo", "10.0.0.0/24", "a-b.c", "@+%"};
    static const char *const bad_values[] = {"",     " x",  "a b", "a'b", "a\"b", "$x",  "`x`", "a;b", "a\nb", "a#b",
                                             "a\\b", "a&b", "a|b", "a(b", "a*b",  "a?b", "a[b", "~a",  "!a",   "\xff"};
    for (size_t i = 0; i < sizeof good_names / sizeof *good_names; i++)
        assert_true(env_name_ok(good_names[i]));
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++)
        assert_false(env_name_ok(bad_names[i]));
    for (size_t i = 0; i < sizeof good_values / sizeof *good_values; i++)
        assert_true(env_value_ok(good_values[i]));
    for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++)
        assert_false(env_value_ok(bad_values[i]));
    assert_false(env_name_ok(NULL));
    assert_false(env_value_ok(NULL));
    assert_true(env_path_ok("/opt/nccltune/profile-1"));
    assert_false(env_path_ok("opt"));
    assert_false(env_path_ok("/a b"));
}

TEST_CASE(too_long_is_not_written)
{
    char name[102], value[1002];
    memset(name, 'a', sizeof name);
    memset(value, 'a', sizeof value);
    name[101] = value[1001] = 0;
    assert_false(env_name_ok(name));
    assert_false(env_value_ok(value));
    name[100] = value[1000] = 0;
    assert_true(env_name_ok(name));
    assert_true(env_value_ok(value));
}

TEST_CASE(errors_name_the_setting)
{
    struct err e = {0};
    assert_int_equal(env_check("NCCL_NET", "value", &e), 0);
    assert_int_equal(env_check("NCCL_NET", "bad value", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "NCCL_NET"));
    assert_int_equal(env_check("NCCL_NET_PLUGIN", "value", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "NCCL_NET_PLUGIN=value loads code"));
    assert_int_equal(env_check("bad name", "value", &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "bad name"));
}

/* Every shell gives back what was quoted, and runs nothing. */
TEST_CASE(shells_give_back_what_was_quoted)
{
    static const char *const texts[] = {"/plain",   "/a b",        "/it's",  "/$(touch x)", "/`id`", "/a\"b",
                                        "/a\\b",    "/a;exit 3",   "/*",     "/a'\\''b",    "'",     "/\xc3\xa4",
                                        "/a#b !$%", "/-n ${HOME}", "/a&b|c", "/~",          "~",     "a,b[1-2]"};
    static const char *const shells[] = {"sh", "bash", "dash"};
    struct scratch s = scratch_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof shells / sizeof *shells; k++) {
            const char *script = arena_printf(s.arena, "set -eu\nprintf '%%s' %s\n", env_shell_word(s.arena, texts[i]));
            const char *path = scratch_write(&s, "script", script, strlen(script));
            int code;
            char *out = scratch_run(&s, arena_printf(s.arena, "cd '%s' && %s '%s'", s.dir, shells[k], path), &code);
            assert_int_equal(code, 0);
            assert_string_equal(out, texts[i]);
        }
    assert_null(env_shell_quote(s.arena, "a\nb"));
    assert_null(env_shell_quote(s.arena, "a\x1b[2J"));
    assert_string_equal(env_shell_word(s.arena, "a/b-1"), "a/b-1"); /* what needs no quotes has none */
    assert_string_equal(env_shell_word(s.arena, "a\nb"), "'a?b'");
    scratch_free(&s);
}

TEST_CASE(comments_stay_on_their_lines)
{
    struct arena *a = arena_new();
    assert_string_equal(env_comment(a, "a\nb\tc\x7f"), "a?b?c?");
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    for (int i = 0; i < 395; i += 10)
        longest[i] = ' ';
    env_print_comment(out, a, "#", longest);
    env_print_comment(out, a, "#", "one\ntouch x");
    env_print_comment(out, a, "#", "");
    env_print_comment(out, a, "#", "continued \\");
    env_print_comment(out, a, "#", "\xe2\x80\xa8touch x\xc2\x85");
    fclose(out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_int_equal(*line, '#');
        assert_true(strlen(line) <= 102);
        for (const char *p = line; *p; p++)
            assert_true(*p != '\\' && (unsigned char)*p < 0x7f);
    }
    free(text);
    arena_free(a);
}

TEST_CASE(conf_lines_are_for_nccl_alone)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(env_print_conf_line(out, "NCCL_IB_HCA", "=mlx5_0"), 1);
    assert_int_equal(env_print_conf_line(out, "HSA_NO_SCRATCH_RECLAIM", "1"), 0);
    assert_int_equal(env_print_conf_line(out, "RCCL_X", "1"), 1);
    fclose(out);
    assert_string_equal(text, "NCCL_IB_HCA==mlx5_0\nRCCL_X=1\n");
    free(text);
}

TEST_CASES(test_text)
