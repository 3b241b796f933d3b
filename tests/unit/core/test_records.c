/* Rows for other programs: quoting, what is not known, families. */
#include "core/records.h"
#include "tests/lib/unit.h"

static void expect(void (*print)(const struct records *r, FILE *out), const struct records *r, const char *expected)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(r, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

TEST_CASE(two_ways)
{
    struct records r = {.arena = arena_new()};
    const struct record_cell first[] = {{"name", "a \"b\",\\\n", 0, NULL},
                                        {"nodes", NULL, 2, NULL},
                                        {"gain_ratio", NULL, 1.25, "How much."},
                                        {"size", NULL, NAN, "How large."}};
    const struct record_cell second[] = {{"name", "c", 0, NULL},
                                         {"nodes", NULL, NAN, NULL},
                                         {"gain_ratio", NULL, 0, "How much."},
                                         {"size", NULL, 4503599627, "How large."}};
    records_add(&r, first, 4);
    records_add(&r, second, 4);
    expect(records_csv, &r, "name,nodes,gain_ratio,size\n\"a \"\"b\"\",\\\n\",2,1.25,\nc,,0,4503599627\n");
    expect(
        records_openmetrics, &r,
        "# TYPE nccltune_gain_ratio gauge\n# HELP nccltune_gain_ratio How much.\n"
        "nccltune_gain_ratio{name=\"a \\\"b\\\",\\\\\\n\",nodes=\"2\"} 1.25\nnccltune_gain_ratio{name=\"c\"} 0\n"
        "# TYPE nccltune_size gauge\n# HELP nccltune_size How large.\nnccltune_size{name=\"c\"} 4503599627\n# EOF\n");
    arena_free(r.arena);
}

TEST_CASE(none)
{
    struct records r = {.arena = arena_new()};
    expect(records_csv, &r, "\n");
    expect(records_openmetrics, &r, "# EOF\n");
    const struct record_cell bare[] = {{"up", NULL, 1, "Whether."}};
    records_add(&r, bare, 1);
    expect(records_openmetrics, &r, "# TYPE nccltune_up gauge\n# HELP nccltune_up Whether.\nnccltune_up 1\n# EOF\n");
    arena_free(r.arena);
}

TEST_CASES(test_records)
