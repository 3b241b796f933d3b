/* The page: as well-formed as XML whatever a log holds, with the sentences, the picture, what to do and the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <expat.h>

#include "tests/unit/envgen/diagnose/feed.h"

static char *page_of(const char *log)
{
    struct diagnosis *d = read_text(log);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    diagnose_html(diagnose_finish(d), out);
    fclose(out);
    diagnose_free(d);
    XML_Parser p = XML_ParserCreate(NULL);
    if (XML_Parse(p, text, (int)bytes, 1) != XML_STATUS_OK)
        fail_msg("line %lu: %s", XML_GetCurrentLineNumber(p), XML_ErrorString(XML_GetErrorCode(p)));
    XML_ParserFree(p);
    return text;
}

static void a_page_of_all_of_it(void **state)
{
    (void)state;
    char *text = page_of("[Step 1] rollout: 700ms | sync: 300ms\nindex, utilization.gpu [%]\n0, 90 %\n1, 20 %\n");
    assert_non_null(strstr(text, "The largest phase is rollout: 70 % of the step"));
    assert_non_null(strstr(text, "<svg "));
    assert_non_null(strstr(text, "What to do next"));
    assert_non_null(strstr(text, "GPU 1"));
    assert_non_null(strstr(text, "nccltune-diagnosis/1"));
    free(text);
}

static void what_is_hostile_is_words(void **state)
{
    (void)state;
    char *text = page_of("[Step 1] <script>alert(1)</script>&\": 700ms | sync: 300ms\n");
    assert_null(strstr(text, "<script>alert"));
    free(text);
}

/* No steps: the sentences alone, and no empty tables of phases. */
static void without_steps(void **state)
{
    (void)state;
    char *text = page_of("NCCL version 2.21.5+cuda12.4\n");
    assert_non_null(strstr(text, "NCCL 2.21.5+cuda12.4."));
    assert_null(strstr(text, "id=\"phases\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_all_of_it),
        cmocka_unit_test(what_is_hostile_is_words),
        cmocka_unit_test(without_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
