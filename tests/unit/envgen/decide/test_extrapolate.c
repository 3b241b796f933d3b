/* Numbers of nodes that were not measured: results that follow the model but for one call, which is twice as fast as
 * the model says, on a fabric a fifth slower than it says. */
#include "core/coll.h"
#include "envgen/decide/decide.h"
#include "model/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

#define SLOWER 1.2
#define FASTER 0.5

static const uint64_t sizes[] = {1 << 20, 4 << 20, 16 << 20, 64 << 20};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static const struct {
    const char *label;
    struct bench_setting settings[2];
    int algo, proto;
    double factor;
} calls[] = {
    {"default", {{0}}, -1, -1, 1},
    {"tree/ll128", {{"algorithm", "tree"}, {"protocol", "ll128"}}, ALGO_TREE, PROTO_LL128, FASTER},
    {"ring/ll", {{"algorithm", "ring"}, {"protocol", "ll"}}, ALGO_RING, PROTO_LL, 1},
    {"ring/ll128", {{"algorithm", "ring"}, {"protocol", "ll128"}}, ALGO_RING, PROTO_LL128, 1},
    {"ring/simple", {{"algorithm", "ring"}, {"protocol", "simple"}}, ALGO_RING, PROTO_SIMPLE, 1},
    {"tree/simple", {{"algorithm", "tree"}, {"protocol", "simple"}}, ALGO_TREE, PROTO_SIMPLE, 1},
};
#define CALLS ((int)(sizeof calls / sizeof *calls))

static struct bench_interval around(double us)
{
    return (struct bench_interval){us, us * 0.99, us * 1.01, 9, 0};
}

/* A measured shape of AllReduce. */
static struct env_shape shape_of(struct arena *a, const struct topology *t, int nodes)
{
    struct err e = {0};
    struct model_setup s = {.nccl = {.topology = t, .nodes = nodes, .version = 22809}};
    struct model *m = model_new(&s, a, &e);
    assert_non_null(m);
    struct env_coll *c = ARENA_NEW(a, struct env_coll);
    struct env_range *range = ARENA_NEW(a, struct env_range);
    *c = (struct env_coll){COLL_ALLREDUCE, range, 1};
    *range = (struct env_range){0, ENV_OPEN, {.label = "default"}, {0}, "", NULL, SIZES};
    range->points = arena_alloc(a, SIZES * sizeof *range->points);
    for (int i = 0; i < SIZES; i++) {
        struct env_option *options = arena_alloc(a, CALLS * sizeof *options);
        range->points[i] = (struct env_point){.bytes = sizes[i], .options = options, .noptions = CALLS};
        for (int k = 0; k < CALLS; k++) {
            struct model_call call = {COLL_ALLREDUCE, sizes[i], calls[k].algo, calls[k].proto, 0};
            struct model_time time;
            assert_int_equal(model_predict(m, &call, &time), 0);
            options[k].call = (struct bench_knobs){calls[k].label, calls[k].settings, k ? 2 : 0};
            options[k].time_us = around(time.us * SLOWER * calls[k].factor);
            options[k].gain = bench_gain(options[0].time_us, options[k].time_us);
            options[k].gain.sure = options[k].gain.low;
        }
    }
    return (struct env_shape){.engine = "nccl",
                              .library = "NCCL 2.28.9",
                              .nodes = nodes,
                              .ranks = 8 * nodes,
                              .chosen = 0,
                              .launches = ARENA_NEW(a, struct env_launch),
                              .nlaunches = 1,
                              .colls = c,
                              .ncolls = 1};
}

struct fixture {
    struct topology *topology;
    struct env_decisions *d;
};

static struct fixture begin(const int *nodes, int n, int reach)
{
    struct err e = {0};
    struct fixture f = {machine_topology("dgx-h100", 1, &e), env_decisions_new(ENV_MARGIN)};
    struct arena *a = f.d->arena;
    f.d->extrapolate_nodes = reach;
    f.d->shapes = arena_alloc(a, (size_t)n * sizeof *f.d->shapes);
    for (int i = 0; i < n; i++) {
        f.d->shapes[i] = shape_of(a, f.topology, nodes[i]);
        f.d->shapes[i].launches[0].knobs.label = "default";
    }
    f.d->nshapes = n;
    return f;
}

static void end(struct fixture *f)
{
    env_decisions_free(f->d);
    topo_free(f->topology);
}

static const int measured[] = {2, 4, 8};

TEST_CASE(measured_gains_are_carried_on)
{
    struct fixture f = begin(measured, 3, 40);
    env_extrapolate(f.d, f.topology, NULL);
    assert_int_equal(f.d->fit.used, 3 * SIZES * CALLS);
    assert_true(f.d->fit.spread < f.d->fit.before);
    assert_true(f.d->fit.left_out >= 1 && f.d->fit.left_out < SLOWER);
    assert_true(f.d->nextrapolations > 0);
    int beyond = 0;
    for (int i = 0; i < f.d->nextrapolations; i++) {
        const struct env_extrapolation *r = &f.d->extrapolations[i];
        if (r->nodes_low < 8)
            continue;
        beyond++;
        assert_true(r->nodes_low > 8 && r->nodes_high <= 40 && r->nodes_high < 2 * r->nodes_low);
        assert_int_equal(r->ranks_per_node, 8);
        assert_string_equal(r->call.label, "tree/ll128");
        assert_true(r->gain.predicted && r->gain.low >= 1 + ENV_MARGIN);
        assert_true(r->gain.low < r->gain.median && r->gain.median < r->gain.high);
        assert_non_null(strstr(r->why, "carried on from 8 nodes by the model fitted to 72 results"));
    }
    assert_true(beyond > 0);
    end(&f);
}

