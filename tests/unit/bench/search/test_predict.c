/* Predictions into a journal, by an engine whose times come from a formula. */
#include "bench/search/study.h"
#include "tests/lib/in_use.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

/* "late" wins above 64 KiB, "awful" is offered nowhere; launch "fast" is ten times as fast. */
static int predict(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan;
    if (!strcmp(call->label, "awful") || !strcmp(launch->label, "impossible"))
        return -1;
    g->us = fake_time_us(launch->label, call->label, at->bytes) * at->nodes * (1 + at->others);
    g->low_us = g->us / 2;
    g->high_us = g->us * 2;
    snprintf(g->detail, sizeof g->detail, "bound by a formula");
    return 0;
}

static const struct bench_predict_ops ops = {.predict = predict};
static const struct bench_engine engine = {.name = "formula", .predicts = &ops};
static const int nodes[] = {2, 4};

static void begin(struct fake_run *f, int resume)
{
    static const char *const launches[] = {"slow", "fast", "impossible"};
    fake_begin(f, resume, launches, 3);
    fake.fast_launch = "fast";
    fake.slow_launches = 2;
    f->study.engine = &engine;
    f->study.plan.nodes = nodes;
    f->study.plan.nnodes = 2;
    f->study.plan.ranks_per_node = 8;
    f->study.plan.library = "a formula";
}

/* What the run has written. */
static struct bench_results *written(void)
{
    struct err e;
    struct bench_results *r = bench_results_load(fake_path, NULL, &e);
    assert_non_null(r);
    return r;
}

static int count(const struct bench_results *r, int n, const char *launch, const char *call, uint64_t bytes)
{
    int found = 0;
    for (int i = 0; i < r->count; i++)
        found += r->items[i].nodes == n && (!launch || !strcmp(r->items[i].launch.label, launch)) &&
                 (!call || !strcmp(r->items[i].call.label, call)) && (!bytes || r->items[i].bytes == bytes);
    return found;
}

TEST_CASE(what_is_written)
{
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    assert_int_equal(bench_predict(&f.study, &e), 0);
    int sizes = f.study.nsizes;
    struct bench_results *r = written();
    assert_int_equal(f.summary.measured, r->count);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count(r, nodes[i], BENCH_DEFAULT, BENCH_DEFAULT, 0), sizes);
        assert_int_equal(count(r, nodes[i], "slow", BENCH_DEFAULT, 0), sizes);
        /* All calls of the default launch and of the best one, of the others the best call alone. */
        assert_int_equal(count(r, nodes[i], BENCH_DEFAULT, NULL, 8), 4);
        assert_int_equal(count(r, nodes[i], "fast", NULL, 8), 4);
        assert_int_equal(count(r, nodes[i], "slow", NULL, 8), 2);
        assert_int_equal(count(r, nodes[i], "slow", "early", 8), 1);
        assert_int_equal(count(r, nodes[i], "slow", "late", 1 << 20), 1);
        assert_int_equal(count(r, nodes[i], "impossible", NULL, 0), 0);
        assert_int_equal(count(r, nodes[i], NULL, "awful", 0), 0);
    }
    const struct bench_result *first = &r->items[0];
    assert_int_equal(first->ranks, 16);
    assert_int_equal(first->ntimes, 1);
    assert_true(first->low_us > 0 && first->high_us > first->times_us[0]);
    assert_string_equal(first->detail, "bound by a formula");
    bench_results_free(r);
    fake_end(&f);
}

/* "near" is almost the best, "far" is not. */
static int by_label(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                    const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan;
    (void)at;
    (void)launch;
    g->us = !strncmp(call->label, "far", 3) ? 1000 : 100;
    g->low_us = g->high_us = g->us;
    return 0;
}

/* Variations of a call are predicted where the call is any good, and from the size on where they mean something. */
TEST_CASE(refinements)
{
    const struct bench_engine labels = {.name = "labels", .predicts = &(struct bench_predict_ops){.predict = by_label}};
    struct bench_call calls[] = {
        {COLL_ALLREDUCE, 0, {.label = BENCH_DEFAULT}, NULL}, {COLL_ALLREDUCE, 0, {.label = "near"}, NULL},
        {COLL_ALLREDUCE, 4096, {.label = "near/2"}, "near"}, {COLL_ALLREDUCE, 0, {.label = "far"}, NULL},
        {COLL_ALLREDUCE, 0, {.label = "far/2"}, "far"},
    };
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    f.study.engine = &labels;
    f.study.plan.calls = calls;
    f.study.plan.ncalls = 5;
    assert_int_equal(bench_predict(&f.study, &e), 0);
    struct bench_results *r = written();
    assert_int_equal(count(r, 2, BENCH_DEFAULT, "far", 0), f.study.nsizes);
    assert_int_equal(count(r, 2, BENCH_DEFAULT, "far/2", 0), 0);
    assert_int_equal(count(r, 2, BENCH_DEFAULT, "near/2", 8), 0);
    assert_int_equal(count(r, 2, BENCH_DEFAULT, "near/2", 1 << 20), 1);
    bench_results_free(r);
    fake_end(&f);
}

