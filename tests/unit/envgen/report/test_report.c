/* envgen/report/: the page is well-formed, loads nothing, and its data are the profile's. */
#include "core/json.h"
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

static cJSON *data_of(const char *page)
{
    struct err e = {0};
    const char *begin = strstr(page, "id=\"nccltune-data\">"), *end = begin ? strstr(begin, "</script>") : NULL;
    assert_non_null(end);
    begin = strchr(begin, '>') + 1;
    cJSON *doc = json_parse(begin, (size_t)(end - begin), "page", 1, &e);
    if (!doc)
        fail_msg("%s", e.text);
    return doc;
}

/* Every candidate of the profile is a row, and every row a candidate. */
static void same_candidates(const cJSON *coll, const struct env_coll *c)
{
    const cJSON *row = cJSON_GetObjectItem(coll, "candidates")->child;
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++)
            for (int n = 0; n < c->ranges[i].points[k].noptions; n++, row = row->next) {
                const struct env_point *p = &c->ranges[i].points[k];
                assert_non_null(row);
                assert_true(cJSON_GetArrayItem(row, 0)->valuedouble == (double)p->bytes);
                assert_string_equal(cJSON_GetArrayItem(row, 1)->valuestring, p->options[n].call.label);
                assert_near(cJSON_GetArrayItem(row, 3)->valuedouble, p->options[n].time_us.median,
                            1e-4 * p->options[n].time_us.median);
                assert_int_equal(cJSON_GetArrayItem(row, 6)->valueint, p->options[n].time_us.n);
                assert_int_equal(cJSON_IsTrue(cJSON_GetArrayItem(row, 11)), n == p->chosen);
            }
    assert_null(row);
}

TEST_CASE(of_the_example)
{
    struct env_profile *p = example();
    size_t bytes, again;
    char *page = page_of(p, &bytes), *second = page_of(p, &again);
    is_well_formed(page, bytes);
    assert_string_equal(page, second);
    cJSON *doc = data_of(page), *shape = cJSON_GetObjectItem(doc, "shapes")->child;
    assert_string_equal(json_str(doc, "profile", ""), p->manifest.hash);
    for (int i = 0; i < p->decisions->nshapes; i++, shape = shape->next) {
        cJSON *coll = cJSON_GetObjectItem(shape, "collectives")->child;
        for (int c = 0; c < p->decisions->shapes[i].ncolls; c++, coll = coll->next)
            same_candidates(coll, &p->decisions->shapes[i].colls[c]);
        assert_null(coll);
    }
    assert_null(shape);
    assert_non_null(strstr(page, "class=\"plot\""));
    assert_non_null(strstr(page, "btl_tcp_if_include"));
    cJSON_Delete(doc);
    free(page);
    free(second);
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
    cJSON *doc = data_of(page);
    assert_string_equal(json_str(cJSON_GetObjectItem(doc, "shapes")->child, "library", ""),
                        "</script><script>alert(1)</script> ]]> & \"");
    cJSON_Delete(doc);
    free(page);
    env_profile_free(p);
}

TEST_CASES(test_report)
