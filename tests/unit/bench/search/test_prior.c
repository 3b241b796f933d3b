/* The order of launches by prediction, on bundled machines. */
#include "bench/search/prior.h"
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
    assert_true(p.expected[1] == 0 && p.expected[2] == 0); /* the model is silent */
    assert_true(p.expected[3] < 1 && p.expected[4] < p.expected[3]);
    topo_free(t);
}

/* Of a call, by what the model would tune to: with channels, where that is faster than NCCL's own number. */
TEST_CASE(a_call_gains_what_the_best_one_does)
{
    static const uint64_t size[] = {(uint64_t)1 << 20};
    struct bench_plan p = {.prior_nodes = 4};
    struct err e;
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    assert_non_null(t);
    struct model_setup s = {.nccl = {.topology = t, .nodes = 4, .class_index = topo_gpu_class(t)}};
    const struct model *m = model_new(&s, t->arena, &e);
    const struct model_call own = {COLL_ALLGATHER, size[0], -1, -1, 0};
    struct model_time untouched, best;
    assert_int_equal(model_predict(m, &own, &untouched), 0);
    assert_int_equal(predict_best(m, COLL_ALLGATHER, size[0], &best), 0);
    cJSON *list = search_prior_json(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, &p,
                                    1u << COLL_ALLGATHER, size, 1, 5);
    assert_true(best.us < untouched.us);
    assert_float_equal(json_num(cJSON_GetArrayItem(list, 0), "gain", 0), untouched.us / best.us, 1e-9);
    cJSON_Delete(list);
    topo_free(t);
}

/* Calls and launches in one list, by what a second of each is expected to bring; the longer starts take, the later
 * launches that pay come. */
TEST_CASE(most_per_second_first)
{
    static const uint64_t sizes[] = {8, 65536, 16 << 20, (uint64_t)1 << 30};
    struct bench_knobs launches[5];
    struct err e;
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    struct bench_plan p = plan_of(launches);
    assert_non_null(t);
    p.prior_nodes = 4;
    p.expected = (double[]){1, 1.2, 0, 0.5, 0};
    cJSON *quick = search_prior_json(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, &p,
                                     1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER, sizes, 4, 1);
    cJSON *slow = search_prior_json(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, &p,
                                    1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER, sizes, 4, 30),
          *o;
    double before = INFINITY;
    assert_int_equal(cJSON_GetArraySize(quick), 2 * 4 + 2); /* two launches that something is known of */
    assert_int_equal(cJSON_GetArraySize(slow), 2 * 4 + 2);
    cJSON_ArrayForEach(o, quick)
    {
        double per_s = json_num(o, "gain_per_s", NAN);
        assert_true(per_s <= before);
        assert_true(json_str(o, "launch", NULL) || json_num(o, "gain", 0) >= 1);
        double bytes = json_num(o, "bytes", 0);
        assert_true(json_str(o, "launch", NULL)
                        ? bytes == 0
                        : bytes == 8 || bytes == 65536 || bytes == 16 << 20 || bytes == 1 << 30);
        before = per_s;
    }
    assert_string_equal(json_str(o = cJSON_GetArrayItem(quick, 0), "launch", ""), "sockets");
    assert_float_equal(json_num(o, "gain_per_s", 0), log(1.2) / 1.5, 1e-9);
    assert_string_equal(json_str(cJSON_GetArrayItem(quick, 9), "launch", ""), "qps");
    assert_true(json_num(cJSON_GetArrayItem(slow, 0), "gain_per_s", 0) < json_num(o, "gain_per_s", 0));
    cJSON_Delete(quick);
    cJSON_Delete(slow);
    p.prior_nodes = 0;
    p.expected = NULL;
    assert_null(search_prior_json(&(struct bench_setup){.topology = t, .predictor = &predict_predictor}, &p,
                                  1u << COLL_ALLREDUCE, sizes, 4, 1));
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
