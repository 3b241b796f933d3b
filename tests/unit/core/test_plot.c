/* core/plot.c: whatever the figures are, the picture is well-formed and every coordinate a number. */
#include "core/plot.h"
#include "core/xml.h"
#include "tests/lib/unit.h"

static char *drawn(const struct plot *p)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    plot_draw(p, out);
    fclose(out);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void is_well_formed(const char *text)
{
    struct arena *a = arena_new();
    struct err e = {0};
    if (!xml_parse(arena_strdup(a, text), strlen(text), "plot", a, &e))
        fail_msg("%s", e.text);
    arena_free(a);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

TEST_CASE(two_series)
{
    struct plot_point before[] = {{8, 10, 9, 11}, {1024, 20, 0, 20}, {1 << 20, 300, 290, 310}},
                      after[] = {{8, 10, 9, 11}, {1024, 12, 11, 13}, {1 << 20, 200, 190, 210}};
    struct plot_mark marks[] = {{0, "default"}, {512, "ring/<ll>"}};
    struct plot_column columns[] = {{8, "8 B"}, {1024, "1 KiB & more"}, {1 << 20, "1 MiB"}};
    struct plot p = {.title = "all\"reduce",
                     .series = {{"before", before, 3}, {"after", after, 3}},
                     .nseries = 2,
                     .marks = marks,
                     .nmarks = 2,
                     .columns = columns,
                     .ncolumns = 3};
    char *text = drawn(&p);
    is_well_formed(text);
    assert_int_equal(count(text, "<circle"), 6);
    assert_int_equal(count(text, "class=\"at\""), 3);
    assert_int_equal(count(text, "class=\"mark\""), 1);
    free(text);
    p.band = 1;
    is_well_formed(text = drawn(&p));
    assert_int_equal(count(text, "class=\"area\""), 2);
    free(text);
}

TEST_CASE(figures_from_anywhere)
{
    struct plot_point odd[] = {{0, 1, 1, 1},
                               {8, 0, 0, 0},
                               {16, -5, -6, -4},
                               {32, NAN, 1, 2},
                               {64, 5, 6, 2},
                               {128, 1e300, 1, 1e308},
                               {1e19, 1e-300, 1e-308, INFINITY}};
    struct plot_mark marks[] = {{0, ""}, {1e30, "far"}, {-1, "before"}};
    struct plot_column columns[] = {{0, "none"}, {8, "8 B"}, {1e19, "large"}};
    struct plot p = {.title = "odd",
                     .series = {{"odd", odd, 7}},
                     .nseries = 1,
                     .marks = marks,
                     .nmarks = 3,
                     .columns = columns,
                     .ncolumns = 3};
    for (p.band = 0; p.band < 2; p.band++) {
        char *text = drawn(&p);
        is_well_formed(text);
        free(text);
    }
    p.series[0].n = 1; /* nothing that could be drawn */
    char *text = drawn(&p);
    assert_string_equal(text, "");
    free(text);
}

TEST_CASES(test_plot)
