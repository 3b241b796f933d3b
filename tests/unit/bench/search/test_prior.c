/* The order of launches by prediction, on bundled machines. */
#include "bench/search/study.h"
#include "core/coll.h"
#include "core/json.h"
#include "envgen/predict/predict.h"
#include "model/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static const struct bench_setting one[] = {{"NCCL_IB_HCA", "=mlx5_0:1"}}, qps[] = {{"NCCL_IB_QPS_PER_CONNECTION", "4"}},
                                  none[] = {{"NCCL_IB_DISABLE", "1"}}, many[] = {{"NCCL_BUFFSIZE", "8388608"}};

static struct bench_plan plan_of(struct bench_knobs *launches)
{
    launches[0] = (struct bench_knobs){.label = "default"};
    launches[1] = (struct bench_knobs){"sockets", none, 1};
    launches[2] = (struct bench_knobs){"one", one, 1};
    launches[3] = (struct bench_knobs){"qps", qps, 1};
    launches[4] = (struct bench_knobs){"buffer", many, 1};
    return (struct bench_plan){.launches = launches, .nlaunches = 5};
}

TEST_CASE(promising_ones_first)
{
    static const char *const order[] = {"default", "qps", "buffer", "one", "sockets"};
    struct bench_knobs launches[5];
    struct bench_plan p = plan_of(launches);
    struct err e;
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    assert_non_null(t);
    assert_int_equal(
        search_prior_launches(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, 4, t->arena, &p),
        2);
    for (int i = 0; i < 5; i++)
        assert_string_equal(p.launches[i].label, order[i]);
    topo_free(t);
}

/* On one node the network is not used: sockets and one HCA are as good as any. */
TEST_CASE(nothing_to_tell_apart)
{
    struct bench_knobs launches[5];
    struct bench_plan p = plan_of(launches);
    struct err e;
    struct topology *t = machine_topology("dgx-h100", 1, &e);
    assert_non_null(t);
    search_prior_launches(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, 1, t->arena, &p);
    assert_string_equal(p.launches[0].label, "default");
    assert_string_equal(p.launches[1].label, "sockets");
    topo_free(t);
}

TEST_CASE(the_default_stays_first)
{
    struct bench_knobs launches[] = {{"default", none, 1}, {.label = "faster"}};
    struct bench_plan p = {.launches = launches, .nlaunches = 2};
    struct err e;
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    assert_non_null(t);
    assert_int_equal(
        search_prior_launches(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, 4, t->arena, &p),
        1);
    assert_string_equal(p.launches[0].label, "default");
    topo_free(t);
}

TEST_CASE(without_gpus_nothing_moves)
{
    struct bench_knobs launches[5];
    struct bench_plan p = plan_of(launches);
    struct topo_class c = {.name = "bare"};
    struct topology t = {.classes = &c, .nclasses = 1};
    assert_int_equal(
        search_prior_launches(&(struct bench_setup){.topology = &t, .predictor = &predict_predictor}, 4, NULL, &p), 0);
    assert_int_equal(
        search_prior_launches(&(struct bench_setup){.topology = NULL, .predictor = &predict_predictor}, 4, NULL, &p),
        0);
    assert_string_equal(p.launches[1].label, "sockets");
}

TEST_CASES(test_prior)
