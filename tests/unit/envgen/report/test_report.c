/* envgen/report/: the page is well-formed, loads nothing, and text from anywhere stays text. */
#include <math.h>

#include "core/xml.h"
#include "envgen/report/report.h"
#include "tests/lib/unit.h"

static char *page_of(const struct env_profile *p, size_t *bytes)
{
    char *text = NULL;
    struct err e = {0};
    FILE *out = open_memstream(&text, bytes);
    int rc = env_report_write(p, out, &e);
    fclose(out);
    if (rc)
        fail_msg("%s", e.text);
    return text;
}

static struct env_profile *example(void)
{
    struct err e = {0};
    struct env_profile *p = env_profile_open("examples/profile", &e);
    if (!p)
        fail_msg("%s", e.text);
    return p;
}

static void is_well_formed(const char *page, size_t bytes)
{
    struct arena *a = arena_new();
    struct err e = {0};
    if (!xml_parse(arena_strndup(a, page, bytes), bytes, "page", a, &e))
        fail_msg("%s", e.text);
    arena_free(a);
}

TEST_CASE(of_the_example)
{
    struct env_profile *p = example();
    size_t bytes, again;
    char *page = page_of(p, &bytes), *second = page_of(p, &again);
    is_well_formed(page, bytes);
    assert_string_equal(page, second);
    assert_non_null(strstr(page, "class=\"plot\""));
    assert_non_null(strstr(page, "NCCL_BUFFSIZE"));
    free(page);
    free(second);
    env_profile_free(p);
}

/* What was only predicted is a comment in the profile, unless it was asked for. */
TEST_CASE(a_predicted_gain)
{
    struct env_profile *p = example();
    size_t bytes;
    for (int set = 0; set < 2; set++) {
        p->decisions->shapes[0].engine = "model";
        p->decisions->predicted = set;
        char *page = page_of(p, &bytes);
        assert_non_null(strstr(page, "PREDICTED for a machine"));
        assert_int_equal(strstr(page, "written as comments: the defaults stay") != NULL, !set);
        assert_int_equal(strstr(page, "Everything else stays at its default") != NULL, set);
        free(page);
    }
    env_profile_free(p);
}

TEST_CASE(loads_nothing)
{
    struct env_profile *p = example();
    size_t bytes;
    char *page = page_of(p, &bytes);
    for (const char *at = page; (at = strstr(at, "http")); at++)
        assert_true(!strncmp(at, "http://www.w3.org/", 18) || !strncmp(at, "http-equiv", 10));
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "url("));
    assert_non_null(strstr(page, "default-src 'none'"));
    free(page);
    env_profile_free(p);
}

TEST_CASE(words_from_anywhere)
{
    struct env_profile *p = example();
    size_t bytes;
    p->decisions->shapes[0].library = "</script><script>alert(1)</script> ]]> & \"";
    p->decisions->settings[0].why = "<img src=x>";
    char *page = page_of(p, &bytes);
    is_well_formed(page, bytes);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<img"));
    free(page);
    env_profile_free(p);
}

TEST_CASE(figures_from_anywhere)
{
    static const double odd[][3] = {
        {0, 0, 0}, {-5, -6, -4}, {NAN, 1, 2}, {6, 5, 2}, {1e300, 1, 1e308}, {1e-300, 1e-308, INFINITY}, {2, NAN, NAN}};
    static const char *const wrong[] = {"\"nan", "\"-nan", "\"inf", "\"-inf", "Mnan", "M-nan", "Vnan", "Vinf", "Lnan"};
    struct env_profile *p = example();
    const struct env_coll *c = &p->decisions->shapes[0].colls[0];
    size_t bytes, n = 0;
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++, n++) {
            const double *figures = odd[n % (sizeof odd / sizeof *odd)];
            struct bench_interval *gain = &c->ranges[i].points[k].total_gain;
            *gain = (struct bench_interval){figures[0], figures[1], figures[2], .n = 20, .predicted = k % 2};
            c->ranges[i].points[k].bytes = n ? c->ranges[i].points[k].bytes : 0;
        }
    char *page = page_of(p, &bytes);
    is_well_formed(page, bytes);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(strstr(page, wrong[i]));
    free(page);
    env_profile_free(p);
}

TEST_CASES(test_report)
