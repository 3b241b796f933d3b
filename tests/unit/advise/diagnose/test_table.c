/* advise/diagnose/table.c: columns found by name, kernels told from operators. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(kernels_not_operators)
{
    struct diagnosis *d = read_text("Name    Self CPU    CPU total    Self CUDA    CUDA total    # of Calls\n"
                                    "-----   ---------   ----------   ----------   -----------   -----------\n"
                                    "nccl:all_reduce    0.000us    0.000us    8.000ms    8.000ms    4\n"
                                    "void gemm kernel    0.000us    0.000us    32.000ms    32.000ms    4\n"
                                    "ncclDevKernel_AllReduce_Sum    0.000us    0.000us    8.000ms    8.000ms    4\n"
                                    "-----   ---------   ----------   ----------   -----------   -----------\n"
                                    "Self CPU time total: 99.000ms\nSelf CUDA time total: 40.000ms\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_near(r->sources[0].communication_share, 0.2, 1e-9);
    assert_near(r->sources[0].ratio, 0.25, 1e-9);
    diagnose_free(d);
}

TEST_CASE(units_differ_by_row)
{
    struct diagnosis *d = read_text("Name    Self CPU    Self CUDA    # of Calls\n"
                                    "ncclKernel_AllGather    0.000us    500.000us    4\n"
                                    "ncclKernel_Broadcast    0.000us    0.0015s    4\n"
                                    "Self CUDA time total: 10.000ms\n");
    assert_near(diagnose_finish(d)->sources[0].communication_share, 0.2, 1e-9);
    diagnose_free(d);
}

/* On a machine without GPUs there is no such column, and a table without an end has no total. */
TEST_CASE(nothing_to_say)
{
    static const char *const texts[] = {
        "Name    Self CPU    CPU total    # of Calls\naten::mm    1.000ms    1.000ms    1\nSelf CPU time total: 9ms\n",
        "Name    Self CPU    Self CUDA    # of Calls\nncclKernel_AllGather    0.000us    500.000us    4\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diagnosis *d = diagnose_new();
        struct err e = {0};
        feed(d, texts[i], &e);
        assert_int_equal(diagnose_finish(d)->nsources, 0);
        diagnose_free(d);
    }
}

TEST_CASES(test_table)
