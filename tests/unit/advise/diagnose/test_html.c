/* The page: as well-formed as XML whatever a log holds, with the sentences, the picture, what to do and the data. */
#include <expat.h>

#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

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

TEST_CASE(a_page_of_all_of_it)
{
    char *text = page_of("[Step 1] rollout: 700ms | sync: 300ms\nindex, utilization.gpu [%]\n0, 90 %\n1, 20 %\n");
    assert_non_null(strstr(text, "The largest phase is rollout: 70 % of the step"));
    assert_non_null(strstr(text, "<svg "));
    assert_non_null(strstr(text, "What to do next"));
    assert_non_null(strstr(text, "GPU 1"));
    assert_non_null(strstr(text, "nccltune-diagnosis/1"));
    free(text);
}

TEST_CASE(what_is_hostile_is_words)
{
    char *text = page_of("[Step 1] <script>alert(1)</script>&\": 700ms | sync: 300ms\n");
    assert_null(strstr(text, "<script>alert"));
    free(text);
}

/* No steps: the sentences alone, and no empty tables of phases. */
TEST_CASE(without_steps)
{
    char *text = page_of("NCCL version 2.21.5+cuda12.4\n");
    assert_non_null(strstr(text, "NCCL 2.21.5+cuda12.4."));
    assert_null(strstr(text, "id=\"phases\""));
    free(text);
}

TEST_CASES(test_html)
