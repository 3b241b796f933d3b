/* Findings of lint: where they stand, how they are named, what settings cost. */
#include "core/arena.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/predict/predict.h"
#include "lint/lint.h"
#include "probe/machines/machines.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tuner/table/table.h"

TEST_CASE(rules_have_distinct_codes)
{
    int n;
    const struct finding_kind *kinds = lint_kinds(&n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(strlen(kinds[i].id), 5);
        for (int k = 0; k < i; k++) {
            assert_true(strcmp(kinds[i].id, kinds[k].id) > 0);
            assert_string_not_equal(kinds[i].name, kinds[k].name);
        }
    }
}

TEST_CASE(manual_lists_every_rule)
{
    struct arena *a = arena_new();
    int n;
    const struct finding_kind *kinds = lint_kinds(&n);
    char *page;
    size_t bytes;
    assert_int_equal(file_read_text("build/man/nccltune-lint.1", FILE_LIMIT, a, &page, &bytes, NULL), 0);
    for (int i = 0; i < n; i++)
        if (!strstr(page, kinds[i].id))
            fail_msg("%s %s is not in build/man/nccltune-lint.1", kinds[i].id, kinds[i].name);
    arena_free(a);
}

TEST_CASE(finding_names_its_place)
{
    struct lint_options o = {.rccl = -1};
    struct finding f;
    static const char text[] = "# first\nA=é export NCCL_IB_TIMEOUT=40\n";
    struct lint *l = lint_new(&o);
    assert_int_equal(lint_read_text(l, "job.sh", text, strlen(text), NULL, NULL), 0);
    lint_check(l);
    assert_int_equal(lint_finding(l, 0, &f), 1);
    assert_string_equal(f.file, "job.sh");
    assert_string_equal(f.subject, "NCCL_IB_TIMEOUT");
    assert_string_equal(f.value, "40");
    assert_int_equal(f.line, 2);
    assert_int_equal(f.column, 12);
    assert_int_equal(f.severity, FINDING_ERROR);
    assert_int_equal(lint_count(l, FINDING_ERROR), 1);
    assert_int_equal(lint_finding(l, 1, &f), 0);
    lint_free(l);
}

TEST_CASE(process_environment_is_read)
{
    struct lint_options o = {.rccl = -1};
    struct finding f;
    static const char block[] = "PATH=/bin\0NCCL_IB_TIMEOUT=40\0NCCL_BROKEN\0";
    struct lint *l = lint_new(&o);
    assert_int_equal(lint_read_environ(l, "process 1", block, sizeof(block) - 1, NULL), 0);
    lint_check(l);
    assert_int_equal(lint_settings(l), 1);
    assert_int_equal(lint_finding(l, 0, &f), 1);
    assert_string_equal(f.id, "NT301");
    assert_int_equal(f.line, 0);
    lint_free(l);
}

/* What a setting costs on a known machine: said with the finding that there is, else as one of its own, and not of
 * what never reaches the ranks. */
TEST_CASE(what_settings_cost)
{
    static const char text[] = "export NCCL_P2P_DISABLE=1\nexport NCCL_MAX_CTAS=1\nNCCL_IB_HCA=mlx5_ib0\n"
                               "export NCCL_P2P_LEVEL=NVL\nsrun ./train\n";
    struct err e = {0};
    struct topology *t = machine_topology("azure-ndv4", 4, &e);
    struct lint *l = lint_new(&(struct lint_options){.rccl = -1, .topology = t, .predictor = &predict_predictor});
    struct finding f;
    int p2p = 0, channels = 0;
    assert_non_null(t);
    assert_int_equal(lint_read_text(l, "job.sh", text, sizeof text - 1, "shell", &e), 0);
    lint_check(l);
    for (size_t i = 0; lint_finding(l, i, &f); i++) {
        int priced = strstr(f.text, "On 4 of these nodes an AllReduce costs up to ") != NULL;
        p2p += !strcmp(f.id, "NT316") && priced;
        channels += !strcmp(f.subject, "NCCL_MAX_CTAS") && priced;
        assert_false(priced && (!strcmp(f.subject, "NCCL_IB_HCA") || !strcmp(f.subject, "NCCL_P2P_LEVEL")));
    }
    assert_int_equal(p2p, 1);
    assert_int_equal(channels, 1);
    lint_free(l);
    topo_free(t);
}

TEST_CASES(test_findings)