/* The call that wins on both neighbours, at least by the lesser of their gains. */
TEST_CASE(between_two_both_count)
{
    struct fixture f = begin(measured, 3, 8);
    int three = 0, five = 0;
    env_extrapolate(f.d, f.topology, NULL);
    for (int i = 0; i < f.d->nextrapolations; i++) {
        const struct env_extrapolation *r = &f.d->extrapolations[i];
        assert_true((r->nodes_low == 3 && r->nodes_high == 3) || (r->nodes_low == 5 && r->nodes_high == 7));
        assert_string_equal(r->call.label, "tree/ll128");
        assert_non_null(strstr(r->why, r->nodes_low == 3 ? "carried on from 2 and 4 nodes" : "from 4 and 8 nodes"));
        three += r->nodes_low == 3;
        five += r->nodes_low == 5;
    }
    assert_true(three > 0 && five > 0);
    end(&f);
}

/* What only one of the neighbours was measured with is not carried between them. */
TEST_CASE(between_two_one_is_not_enough)
{
    static const int two[] = {4, 8};
    struct fixture f = begin(two, 2, 8);
    for (int i = 0; i < SIZES; i++)
        f.d->shapes[1].colls[0].ranges[0].points[i].noptions = 1;
    env_extrapolate(f.d, f.topology, NULL);
    assert_true(f.d->fit.used > 0);
    assert_int_equal(f.d->nextrapolations, 0);
    end(&f);
}

TEST_CASE(they_become_rules)
{
    struct fixture f = begin(measured, 3, 40);
    struct env_table_rules rules;
    struct err e = {0};
    int found = 0;
    env_extrapolate(f.d, f.topology, NULL);
    assert_int_equal(env_table_rules_of(f.d, f.d->arena, &rules, &e), 0);
    for (int i = 0; i < rules.count; i++) {
        const struct env_table_rule *r = rules.items[i];
        if (r->basis != ENV_EXTRAPOLATED && r->basis != ENV_FITTED)
            continue;
        found++;
        assert_int_equal(r->basis, r->nodes_low > 8 ? ENV_EXTRAPOLATED : ENV_FITTED);
        assert_int_equal(r->algorithm, ALGO_TREE);
        assert_int_equal(r->protocol, PROTO_LL128);
        assert_int_equal(r->base, r->nodes_low > 8 ? 8 : r->nodes_low > 4 ? 4 : 2);
        assert_int_equal(r->ranks_low, 8 * r->nodes_low);
        assert_int_equal(r->ranks_high, 8 * r->nodes_high);
    }
    assert_int_equal(found, f.d->nextrapolations);
    end(&f);
}

/* Of one number of nodes nothing is known about others: the interval is that of a machine that was never seen. */
TEST_CASE(one_number_of_nodes)
{
    static const int one[] = {8};
    struct fixture many = begin(measured, 3, 16), f = begin(one, 1, 16);
    env_extrapolate(f.d, f.topology, NULL);
    env_extrapolate(many.d, many.topology, NULL);
    assert_true(f.d->fit.used > 0);
    assert_near(f.d->fit.left_out, 0, 0);
    assert_true(f.d->fit.factors.rest >= 1 && many.d->fit.factors.rest < 1);
    assert_true(many.d->nextrapolations > 0);
    for (int i = 0; i < many.d->nextrapolations && f.d->nextrapolations; i++)
        if (many.d->extrapolations[i].nodes_low == 9)
            assert_true(f.d->extrapolations[0].gain.low < many.d->extrapolations[i].gain.low);
    end(&many);
    end(&f);
}

TEST_CASE(without_gpus_nothing_is_carried)
{
    struct fixture f = begin(measured, 3, 40);
    struct topo_class bare = {.name = "bare"};
    struct topology t = {.classes = &bare, .nclasses = 1};
    env_extrapolate(f.d, &t, NULL);
    assert_int_equal(f.d->fit.used, 0);
    assert_int_equal(f.d->nextrapolations, 0);
    end(&f);
}

TEST_CASE(only_where_it_is_asked_for)
{
    struct fixture f = begin(measured, 3, 0), g = begin(measured, 3, 8);
    env_extrapolate(f.d, f.topology, NULL);
    env_extrapolate(g.d, g.topology, NULL);
    assert_int_equal(f.d->fit.used, 0);
    assert_int_equal(f.d->nextrapolations, 0);
    for (int i = 0; i < g.d->nextrapolations; i++)
        assert_true(g.d->extrapolations[i].nodes_high < 8);
    end(&f);
    end(&g);
}

TEST_CASES(test_extrapolate)
