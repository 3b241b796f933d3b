/* advise/diagnose/input.c: clean lines, times and numbers. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static void expect_line(const char *raw, size_t bytes, const char *clean)
{
    struct diag_input *in = calloc(1, sizeof *in);
    char *line = malloc(DIAG_LINE);
    size_t n;
    in->file = fmemopen((void *)(uintptr_t)raw, bytes, "rb");
    assert_true(diag_read_line(in, line, &n));
    assert_string_equal(line, clean);
    assert_int_equal(n, strlen(clean));
    fclose(in->file);
    free(line);
    free(in);
}
#define EXPECT(raw, clean) expect_line(raw, sizeof(raw) - 1, clean)

TEST_CASE(cleaning)
{
    EXPECT("plain\n", "plain");
    EXPECT("no end", "no end");
    EXPECT("crlf\r\n", "crlf");
    EXPECT("\x1b[1;32mgreen\x1b[0m text\n", "green text");
    EXPECT("\x1b]0;title\atext\n", "text");
    EXPECT("cut\x1b[3", "cut");
    EXPECT("cut\x1b", "cut");
    EXPECT("tab\there\a\b", "tab here");
    EXPECT("【步骤 1】生成：12毫秒｜x，y（z）\n", "[步骤 1]生成:12毫秒|x,y(z)");
    EXPECT("bad \xff\xc3( \xe4\xbd", "bad ?\?( ?\?");
    EXPECT("\xed\xa0\x80", "?\?\?");
    EXPECT("é", "é");
}

TEST_CASE(long_lines_are_cut)
{
    size_t size = 3u * DIAG_LINE;
    char *raw = malloc(size + 8), *line = malloc(DIAG_LINE);
    memset(raw, 'x', size);
    snprintf(raw + size, 8, "\nnext\n");
    struct diag_input *in = calloc(1, sizeof *in);
    size_t n;
    in->file = fmemopen(raw, size + 6, "rb");
    assert_true(diag_read_line(in, line, &n));
    assert_int_equal(n, DIAG_LINE - 1);
    assert_true(diag_read_line(in, line, &n));
    assert_string_equal(line, "next");
    assert_int_equal(in->line, 2);
    assert_false(diag_read_line(in, line, &n));
    fclose(in->file);
    free(in);
    free(line);
    free(raw);
}

TEST_CASE(times)
{
    static const struct {
        const char *text;
        double unit_ms, ms; /* ms -1: not a time */
    } cases[] = {
        {" 185ms", 0, 185},
        {"1.5 s", 0, 1500},
        {"12.5us", 0, 0.0125},
        {"3µs", 0, 0.003},
        {"2min", 0, 120000},
        {"3毫秒", 0, 3},
        {"1.2秒", 0, 1200},
        {"7", 0, -1},
        {"7", 1000, 7000},
        {"7 |", 1000, 7000},
        {"85%", 1, -1},
        {"85 %", 1, -1},
        {"nan", 1, -1},
        {"0x10", 1, -1},
        {"-3ms", 0, -1},
        {"5 apples", 1, -1},
        {"1e400", 1, -1},
        {"", 1, -1},
        {"np.float64(2.5)", 1000, 2500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ms = -1;
        diag_time(cases[i].text, cases[i].unit_ms, &ms);
        if (fabs(ms - cases[i].ms) > 1e-9)
            fail_msg("'%s' is %g ms", cases[i].text, ms);
    }
}

TEST_CASES(test_input)