TEST_CASE(resuming_adds_nothing_twice)
{
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    assert_int_equal(bench_predict(&f.study, &e), 0);
    fake_end(&f);
    begin(&f, 1);
    assert_int_equal(bench_predict(&f.study, &e), 0);
    assert_int_equal(f.summary.measured, 0);
    fake_end(&f);
}

TEST_CASE(stopping)
{
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    fake.stop = 1;
    assert_int_equal(bench_predict(&f.study, &e), 0);
    assert_int_equal(f.summary.interrupted, 1);
    assert_int_equal(f.summary.measured, 0);
    fake.stop = 0;
    fake_end(&f);
}

/* Groups that are asked for are predicted beside one another, where they fit, and the journal keeps them apart. */
TEST_CASE(groups)
{
    struct fake_run f;
    struct err e;
    const struct bench_engine grouped = {.name = "formula",
                                         .predicts = &(struct bench_predict_ops){.predict = predict}};
    begin(&f, 0);
    f.study.engine = &grouped;
    f.options.shapes = (struct bench_shape_list){
        .count = 3, .if_fitting = 1, .items = {{2, 16, 0}, {2, 2, BENCH_SHAPE_ALL}, {4, 32, 0}}};
    assert_int_equal(bench_predict(&f.study, &e), 0);
    struct bench_results *r = written();
    int whole = 0, rails = 0;
    double us = 0;
    for (int i = 0; i < r->count; i++) {
        const struct bench_result *x = &r->items[i];
        if (strcmp(x->launch.label, BENCH_DEFAULT) != 0 || strcmp(x->call.label, BENCH_DEFAULT) != 0 || x->bytes != 8)
            continue;
        whole += x->nodes == 2 && x->ranks == 16 && !x->others;
        us = x->ranks == 16 ? x->times_us[0] : us;
        if (x->nodes == 2 && x->ranks == 2 && x->others == 7) {
            rails++;
            assert_true(x->times_us[0] == 8 * us);
        }
    }
    assert_int_equal(whole, 1); /* of two nodes alone, and among four: the same */
    assert_int_equal(rails, 1);
    assert_int_equal(count(r, 4, BENCH_DEFAULT, BENCH_DEFAULT, 8), 1);
    bench_results_free(r);
    fake_end(&f);
}

static int nothing(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan;
    (void)at;
    (void)launch;
    (void)call;
    (void)g;
    return -1;
}

TEST_CASE(an_engine_without_a_word)
{
    struct fake_run f;
    struct err e;
    const struct bench_engine silent = {.name = "silent", .predicts = &(struct bench_predict_ops){.predict = nothing}};
    begin(&f, 0);
    f.study.engine = &silent;
    assert_int_equal(bench_predict(&f.study, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "silent engine has no prediction for 16 ranks on 2 nodes"));
    fake_end(&f);
}

/* Times by label; "small" is quick with few bytes and "large" with many, which is the better one on the whole. */
static int by_size(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan;
    if (!strcmp(call->label, "awful"))
        return -1;
    g->us = fake_time_us("", call->label, at->bytes) * (at->bytes <= 128 && !strcmp(launch->label, "small") ? 0.8 : 1) *
            (at->bytes > 128 && !strcmp(launch->label, "large") ? 0.5 : 1);
    g->low_us = g->high_us = g->us;
    return 0;
}

/* Which launch has all its calls predicted, beside the default. */
static const char *examined(const struct bench_results *r, int n)
{
    int small = count(r, n, "small", "late", 8), large = count(r, n, "large", "late", 8);
    return small && !large ? "small" : large && !small ? "large" : "neither";
}

TEST_CASE(what_a_workload_calls)
{
    static const struct bench_predict_ops sized = {.predict = by_size};
    static const struct bench_engine engines[] = {{.name = "formula", .predicts = &sized},
                                                  {.name = "formula", .predicts = &sized}};
    static const char *const launches[] = {"small", "large"};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    struct fake_run f;
    struct err e;
    w->ranks = 32;
    w->ranks_per_node = 8;
    for (int i = 0; i < 2; i++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = COLL_ALLREDUCE,
                                                 .bytes = i ? 1 << 20 : 8,
                                                 .count = i ? 1 : 1000,
                                                 .group_size = 32,
                                                 .place = WORKLOAD_CLUSTER,
                                                 .stride = 1});
    for (int grouped = 0; grouped < 2; grouped++)
        for (int named = 0; named < 2; named++) {
            memset(&fake, 0, sizeof fake);
            begin(&f, 0);
            f.study.engine = &engines[!grouped];
            for (int i = 0; i < 2; i++)
                f.study.plan.launches[i + 1] = (struct bench_knobs){.label = launches[i]};
            f.study.plan.nlaunches = 3;
            f.study.plan.nnodes = 1;
            f.study.workload = named ? w : NULL;
            assert_int_equal(bench_predict(&f.study, &e), 0);
            struct bench_results *r = written();
            int n = named ? 4 : 2; /* a workload's groups have as many nodes as they want */
            assert_int_equal(f.study.nodes, n);
            assert_int_equal(f.study.ranks, 8 * n);
            assert_int_equal(count(r, n, BENCH_DEFAULT, BENCH_DEFAULT, 0), named ? 2 : f.study.nsizes);
            assert_int_equal(count(r, 6 - n, NULL, NULL, 0), 0);
            assert_string_equal(examined(r, n), named ? "small" : "large");
            assert_int_equal(f.summary.measured, r->count);
            bench_results_free(r);
            fake_end(&f);
        }
    workload_free(w);
}

