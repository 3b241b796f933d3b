/* Predictions into a journal, by an engine whose times come from a formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/search/predict.h"
#include "tests/unit/bench/fake_study.h"

/* "late" wins above 64 KiB, "awful" is offered nowhere; launch "fast" is ten times as fast. */
static int predict(struct bench_plan *plan, const struct history_place *at, const struct bench_knobs *launch,
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

static struct bench_engine engine = {.name = "formula", .predict = predict};
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

static void what_is_written(void **state)
{
    (void)state;
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
static int by_label(struct bench_plan *plan, const struct history_place *at, const struct bench_knobs *launch,
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
static void refinements(void **state)
{
    (void)state;
    static const struct bench_engine labels = {.name = "labels", .predict = by_label};
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

static void resuming_adds_nothing_twice(void **state)
{
    (void)state;
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

static void stopping(void **state)
{
    (void)state;
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
static void groups(void **state)
{
    (void)state;
    struct fake_run f;
    struct err e;
    static const struct bench_engine grouped = {.name = "formula", .predict = predict, .groups = 1};
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

static int nothing(struct bench_plan *plan, const struct history_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g)
{
    (void)plan;
    (void)at;
    (void)launch;
    (void)call;
    (void)g;
    return -1;
}

static void an_engine_without_a_word(void **state)
{
    (void)state;
    struct fake_run f;
    struct err e;
    static const struct bench_engine silent = {.name = "silent", .predict = nothing};
    begin(&f, 0);
    f.study.engine = &silent;
    assert_int_equal(bench_predict(&f.study, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "silent engine has no prediction for 16 ranks on 2 nodes"));
    fake_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written), cmocka_unit_test(refinements), cmocka_unit_test(resuming_adds_nothing_twice),
        cmocka_unit_test(stopping),        cmocka_unit_test(groups),      cmocka_unit_test(an_engine_without_a_word),
    };
    return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
