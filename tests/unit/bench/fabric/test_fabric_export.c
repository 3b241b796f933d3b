/* bench/fabric/export.c: the rows of a made-up fabric, as a whole. */
#include "bench/fabric/fabric.h"
#include "core/records.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(rows)
{
    static void (*const writers[])(const struct records *r, FILE *out) = {records_csv, records_openmetrics};
    static const char *const fixtures[] = {"tests/fixtures/bench/fabric.csv", "tests/fixtures/bench/fabric.metrics"};
    struct verbs_fabric *f = full();
    struct records r = {.arena = f->arena};
    f->ports[3].name = NULL;
    f->ninterfaces = 4;
    verbs_fabric_records(f, &r);
    assert_int_equal(r.count, f->ntries + 4);
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        writers[i](&r, out);
        fclose(out);
        assert_whole(text, fixtures[i]);
        free(text);
    }
    verbs_fabric_free(f);
}

TEST_CASES(test_fabric_export)
