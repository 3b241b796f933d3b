/* core/err.c: sentences, positions, and control characters that never reach a terminal. */
#include <errno.h>

#include "core/err.h"
#include "tests/lib/unit.h"

TEST_CASE(positions)
{
    struct err e = {0};
    assert_int_equal(err_at(&e, "f.xml", 3, 7, "expected %s", "<cpu>"), ERR_FAILED);
    assert_string_equal(e.text, "f.xml:3:7: expected <cpu>");
    err_at(&e, "f.xml", 3, 0, "x");
    assert_string_equal(e.text, "f.xml:3: x");
    err_at(&e, "f.xml", 0, 0, "x");
    assert_string_equal(e.text, "f.xml: x");
    assert_int_equal(err_set(&e, ERR_LACKS, "no GPU"), ERR_LACKS);
    assert_int_equal(e.code, ERR_LACKS);
}

TEST_CASE(disarmed)
{
    struct err e = {0};
    err_set(&e, ERR_FAILED, "device \033[31mred\nline\x7f");
    assert_string_equal(e.text, "device ?[31mred?line?");
}

TEST_CASE(errno_text_and_overlong)
{
    struct err e = {0};
    errno = ENOENT;
    err_errno(&e, "%s: cannot be opened", "a");
    assert_string_equal(e.text, "a: cannot be opened: No such file or directory");
    char big[4096];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    errno = ENOENT;
    err_errno(&e, "%s", big);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    err_at(&e, big, 1, 1, "%s", big);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

TEST_CASE(without_object)
{
    assert_int_equal(err_set(NULL, ERR_USAGE, "x"), ERR_USAGE);
    assert_int_equal(err_at(NULL, "f", 1, 1, "x"), ERR_FAILED);
    assert_int_equal(err_errno(NULL, "x"), ERR_FAILED);
}

TEST_CASE(masks_what_a_terminal_acts_on)
{
    static const char *const cases[][2] = {
        {"plain \xc3\xa4 \xc2\xa0 \xc2\xb5", "plain \xc3\xa4 \xc2\xa0 \xc2\xb5"},
        {"\x1b[2J\n\t\r\x7f\x1f ", "?[2J????? "},
        {"a\xc2\x80"
         "b\xc2\x9b"
         "2J\xc2\x9f",
         "a?b?2J?"},
        {"\xc2", "\xc2"},
        {"\xc2\x1b", "\xc2?"},
        {"\xe2\x80\x9b", "\xe2\x80\x9b"},
        {"", ""},
    };
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s", cases[i][0]);
        assert_string_equal(err_mask_controls(text), cases[i][1]);
    }
}

TEST_CASES(test_err)
