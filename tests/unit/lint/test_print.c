/* What lint prints: text for people, JSON that parses and carries every finding. */
#include "core/json.h"
#include "lint/lint.h"
#include "tests/lib/unit.h"

static const char document[] = "export NCCL_IB_TIMEOUT=40\nexport NCCL_TREE_THRESHOLD=0\nexport NCCL_DEBUG='a\033b'\n";

static char *printed(const char *name, const char *text, int json)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    char *out = NULL;
    size_t bytes;
    FILE *f = open_memstream(&out, &bytes);
    assert_int_equal(lint_read_text(l, name, text, strlen(text), "shell", NULL), 0);
    lint_check(l);
    lint_print(l, json, f);
    fclose(f);
    lint_free(l);
    return out;
}

TEST_CASE(text)
{
    char *out = printed("job.sh", document, 0);
    assert_non_null(strstr(out, "job.sh:1:8: error NT301: NCCL_IB_TIMEOUT=40\n"));
    assert_non_null(strstr(out, "job.sh:2:8: warning NT101: NCCL_TREE_THRESHOLD=0\n"));
    assert_non_null(strstr(out, "3 settings: 2 errors, 1 warning, 0 notes\n"));
    assert_null(strchr(out, '\033'));
    free(out);
    out = printed("clean.sh", "export NCCL_CROSS_NIC=1\n", 0);
    assert_string_equal(out, "1 setting: 0 errors, 0 warnings, 0 notes\n");
    free(out);
}

TEST_CASE(json)
{
    char *out = printed("job.sh", document, 1);
    cJSON *doc = json_parse(out, strlen(out), "out", 1, NULL);
    assert_non_null(doc);
    assert_int_equal(json_check_format(doc, "nccltune-lint/2", "out", NULL), 0);
    assert_string_equal(json_str(doc, "library", ""), "nccl");
    const cJSON *list = cJSON_GetObjectItem(doc, "findings");
    assert_int_equal(cJSON_GetArraySize(list), 3);
    const cJSON *first = cJSON_GetArrayItem(list, 0);
    assert_string_equal(json_str(first, "file", ""), "job.sh");
    assert_int_equal(json_int(first, "line", 0), 1);
    assert_int_equal(json_int(first, "column", 0), 8);
    assert_string_equal(json_str(first, "id", ""), "NT301");
    assert_string_equal(json_str(first, "severity", ""), "error");
    assert_string_equal(json_str(first, "subject", ""), "NCCL_IB_TIMEOUT");
    assert_string_equal(json_str(first, "value", ""), "40");
    assert_true(strlen(json_str(first, "text", "")) > 10);
    cJSON_Delete(doc);
    free(out);
}

TEST_CASES(test_print)
