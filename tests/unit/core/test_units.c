/* core/units.c: sizes and times, right and wrong. */
#include "core/units.h"
#include "tests/lib/unit.h"

TEST_CASE(sizes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"8", 8},           {"64K", 65536},        {"64KiB", 65536}, {"1.5M", 1572864},
                {"4G", 1ull << 32}, {"2 GiB", 1ull << 31}, {"0", 0},         {"1t", 1ull << 40}};
    struct err e = {0};
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(unit_parse_bytes(good[i].text, &v, "--max-bytes", &e), 0);
        assert_true(v == good[i].bytes);
    }
    static const char *const bad[] = {"", "-1", "8X", "K", "1.0001K", "inf", "nan", "0x10", "1e30", "9E", "8 8", " 8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(unit_parse_bytes(bad[i], &v, "--max-bytes", &e), ERR_USAGE);
    assert_int_equal(unit_parse_bytes(NULL, &v, "--max-bytes", &e), ERR_USAGE);
}

TEST_CASE(times)
{
    struct err e = {0};
    double v;
    assert_int_equal(unit_parse_seconds("90", &v, "--budget", &e), 0);
    assert_near(v, 90, 0);
    assert_int_equal(unit_parse_seconds("1.5h", &v, "--budget", &e), 0);
    assert_near(v, 5400, 0);
    assert_int_equal(unit_parse_seconds("250ms", &v, "--budget", &e), 0);
    assert_near(v, 0.25, 1e-12);
    assert_int_equal(unit_parse_seconds("10 parsecs", &v, "--budget", &e), ERR_USAGE);
}

TEST_CASE(whole_numbers)
{
    struct err e = {0};
    long v;
    assert_int_equal(unit_parse_int("4", 1, 8, &v, "--ranks", &e), 0);
    assert_int_equal(v, 4);
    static const char *const bad[] = {"0", "9", "", "4x", "99999999999999999999", "4.0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(unit_parse_int(bad[i], 1, 8, &v, "--ranks", &e), ERR_USAGE);
}

TEST_CASE(ranges)
{
    const uint64_t k = 1024, m = k * k;
    char t[3 * UNIT_TEXT];
    assert_string_equal(unit_range(t, 4 * k, 4 * k), "4 KiB");
    assert_string_equal(unit_range(t, 4 * k, m), "4 KiB to 1 MiB");
    assert_string_equal(unit_range(t, 4 * k + 1, m - 1), "above 4 KiB to below 1 MiB");
    assert_string_equal(unit_range(t, 4 * k, m - 1), "4 KiB to below 1 MiB");
    assert_string_equal(unit_range(t, m + 1, UINT64_MAX), "above 1 MiB");
    assert_string_equal(unit_range(t, m, UINT64_MAX), "from 1 MiB up");
    assert_string_equal(unit_range(t, 0, m - 1), "below 1 MiB");
    assert_string_equal(unit_range(t, 0, m), "up to 1 MiB");
    assert_string_equal(unit_range(t, 0, UINT64_MAX), "all sizes");
}

TEST_CASE(printed)
{
    char t[UNIT_TEXT];
    assert_string_equal(unit_bytes(t, 8), "8 B");
    assert_string_equal(unit_bytes(t, 65536), "64 KiB");
    assert_string_equal(unit_bytes(t, 1572864), "1.5 MiB");
    assert_string_equal(unit_bytes(t, UINT64_MAX), "any larger size");
    assert_string_equal(unit_bytes(t, 1023), "1023 B");
    assert_string_equal(unit_bytes(t, 1048000), "1023.4 KiB");
    assert_string_equal(unit_bytes(t, 1048575), "1.0 MiB");
    assert_string_equal(unit_bytes(t, (1 << 30) - 1), "1.0 GiB");
    assert_string_equal(unit_seconds(t, 0.25), "250 ms");
    assert_string_equal(unit_seconds(t, 42), "42 s");
    assert_string_equal(unit_seconds(t, 200), "3 min 20 s");
    assert_string_equal(unit_seconds(t, 7500), "2 h 5 min");
    assert_string_equal(unit_seconds(t, -1), "0 ms");
    assert_string_equal(unit_seconds(t, 1e300), "years");
}

TEST_CASE(symbols)
{
    static const struct {
        const char *all, *ctype, *lang, *expected;
    } cases[] = {
        {"C.UTF-8", "C", "C", "→"},   {"POSIX", "C.UTF-8", "C.UTF-8", "->"},
        {"", "de_DE.utf8", "C", "→"}, {NULL, NULL, "en_US.UTF-8", "→"},
        {NULL, NULL, NULL, "->"},     {NULL, "", "en_US.ISO-8859-1", "->"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        const char *const values[] = {cases[i].all, cases[i].ctype, cases[i].lang};
        for (int k = 0; k < 3; k++)
            assert_int_equal(values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]), 0);
        assert_string_equal(unit_symbol("→", "->"), cases[i].expected);
    }
}

TEST_CASE(three_digits)
{
    static const struct {
        double value;
        const char *digits, *time;
    } cases[] = {{0.37, "0.370", "0.37 us"},   {0.99996, "1.00", "1 us"},   {9.996, "10.0", "10 us"},
                 {85.14, "85.1", "85.1 us"},   {999.4, "999", "999 us"},    {12345, "12300", "12.3 ms"},
                 {159800, "160000", "160 ms"}, {2.5e6, "2500000", "2.5 s"}, {0, "0", "0 us"}};
    char text[UNIT_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(unit_three_digits(text, cases[i].value), cases[i].digits);
        assert_string_equal(unit_time_us(text, cases[i].value), cases[i].time);
    }
    unit_three_digits(text, 1e300); /* bounded */
}

TEST_CASES(test_units)
