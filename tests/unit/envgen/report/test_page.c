/* envgen/report/page.c: a page's parts, word by word, and that what stands in them cannot leave them. */
#include "core/arena.h"
#include "core/xml.h"
#include "envgen/report/page.h"
#include "tests/lib/unit.h"

static char *text;
static size_t bytes;

static FILE *begin(void)
{
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    return out;
}

static void expect(FILE *out, const char *expected)
{
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

TEST_CASE(rows)
{
    FILE *out = begin();
    page_table(out, NULL, (const char *const[]){"size", "<us>", NULL});
    page_row(out, "slow", (const char *const[]){"12.5 us", NULL, "2 & more", "2026-11-22", "123456789"}, 5);
    page_row(out, NULL, (const char *const[]){"", "x1"}, 2);
    page_table_end(out);
    page_table(out, "wide", (const char *const[]){NULL});
    page_table_end(out);
    expect(out,
           "<div class=\"wide\"><table class=\"\"><thead><tr><th>size</th>\n<th>&lt;us&gt;</th>\n</tr></thead><tbody>\n"
           "<tr class=\"slow\"><td class=\"n\">12.5 us</td><td></td><td class=\"n\">2 &amp; more</td>"
           "<td>2026-11-22</td><td class=\"n\">123456789</td></tr>\n<tr><td></td><td>x1</td></tr>\n"
           "</tbody></table></div>\n<div class=\"wide\"><table class=\"wide\"><thead><tr></tr></thead><tbody>\n"
           "</tbody></table></div>\n");
}

/* The worst first, each in the order in which they came; those that differ in the subject alone are one row. */
TEST_CASE(findings)
{
    const struct finding list[] = {
        {.severity = FINDING_NOTE, .id = "a", .subject = "s", .text = "one", .advice = "do"},
        {.severity = FINDING_ERROR, .id = "b", .subject = "<t>", .text = "two", .evidence = "e", .advice = "x"},
        {.severity = FINDING_NOTE, .id = "c", .subject = "u", .text = "three", .advice = "y"},
        {.severity = FINDING_NOTE, .id = "a", .subject = "v", .text = "one", .advice = "do"}};
    FILE *out = begin();
    page_findings(out, list, 0);
    page_findings(out, list, 4);
    expect(
        out,
        "<div class=\"wide\"><table class=\"findings\"><thead><tr><th></th>\n<th>kind</th>\n<th>subject</th>\n"
        "<th>what</th>\n<th>what to do</th>\n</tr></thead><tbody>\n"
        "<tr class=\"error\"><td>error</td><td>b</td><td>&lt;t&gt;</td><td class=\"l\">two: e</td><td "
        "class=\"l\">x</td></tr>\n"
        "<tr class=\"note\"><td>note</td><td>a</td><td>s v</td><td class=\"l\">one</td><td class=\"l\">do</td></tr>\n"
        "<tr class=\"note\"><td>note</td><td>c</td><td>u</td><td class=\"l\">three</td><td class=\"l\">y</td></tr>\n"
        "</tbody></table></div>\n");
}

TEST_CASE(whole_pages)
{
    struct arena *a = arena_new();
    struct err e = {0};
    FILE *out = begin();
    page_begin(out, "a < b");
    page_part(out, "one", "first & last");
    page_paper(out);
    page_put(out, "p class=\"x\"", "words");
    page_paper_end(out);
    page_end(out);
    fclose(out);
    char *doctype = strstr(text, "<html");
    assert_non_null(doctype);
    if (!xml_parse(arena_strdup(a, doctype), strlen(doctype), "page", a, &e))
        fail_msg("%s", e.text);
    assert_non_null(strstr(text, "<title>a &lt; b</title>\n<style>"));
    assert_non_null(strstr(text, "<h1>a &lt; b</h1>\n</header>"));
    assert_non_null(strstr(text,
                           "</section>\n<section id=\"one\"><h2>first &amp; last</h2>\n<div class=\"wide\">"
                           "<div class=\"paper\"><p class=\"x\">words</p>\n</div></div>\n</section></main>\n<script>"));
    free(text);
    arena_free(a);
}

TEST_CASES(test_page)
