/* What single settings cost, and how that is said. */
#include <math.h>

#include "core/coll.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static int cost_of(const char *machine, int nodes, const char *name, const char *value, struct setting_cost *c)
{
    struct err e = {0};
    struct topology *t = machine_topology(machine, nodes, &e);
    struct nccl_setup base = {.topology = t, .nodes = nodes};
    struct bench_setting s = {name, value};
    int rc = predict_setting_share(&base, &s, 1, 0, COLL_ALLREDUCE, c);
    topo_free(t);
    return rc;
}

TEST_CASE(what_is_sure)
{
    struct setting_cost c;
    assert_int_equal(cost_of("azure-ndv4", 2, "NCCL_IB_HCA", "mlx5_ib0,mlx5_ib1,mlx5_ib2,mlx5_ib3", &c), 0);
    assert_true(c.factor > 1.8 && c.factor < 2.2);
    assert_true(c.from_bytes >= (uint64_t)1 << 20 && c.from_bytes <= (uint64_t)64 << 20 && c.to_bytes == 0);
    assert_int_equal(cost_of("dgx-a100", 1, "NCCL_P2P_DISABLE", "1", &c), 0);
    assert_true(c.factor > 4);
    /* On one node no HCA is used, and what NCCL does anyway changes nothing. */
    c = (struct setting_cost){0};
    assert_int_equal(cost_of("azure-ndv4", 1, "NCCL_IB_HCA", "mlx5_ib0", &c), 0);
    assert_true(c.factor == 1 && c.share == 1 && c.of_all == 1 && c.at_bytes == 0);
    assert_int_equal(cost_of("azure-ndv4", 2, "NCCL_P2P_LEVEL", "PXB", &c), 0);
    assert_true(c.factor == 1);
    assert_int_equal(cost_of("azure-ndv4", 2, "NCCL_IB_TIMEOUT", "22", &c), -1);
    /* What NCCL does not offer there at all costs nobody knows what. */
    assert_int_equal(cost_of("azure-ndv4", 2, "NCCL_ALGO", "CollnetDirect", &c), -1);
}

/* Exact ranges of sizes and factors, to three digits. */
TEST_CASE(ranges)
{
    static const struct {
        const char *machine;
        int nodes;
        const char *name, *value;
        double factor;
        uint64_t from, to;
    } cases[] = {
        {"azure-ndv4", 2, "NCCL_IB_HCA", "mlx5_ib0", 7.746, 65536, 0},
        {"azure-ndv4", 2, "NCCL_PROTO", "LL", 1.933, 67108864, 0},
        {"azure-ndv4", 2, "NCCL_PROTO", "Simple", 3.285, 0, 1048576},
        {"azure-ndv4", 4, "NCCL_ALGO", "Ring", 3.237, 0, 8388608},
        {"dgx-h100", 1, "NCCL_NVLS_ENABLE", "0", 1.295, 536870912, 0},
        {"dgx-h100", 2, "NCCL_MAX_CTAS", "1", 5.624, 131072, 0},
        {"dgx-a100", 2, "NCCL_IB_DISABLE", "1", 57.5, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct setting_cost c;
        assert_int_equal(cost_of(cases[i].machine, cases[i].nodes, cases[i].name, cases[i].value, &c), 0);
        if (c.from_bytes != cases[i].from || c.to_bytes != cases[i].to ||
            fabs(c.factor - cases[i].factor) > 0.006 * cases[i].factor)
            fail_msg("%s=%s: %.4g from %llu to %llu", cases[i].name, cases[i].value, c.factor,
                     (unsigned long long)c.from_bytes, (unsigned long long)c.to_bytes);
    }
}

/* Two settings that cost little alone and much together share what they cost; what a later line overrides has none. */
TEST_CASE(parts_multiply_to_the_whole)
{
    static const struct bench_setting job[] = {{"NCCL_IB_HCA", "mlx5_0"},
                                               {"NCCL_P2P_DISABLE", "1"},
                                               {"NCCL_ALGO", "Ring,Tree"},
                                               {"NCCL_IB_HCA", "mlx5_0,mlx5_3"}};
    struct err e = {0};
    struct topology *t = machine_topology("dgx-h100", 2, &e);
    const struct nccl_setup base = {.topology = t, .nodes = 2};
    struct setting_cost c;
    double product = 1;
    for (int i = 0; i < 4; i++) {
        int rc = predict_setting_share(&base, job, 4, i, COLL_ALLREDUCE, &c);
        assert_int_equal(rc, i ? 0 : -1);
        product *= rc ? 1 : c.share;
    }
    assert_true(c.of_all > 10);
    assert_true(fabs(log(product / c.of_all)) < 1e-9);
    topo_free(t);
}

TEST_CASE(sentences)
{
    static const struct {
        struct setting_cost cost;
        const char *text;
    } cases[] = {
        {{2, 4 << 20, 0}, "costs up to 2.0x from 4 MiB up"},
        {{0.5, 0, 65536}, "is up to 2.0x faster up to 64 KiB"},
        {{8.04, 0, 0}, "costs up to 8.0x at all sizes"},
        {{1.5, 1024, 65536}, "costs up to 1.5x from 1 KiB to 64 KiB"},
        {{1, 0, 0}, "makes no clear difference"},
    };
    char text[SETTING_COST_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(predict_setting_cost_text(&cases[i].cost, text), cases[i].text);
}

TEST_CASES(test_setting_cost)