/* Sizes that come out the same once they are cut into blocks are one place, those too small for so many ranks none. */
TEST_CASE(sizes_in_blocks)
{
    const struct bench_engine sized = {.name = "formula", .predicts = &(struct bench_predict_ops){.predict = by_size}};
    struct bench_call calls[] = {{COLL_ALLGATHER, 1, {.label = BENCH_DEFAULT}, NULL}};
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    f.study.engine = &sized;
    f.study.plan.calls = calls;
    f.study.plan.ncalls = 1;
    f.study.plan.nlaunches = 1;
    f.study.plan.nnodes = 1;
    f.options.collectives = 1u << COLL_ALLGATHER | 1u << COLL_BROADCAST;
    f.options.sizes = (struct bench_size_list){5, {8, 16, 17, 31, 32}};
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
    /* Broadcast has no call at all. */
    assert_int_equal(bench_predict(&f.study, &e), ERR_FAILED);
    f.options.collectives = 1u << COLL_ALLGATHER;
    assert_int_equal(bench_predict(&f.study, &e), 0);
    struct bench_results *r = written();
    assert_int_equal(r->count, 2);
    assert_int_equal(r->items[0].bytes, 16);
    assert_int_equal(r->items[1].bytes, 32);
    bench_results_free(r);
    fake_end(&f);
}

/* Times of labels that are numbers; "0" is not offered. */
static int by_number(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                     const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan, (void)at, (void)launch;
    g->us = g->low_us = g->high_us = strtod(call->label, NULL);
    g->doubt.rest = 0.25;
    return g->us > 0 ? 0 : -1;
}

/* Refinements of what takes 1.3 times the best at most, and is offered; each with its doubt. */
TEST_CASE(refinements_of_what_is_close)
{
    const struct bench_engine numbers = {.name = "numbers",
                                         .predicts = &(struct bench_predict_ops){.predict = by_number}};
    static const char *const expected[] = {"100", "130", "90", "130.1", "120"};
    struct bench_call calls[] = {
        {COLL_ALLREDUCE, 1, {.label = "100"}, NULL},   {COLL_ALLREDUCE, 1, {.label = "130"}, NULL},
        {COLL_ALLREDUCE, 64, {.label = "90"}, "130"},  {COLL_ALLREDUCE, 65, {.label = "80"}, "130"},
        {COLL_ALLREDUCE, 1, {.label = "130.1"}, NULL}, {COLL_ALLREDUCE, 1, {.label = "70"}, "130.1"},
        {COLL_ALLREDUCE, 1, {.label = "0"}, NULL},     {COLL_ALLREDUCE, 1, {.label = "60"}, "0"},
        {COLL_BROADCAST, 1, {.label = "50"}, NULL},    {COLL_ALLREDUCE, 1, {.label = "120"}, NULL}};
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    f.study.engine = &numbers;
    f.study.plan.calls = calls;
    f.study.plan.ncalls = 10;
    f.study.plan.nlaunches = 1;
    f.study.plan.nnodes = 1;
    f.options.sizes = (struct bench_size_list){1, {64}};
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
    assert_int_equal(bench_predict(&f.study, &e), 0);
    struct bench_results *r = written();
    assert_int_equal(r->count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(r->items[i].call.label, expected[i]);
        assert_true(r->items[i].round == 1 && r->items[i].doubt && r->items[i].doubt->rest == 0.25);
    }
    bench_results_free(r);
    fake_end(&f);
}

static void one_prediction(void)
{
    struct fake_run f;
    struct err e;
    begin(&f, 0);
    f.options.sizes = (struct bench_size_list){2, {8, 4096}};
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
    assert_int_equal(bench_predict(&f.study, &e), 0);
    fake_end(&f);
}

TEST_CASE(nothing_is_kept)
{
    assert_keeps_nothing(one_prediction());
}

TEST_CASES_WITHIN(test_predict, fake_setup, fake_teardown)
