/* The variables of a profile: what is written, what was considered, what is refused. */
#include "bench/engines/engines.h"
#include "envgen/decide/decide.h"
#include "envgen/predict/predict.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define DEFAULT BENCH_DEFAULT

static const struct env_setting *find(const struct env_decisions *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name))
            return &d->settings[i];
    return NULL;
}

/* Untouched 100 µs, launch ib3 and call 3 as told. */
static struct env_decisions *settings_of(struct synthetic *s, double launch_us, double call_us, int *rc, struct err *e)
{
    static const struct topology nothing;
    struct env_rules rules;
    synthetic_add(s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, DEFAULT, "3", call_us, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, launch_us, BENCH_OK);
    struct env_decisions *d = synthetic_decide(s);
    assert_non_null(d);
    assert_int_equal(env_rules_of(d, &rules, e), 0);
    *rc = env_settings(d, &rules, &nothing, NULL, e);
    return d;
}

TEST_CASE(launch_and_calls)
{
    static const struct {
        double launch_us, call_us;
        const char *interface, *dynamic;
    } table[] = {{50, 100, "ib3", NULL}, {100, 50, NULL, "1"}, {100, 100, NULL, NULL}};
    for (size_t i = 0; i < 3; i++) {
        struct synthetic s = synthetic_new();
        struct err e = {0};
        int rc;
        struct env_decisions *d = settings_of(&s, table[i].launch_us, table[i].call_us, &rc, &e);
        assert_int_equal(rc, 0);
        const struct env_setting *interface = find(d, "btl_tcp_if_include");
        const struct env_setting *dynamic = find(d, "coll_tuned_use_dynamic_rules");
        const struct env_setting *file = find(d, "coll_tuned_dynamic_rules_filename");
        assert_non_null(interface);
        assert_non_null(dynamic);
        assert_non_null(file);
        assert_true(!interface->value == !table[i].interface);
        assert_true(!dynamic->value == !table[i].dynamic);
        assert_true(!file->value == !table[i].dynamic);
        assert_non_null(strstr(interface->why, "4 nodes, 4 ranks"));
        if (interface->value)
            assert_string_equal(interface->value, "ib3");
        assert_int_equal(file->in_profile, 1);
        assert_null(find(d, "NCCL_SOCKET_IFNAME"));
        assert_string_equal(interface->source, "measured on host memory");
        env_decisions_free(d);
        arena_free(s.arena);
    }
}

TEST_CASE(without_measurements_nothing_is_said_about_openmpi)
{
    static const struct topology nothing;
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct env_rules rules = {0};
    struct err e = {0};
    assert_int_equal(env_settings(d, &rules, &nothing, NULL, &e), 0);
    assert_int_equal(d->nsettings, 0);
    env_decisions_free(d);
}

/* What NCCL itself was measured with is NCCL's, and goes before what the topology says. */
TEST_CASE(nccl_launches)
{
    static const struct topology nothing;
    struct env_rules rules = {0};
    struct err e = {0};
    struct synthetic s = synthetic_new();
    s.engine = "nccl";
    s.library = "NCCL 2.27.5";
    static const struct bench_setting interface = {"NCCL_SOCKET_IFNAME", "=ib3"};
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "x", DEFAULT, 50, BENCH_OK);
    s.points.items[0].candidates[1].launch.settings = &interface;
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(env_settings(d, &rules, &nothing, NULL, &e), 0);
    assert_int_equal(d->nsettings, 1);
    assert_string_equal(d->settings[0].family, "nccl");
    assert_string_equal(d->settings[0].value, "=ib3");
    assert_string_equal(d->settings[0].source, "measured on GPUs");
    env_decisions_free(d);
    arena_free(s.arena);
}

/* A launch in which every class of nodes had its own list makes a setting of each class, and none for all. */
TEST_CASE(of_classes)
{
    static const struct topology nothing;
    struct env_rules rules = {0};
    struct err e = {0};
    struct synthetic s = synthetic_new();
    s.engine = "nccl";
    s.library = "NCCL 2.27.5";
    static const struct bench_setting hcas[] = {{"NCCL_IB_HCA@a", "=mlx5_0:1"}, {"NCCL_IB_HCA@b", "=mlx5_2:1"}};
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "x", DEFAULT, 50, BENCH_OK);
    s.points.items[0].candidates[1].launch.settings = hcas;
    s.points.items[0].candidates[1].launch.nsettings = 2;
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(env_settings(d, &rules, &nothing, NULL, &e), 0);
    assert_null(find(d, "NCCL_IB_HCA")->value);
    assert_null(find(d, "NCCL_IB_HCA")->node_class);
    for (int i = 1; i < 3; i++) {
        assert_string_equal(d->settings[i].name, "NCCL_IB_HCA");
        assert_string_equal(d->settings[i].node_class, i == 1 ? "a" : "b");
        assert_string_equal(d->settings[i].value, hcas[i - 1].value);
    }
    env_decisions_free(d);
    arena_free(s.arena);
}

/* What a model predicts is no measurement: it sets nothing unless it is asked for, and says so. */
TEST_CASE(predictions_set_nothing)
{
    static const struct topology nothing;
    for (int wanted = 0; wanted < 2; wanted++) {
        struct env_rules rules = {0};
        struct err e = {0};
        struct synthetic s = synthetic_new();
        s.engine = "model";
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 50, BENCH_OK);
        struct env_decisions *d = synthetic_decide(&s);
        d->predicted = wanted;
        assert_int_equal(env_settings(d, &rules, &nothing, NULL, &e), 0);
        const struct env_setting *x = find(d, "btl_tcp_if_include");
        assert_non_null(x);
        assert_string_equal(x->source, "predicted");
        if (wanted) {
            assert_string_equal(x->value, "ib3");
        } else {
            assert_null(x->value);
            assert_non_null(strstr(x->why, "btl_tcp_if_include=ib3 is a prediction"));
        }
        env_decisions_free(d);
        arena_free(s.arena);
    }
}

/* A hostile value of a launch that won is an error; of one that lost it is never written anyway. */
TEST_CASE(hostile_values)
{
    for (int won = 0; won < 2; won++) {
        struct synthetic s = synthetic_new();
        struct err e = {0};
        int rc;
        static const struct bench_setting bad = {"btl_tcp_if_include", "ib3; reboot"};
        synthetic_add(&s, COLL_BROADCAST, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_BROADCAST, 8, "bad", DEFAULT, won ? 10 : 200, BENCH_OK);
        s.points.items[0].candidates[1].launch.settings = &bad;
        struct env_decisions *d = settings_of(&s, 100, 100, &rc, &e);
        assert_int_equal(rc, won ? ERR_FAILED : 0);
        if (won)
            assert_non_null(strstr(e.text, "btl_tcp_if_include"));
        else
            assert_null(find(d, "btl_tcp_if_include")->value);
        env_decisions_free(d);
        arena_free(s.arena);
    }
}

static int prepare_group(void **state)
{
    bench_engine_register(&bench_engine_model);
    return 0;
}

TEST_CASES_WITHIN(test_settings, prepare_group, NULL)
