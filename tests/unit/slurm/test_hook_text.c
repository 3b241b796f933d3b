/* Numbers, hashes, names, words and lines at their bounds. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/store.h"

TEST_CASE(numbers)
{
    long long n = -7;
    assert_int_equal(hook_number("100", 100, &n), 0);
    assert_int_equal(n, 100);
    assert_int_equal(hook_number("101", 100, &n), -1);
    assert_int_equal(hook_number("9", 5, &n), -1);
    assert_int_equal(hook_number("9223372036854775807", INT64_MAX, &n), 0);
    assert_int_equal(hook_number("9223372036854775808", INT64_MAX, &n), -1);
    assert_int_equal(hook_number("0", 100, &n), 0);
    assert_int_equal(n, 0);
    n = -7;
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "1x", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hook_number(wrong[i], INT64_MAX / 16, &n), -1);
    assert_int_equal(n, -7);
}

TEST_CASE(hashes)
{
    char hash[] = STORE_HASH "a";
    assert_int_equal(hook_is_hash(hash), 0); /* too long */
    hash[64] = 0;
    assert_int_equal(hook_is_hash(hash), 1);
    hash[63] = 'g';
    assert_int_equal(hook_is_hash(hash), 0);
    hash[63] = 0;
    assert_int_equal(hook_is_hash(hash), 0); /* too short */
}

TEST_CASE(names)
{
    char longest[HOOK_WORD + 1];
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

TEST_CASE(words_and_lines)
{
    char text[] = "one two three\n\nlast", *cursor = text, *words[3];
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

/* Nothing in a complaint acts on a terminal or a log. */
TEST_CASE(refusals)
{
    struct err why = {0};
    assert_int_equal(hook_refuse(&why, "a\nb\x7f%c%d", 0x1f, 5), -1);
    assert_string_equal(why.text, "a?b??5");
}

TEST_CASES(test_hook_text)
