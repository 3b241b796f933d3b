/* What --predicted may write: calls that the held-out record has decided rightly on such machines, nothing else. */
#include "core/coll.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static const struct bench_setting ring_simple[] = {{NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "simple"}};
static const struct bench_setting ring_ll[] = {{NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "ll"}};
static const struct bench_setting channels[] = {
    {NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "simple"}, {NCCL_SET_CHANNELS, "8"}};

static int proves(const char *machine, struct bench_point p, const struct bench_setting *settings, int n)
{
    struct err e = {0};
    struct topology *t = machine_topology(machine, 1, &e);
    const struct bench_knobs call = {"call", settings, n};
    assert_non_null(t);
    int yes = predict_is_proven(predict_record_of(t), &p, &call);
    topo_free(t);
    return yes;
}

TEST_CASE(by_kind_of_machine)
{
    const struct bench_point p = {
        .library = "NCCL 2.27.5, predicted", .coll = COLL_ALLREDUCE, .bytes = 16 << 20, .nodes = 1, .ranks = 8};
    static const char *const none[] = {"dgx-b200",    "dgx-a100", "dgx-h100", "aws-p5", "azure-ndv5",
                                       "gb200-nvl72", "mi300x",   "4x4090",   "8xl40s"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(proves(none[i], p, ring_simple, 2));
}

TEST_CASE(by_call)
{
    const struct bench_point p = {
        .library = "NCCL 2.27.5, predicted", .coll = COLL_ALLREDUCE, .bytes = 16 << 20, .nodes = 1, .ranks = 4};
    struct bench_point other = p;
    assert_true(proves("4xl40s-pcie", p, ring_simple, 2));
    assert_false(proves("4xl40s-pcie", p, ring_ll, 2)); /* of that size nothing was measured to gain by it */
    assert_false(proves("4xl40s-pcie", p, channels, 3));
    other.library = "NCCL 2.18.6, predicted"; /* asks no tuner */
    assert_false(proves("4xl40s-pcie", other, ring_simple, 2));
    other = p;
    other.coll = COLL_BROADCAST;
    assert_false(proves("4xl40s-pcie", other, ring_simple, 2));
    other = p;
    other.bytes = 256 << 20;
    assert_false(proves("4xl40s-pcie", other, ring_simple, 2));
    other = p;
    other.nodes = 2;
    assert_false(proves("4xl40s-pcie", other, ring_simple, 2));
    other = p;
    other.others = 1;
    assert_false(proves("4xl40s-pcie", other, ring_simple, 2));
}

TEST_CASES(test_record)
