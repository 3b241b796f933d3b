/* Whom the models are asked about: which class, and under which of a profile's settings. */
#include "envgen/decide/decide.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/machine.h"

TEST_CASE(settings_that_the_model_knows_count)
{
    struct env_setting settings[] = {
        {.family = "nccl", .name = "NCCL_NVLS_ENABLE", .value = "0"},
        {.family = "nccl", .name = "NCCL_IB_QPS_PER_CONNECTION", .value = "4"},
        {.family = "nccl", .name = "NCCL_MAX_CTAS", .value = "8"},
        {.family = "nccl", .name = "NCCL_MIN_CTAS"},
        {.family = "openmpi", .name = "NCCL_PXN_DISABLE", .value = "1"},
        {.family = "nccl", .name = "NCCL_IB_HCA", .value = "=mlx5_0:1", .node_class = "another"},
    };
    struct nccl_setup s;
    decisions->settings = settings;
    decisions->nsettings = sizeof settings / sizeof *settings;
    assert_int_equal(env_model_setup(decisions, machine, 0, ENV_UNDER_NOTHING, decisions->arena, &s), 0);
    assert_int_equal(s.version, 22809);
    assert_int_equal(s.no_nvls + s.max_channels + s.no_pxn + s.nhcas, 0);
    assert_int_equal(env_model_setup(decisions, machine, 22105, ENV_UNDER_SETTINGS, decisions->arena, &s), 0);
    assert_int_equal(s.version, 22105);
    assert_int_equal(s.no_nvls, 1);
    assert_int_equal(s.max_channels, 8);
    assert_int_equal(s.min_channels + s.no_pxn + s.nhcas, 0);
}

TEST_CASE(a_predicted_launch_is_a_choice_and_no_setting)
{
    struct bench_setting setting = {"NCCL_PXN_DISABLE", "1"};
    struct env_launch launches[] = {{.knobs = {.label = BENCH_DEFAULT}}, {.knobs = {"pxn=off", &setting, 1}}};
    struct env_shape shape = {.engine = "model", .nodes = 2, .ranks = 16, .launches = launches, .chosen = 1};
    struct nccl_setup s;
    decisions->shapes = &shape;
    decisions->nshapes = 1;
    assert_int_equal(env_model_setup(decisions, machine, 0, ENV_UNDER_SETTINGS, decisions->arena, &s), 0);
    assert_int_equal(s.no_pxn, 0);
    assert_int_equal(env_model_setup(decisions, machine, 0, ENV_UNDER_CHOICES, decisions->arena, &s), 0);
    assert_int_equal(s.no_pxn, 1);
}

TEST_CASE(a_machine_without_gpus_is_nobody)
{
    struct topology *t = topo_new();
    struct nccl_setup s;
    t->classes = ARENA_NEW(t->arena, struct topo_class);
    t->nclasses = 1;
    assert_int_equal(env_model_setup(decisions, t, 0, ENV_UNDER_NOTHING, t->arena, &s), -1);
    topo_free(t);
}

TEST_CASES_EACH(test_model_setup, set_up, tear_down)
