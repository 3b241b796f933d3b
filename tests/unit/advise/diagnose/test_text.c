/* advise/diagnose/text.c and advise/diagnose/json.c: one diagnosis, two forms. */
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static const char hostile[] = "[Step 1] <b>&\"'\x1b[31m]]>: 10ms | 奶茶: 20ms | sync: 70ms\n";

static char *print(const struct diag_result *r, void (*how)(const struct diag_result *, FILE *))
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    how(r, f);
    fclose(f);
    return text;
}

TEST_CASE(text_names_the_verdict)
{
    struct diagnosis *d = read_text(hostile);
    char *text = print(diagnose_finish(d), diagnose_text);
    assert_non_null(strstr(text, "Communication is the problem: 70 % of the step (limit 30 %)."));
    assert_non_null(strstr(text, "奶茶"));
    assert_non_null(strstr(text, "log:1"));
    assert_null(strchr(text, '\x1b'));
    free(text);
    diagnose_free(d);
    d = read_text("utilization.gpu [%], index\n50 %, 0\n");
    text = print(diagnose_finish(d), diagnose_text);
    assert_non_null(strstr(text, "share of communication is unknown"));
    free(text);
    diagnose_free(d);
}

TEST_CASE(json_has_the_share)
{
    struct diagnosis *d = read_text(hostile);
    cJSON *doc = diagnose_json(diagnose_finish(d));
    assert_near(json_num(doc, "communication_share", -1), 0.7, 1e-12);
    assert_string_equal(json_str(doc, "verdict", ""), "communication");
    assert_string_equal(json_str(doc, "format", ""), DIAGNOSE_FORMAT);
    assert_int_equal(json_int(doc, "steps", -1), 1);
    const cJSON *source = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "sources"), 0);
    const cJSON *phase = cJSON_GetArrayItem(cJSON_GetObjectItem(source, "phases"), 2);
    assert_string_equal(json_str(phase, "name", ""), "sync");
    assert_string_equal(json_str(phase, "kind", ""), "communication");
    assert_string_equal(json_str(phase, "evidence", ""), "log:1");
    cJSON_Delete(doc);
    diagnose_free(d);
    d = read_text("utilization.gpu [%], index\n50 %, 0\n");
    doc = diagnose_json(diagnose_finish(d));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(doc, "communication_share")));
    cJSON_Delete(doc);
    diagnose_free(d);
}

TEST_CASES(test_text)
