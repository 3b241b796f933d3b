/* Numbers, hashes, names, words and lines at their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/slurm/store.h"

static void numbers(void **state)
{
    long long n = -7;
    (void)state;
    assert_int_equal(hook_number("100", 100, &n), 0);
    assert_int_equal(n, 100);
    assert_int_equal(hook_number("101", 100, &n), -1);
    assert_int_equal(hook_number("0", 100, &n), 0);
    assert_int_equal(n, 0);
    n = -7;
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "1x", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hook_number(wrong[i], INT64_MAX / 16, &n), -1);
    assert_int_equal(n, -7);
}

static void hashes(void **state)
{
    char hash[] = STORE_HASH "a";
    (void)state;
    assert_int_equal(hook_is_hash(hash), 0); /* too long */
    hash[64] = 0;
    assert_int_equal(hook_is_hash(hash), 1);
    hash[63] = 'g';
    assert_int_equal(hook_is_hash(hash), 0);
    hash[63] = 0;
    assert_int_equal(hook_is_hash(hash), 0); /* too short */
}

static void names(void **state)
{
    char longest[HOOK_WORD + 1];
    (void)state;
    memset(longest, 'n', sizeof longest);
    longest[HOOK_WORD] = 0;
    assert_int_equal(hook_is_name(longest), 0);
    longest[HOOK_WORD - 1] = 0;
    assert_int_equal(hook_is_name(longest), 1);
    assert_int_equal(hook_is_name("n-0.a_B"), 1);
    static const char *const wrong[] = {"", ".n", "-n", "n/0", "n 0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hook_is_name(wrong[i]), 0);
}

static void words_and_lines(void **state)
{
    char text[] = "one two three\n\nlast", *cursor = text, *words[3];
    (void)state;
    char *line = hook_line(&cursor);
    assert_string_equal(line, "one two three");
    assert_int_equal(hook_words(line, words, 3), 3);
    assert_string_equal(words[2], "three");
    assert_string_equal(hook_line(&cursor), "");
    assert_string_equal(hook_line(&cursor), "last");
    assert_null(hook_line(&cursor));
    char four[] = "1 2 3 4", one[] = "1";
    assert_int_equal(hook_words(four, words, 3), -1);
    assert_int_equal(hook_words(one, words, 3), 1);
}

/* The first complaint stays, and nothing in it acts on a terminal or a log. */
static void refusals(void **state)
{
    struct hook_why why = {""};
    (void)state;
    assert_int_equal(hook_refuse(&why, "a\nb\x7f%c%d", 0x1f, 5), -1);
    assert_string_equal(why.text, "a?b??5");
    assert_int_equal(hook_refuse(&why, "another"), -1);
    assert_string_equal(why.text, "a?b??5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),         cmocka_unit_test(hashes),   cmocka_unit_test(names),
        cmocka_unit_test(words_and_lines), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
