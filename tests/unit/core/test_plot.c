/* core/plot.c: whatever the figures are, the picture is well-formed and every coordinate a number. */
#include "core/plot.h"
#include "core/xml.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

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

/* Pictures that somebody has looked at. */
TEST_CASE(sheets)
{
    struct plot_point few[] = {{1000, 0.5, 0.4, 0.7}, {1 << 20, 2, 0, 0}, {1 << 21, 2.5, 2.4, 2.6}},
                      many[] = {{8, 10, 9, 12},
                                {512, 11, 0, 11},
                                {1 << 14, 40, 38, 44},
                                {1 << 30, 80000, 79000, 81000}},
                      one[] = {{64, 3, 0, 3}};
    struct plot_mark marks[] = {
        {0, "tree/ll"}, {100, "ring/ll128"}, {1 << 14, "ring/simple of 16 channels"}, {1 << 22, "nvls"}};
    struct plot_column columns[] = {{8, "8 B: 10 us"}, {512, "512 B"}, {1 << 14, "16 KiB"}, {1 << 30, "1 GiB"}};
    struct plot plots[10] = {
        {.title = "rates", .series = {{"GB/s", few, 3}, {"predicted", few, 2}}, .nseries = 2, .band = 1, .unit = PLOT_RATE},
        {.title = "times",
         .series = {{"default", many, 4}, {"ours", many, 2}, {"model", one, 1}},
         .nseries = 3,
         .marks = marks,
         .nmarks = 4},
        {.title = "one", .series = {{"alone", one, 1}}, .nseries = 1},
        {.title = "limits", .series = {{"alone", one, 1}}, .nseries = 1, .low = 0.01, .high = 100},
        {.title = "none"}};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    plot_sheet(plots, 5, "five plots", out);
    plots[1].columns = columns;
    plots[1].ncolumns = 4;
    plot_draw(&plots[1], out);
    plot_sheet(plots + 2, 1, "one", out);
    plot_sheet(plots + 2, 2, "two", out);
    plot_sheet(plots + 4, 4, "empty", out);
    plots[9] = plots[2];
    plot_sheet(plots + 4, 6, "four empty ones and one", out);
    for (int i = 0; i < 10; i++)
        plots[i] = plots[2];
    plot_sheet(plots, 10, "ten", out);
    fclose(out);
    assert_whole(text, "tests/fixtures/plots.txt");
    free(text);
}

TEST_CASES(test_plot)
