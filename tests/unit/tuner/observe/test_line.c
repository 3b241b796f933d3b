/* tuner/observe/line.c: facts on lines of JSON as we write them, and the latest files of a directory. */
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/observe/record.h"

static struct observe_line line(const char *text)
{
    struct observe_line l = {text, text};
    assert_int_equal(observe_next(&l, text + strlen(text)), 1);
    return l;
}

TEST_CASE(lines_one_by_one)
{
    static const char text[] = "a\n\nbc";
    struct observe_line l = {text, text};
    static const size_t lengths[] = {2, 1, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(observe_next(&l, text + 5), 1);
        assert_int_equal(l.end - l.at, lengths[i]);
    }
    assert_int_equal(observe_next(&l, text + 5), 0);
}

TEST_CASE(numbers)
{
    const struct observe_line l =
        line("{\"a\": 17, \"b\": x, \"c\": 18446744073709551609, \"d\": 18446744073709551610, "
             "\"e\":5, \"aa\": 6, \"f\": 9, \"h\": 0, \"i\": 07");
    assert_int_equal(observe_number(&l, "a", 3), 17);
    assert_int_equal(observe_number(&l, "b", 3), 3);
    assert_true(observe_number(&l, "c", 3) == UINT64_C(18446744073709551609));
    assert_int_equal(observe_number(&l, "d", 3), 3);
    assert_int_equal(observe_number(&l, "e", 3), 3); /* without a space it is none of ours */
    assert_int_equal(observe_number(&l, "f", 3), 9);
    assert_int_equal(observe_number(&l, "g", 3), 3);
    assert_int_equal(observe_number(&l, "h", 3), 0);
    assert_int_equal(observe_number(&l, "i", 3), 7);
    assert_int_equal(observe_small(&l, "a", 17), 17);
    assert_int_equal(observe_small(&l, "a", 16), 0);
    assert_int_equal(observe_small(&l, "g", 16), 0);
}

TEST_CASE(decimals)
{
    const struct observe_line l = line("{\"a\": 12.75, \"b\": .5, \"c\": 999999999999999}");
    assert_true(observe_decimal(&l, "a") == 12.75 && observe_decimal(&l, "b") == -1);
    assert_true(observe_decimal(&l, "c") == 999999999999999.0 && observe_decimal(&l, "d") == -1);
}

TEST_CASE(words)
{
    char to[4];
    const struct observe_line l =
        line("{\"a\": \"abc\", \"b\": \"abcd\", \"c\": \"a\\\"\", \"d\": \"~ \", \"e\": \"\", "
             "\"f\": 5, \"g\": \"a\x7f\", \"h\": \"a");
    static const char *const wanted[] = {"abc", NULL, NULL, "~ ", NULL, NULL, NULL, NULL, NULL};
    for (int i = 0; i < 9; i++) {
        const char key[2] = {(char)('a' + i), 0};
        size_t n = observe_word(&l, key, to, sizeof to);
        assert_int_equal(n, wanted[i] ? strlen(wanted[i]) : 0);
        if (wanted[i])
            assert_string_equal(to, wanted[i]);
    }
    const struct observe_line h = line("{\"a\": \"00ff\", \"b\": \"f123456789abcdef\", \"c\": \"1f123456789abcdef\", "
                                       "\"d\": \"0G\", \"e\": \"0F\", \"f\": 5}");
    assert_int_equal(observe_hexadecimal(&h, "a"), 255);
    assert_true(observe_hexadecimal(&h, "b") == UINT64_C(0xf123456789abcdef));
    for (char key[2] = "c"; key[0] <= 'g'; key[0]++)
        assert_int_equal(observe_hexadecimal(&h, key), 0);
}

/* By their numbers, the highest first; neither hidden ones nor the job's own. */
TEST_CASE(the_latest_files)
{
    static const char *const files[] = {"9.x", "10.x", "8.x", "100.y", ".11.x", "12.x", "121.x"};
    static char names[8][OBSERVE_NAME];
    char dir[] = "/tmp/nccltune-latest-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
    }
    static const struct {
        const char *own;
        size_t most, n;
        const char *names[5];
    } cases[] = {{"12", 8, 4, {"121.x", "10.x", "9.x", "8.x"}},
                 {"", 8, 5, {"121.x", "12.x", "10.x", "9.x", "8.x"}},
                 {"12", 3, 3, {"121.x", "10.x", "9.x"}},
                 {"1", 1, 1, {"121.x"}}};
    int next = dup(0), now;
    close(next);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(observe_latest(dir, "*.x", cases[i].own, names, cases[i].most), cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_string_equal(names[k], cases[i].names[k]);
    }
    assert_int_equal(observe_latest("/nowhere", "*", "", names, 8), 0);
    close(now = dup(0));
    assert_int_equal(now, next); /* nothing stays open */
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}

static int prepare_group(void **state)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return 0;
}

TEST_CASES_WITHIN(test_line, prepare_group, NULL)
