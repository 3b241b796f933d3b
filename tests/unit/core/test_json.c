/* core/json.c: positions of errors, formats and their versions, names that are not UTF-8. */
#include "core/json.h"
#include "tests/lib/unit.h"

static cJSON *parse(const char *text, struct err *e)
{
    return json_parse(text, strlen(text), "f.json", 1, e);
}

TEST_CASE(error_positions)
{
    static const struct {
        const char *text, *begins;
    } wrong[] = {
        {"", "f.json:1:1: "},
        {"{\n  \"a\": 1,\n  \"b\": tru\n}", "f.json:3:8: "},
        {"{\"a\": 1} x", "f.json:1:10: expected the end"},
        {"[1, 2", "f.json:1:"},
        {"{\"a\" 1}", "f.json:1:"},
        {"\"\\ud800\"", "f.json:1:"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        assert_null(parse(wrong[i].text, &e));
        assert_int_equal(strncmp(e.text, wrong[i].begins, strlen(wrong[i].begins)), 0);
    }
}

TEST_CASE(depth)
{
    char text[4 * JSON_DEPTH + 1];
    struct err e = {0};
    memset(text, '[', JSON_DEPTH);
    memset(text + JSON_DEPTH, ']', JSON_DEPTH);
    text[2 * JSON_DEPTH] = 0;
    cJSON *doc = parse(text, &e);
    assert_non_null(doc);
    cJSON_Delete(doc);
    memset(text, '[', JSON_DEPTH + 1);
    assert_null(parse(text, &e));
    assert_non_null(strstr(e.text, "nested deeper"));
    doc = parse("\"[[[[\\\"[[[\"", &e);
    assert_non_null(doc);
    cJSON_Delete(doc);
}

static int format(const char *text)
{
    struct err e = {0};
    cJSON *doc = parse(text, &e);
    int rc = json_check_format(doc, "nccltune-topology/1", "f.json", &e);
    cJSON_Delete(doc);
    return rc;
}

TEST_CASE(formats)
{
    assert_int_equal(format("{\"format\": \"nccltune-topology/1\"}"), 0);
    assert_int_equal(format("{\"format\": \"nccltune-topology/1.2\"}"), 0);
    assert_int_equal(format("{\"format\": \"nccltune-topology/2\"}"), ERR_FAILED);
    assert_int_equal(format("{\"format\": \"nccltune-topology/10\"}"), ERR_FAILED);
    assert_int_equal(format("{\"format\": \"nccltune-results/1\"}"), ERR_FAILED);
    assert_int_equal(format("{\"format\": 1}"), ERR_FAILED);
    assert_int_equal(format("[]"), ERR_FAILED);
}

TEST_CASE(getters)
{
    struct err e = {0};
    cJSON *doc = parse("{\"s\": \"x\", \"n\": 2.5, \"i\": 7, \"big\": 1e300, \"b\": true}", &e);
    assert_string_equal(json_str(doc, "s", "d"), "x");
    assert_string_equal(json_str(doc, "n", "d"), "d");
    assert_near(json_num(doc, "n", 0), 2.5, 0);
    assert_near(json_num(doc, "s", -1), -1, 0);
    assert_int_equal(json_int(doc, "i", 0), 7);
    assert_int_equal(json_int(doc, "big", -3), -3);
    assert_int_equal(json_bool(doc, "b", 0), 1);
    assert_int_equal(json_bool(doc, "none", 1), 1);
    cJSON_Delete(doc);
}

TEST_CASE(not_utf8)
{
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "name", "caf\xc3\xa9 \xff \xc3(\xe2\x82\xac\xed\xa0\x80");
    assert_string_equal(json_str(o, "name", ""), "caf\xc3\xa9 ? ?(\xe2\x82\xac???");
    json_add_str(o, "none", NULL);
    assert_null(cJSON_GetObjectItem(o, "none"));
    cJSON_Delete(o);
}

TEST_CASES(test_json)
