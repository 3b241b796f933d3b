/* Shapes of groups in a run: each has its own points and its own winners, old journals are of the whole. */
#include "bench/search/study.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

static void begin(struct fake_run *f, int resume, const char *const *shapes, int n)
{
    fake_begin(f, resume, NULL, 0);
    f->options.min_bytes = 512; /* where "middle" is nobody's choice by itself */
    f->options.max_bytes = 2048;
    f->options.step_factor = 2;
    f->study.sizes = bench_sizes(&f->options, f->study.arena, &f->study.nsizes);
    for (int i = 0; i < n; i++)
        assert_int_equal(bench_shape_parse(shapes[i], &f->options.shapes.items[f->options.shapes.count++], "", NULL),
                         0);
}

static int count(const struct fake_run *f, int nodes, int ranks, int others)
{
    int n = 0;
    for (int i = 0; i < f->study.results->count; i++) {
        const struct bench_result *r = &f->study.results->items[i];
        n += r->nodes == nodes && r->ranks == ranks && r->others == others;
    }
    return n;
}

/* 2 nodes with 2 ranks each: in pairs "middle" is best, which nobody else asks for. */
TEST_CASE(each_has_its_own_winner)
{
    static const char *const shapes[] = {"2x2", "1x2*all", "2x1*2"};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.ranks = 4;
    fake.middle_in_groups = 1;
    begin(&f, 0, shapes, 3);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    assert_int_equal(p->count, 3 * f.study.nsizes);
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *at = &p->items[i];
        int whole = at->ranks == 4;
        assert_int_equal(at->others, whole ? 0 : 1);
        assert_string_equal(at->candidates[at->best].call.label, whole ? "early" : "middle");
        assert_true(at->untouched >= 0);
    }
    fake_end(&f);
}

/* What was measured before shapes were known is of everybody: it is not measured again, the groups are. */
TEST_CASE(old_journals_are_of_everybody)
{
    static const char *const shapes[] = {"2x2", "1x2*2", "1x2"};
    struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.ranks = 4;
    begin(&f, 0, NULL, 0);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    int before = count(&f, 2, 4, 0);
    assert_true(before > 0);
    assert_int_equal(before, f.study.results->count);
    fake_end(&f);
    begin(&f, 1, shapes, 3);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_true(count(&f, 1, 2, 1) > 0 && count(&f, 1, 2, 0) > 0);
    assert_int_equal(fake_repeated(&f), 0);
    fake_end(&f);
    begin(&f, 1, shapes, 3); /* read back from the file */
    assert_true(count(&f, 1, 2, 1) > 0 && count(&f, 1, 2, 0) > 0);
    fake_end(&f);
}

TEST_CASE(what_does_not_fit_is_an_error)
{
    static const char *const shapes[] = {"3x2", "2x3", "1x2*3"};
    for (int i = 0; i < 3; i++) {
        struct fake_run f;
        memset(&fake, 0, sizeof fake);
        fake.ranks = 4;
        begin(&f, 0, &shapes[i], 1);
        assert_int_equal(bench_conduct(&f.study, &f.err), ERR_USAGE);
        assert_non_null(strstr(f.err.text, shapes[i]));
        assert_non_null(strstr(f.err.text, "2 nodes with 2 ranks"));
        assert_int_equal(fake.opened, fake.closed);
        fake_end(&f);
    }
}

static struct workload *workload_of(const int (*groups)[2], int n)
{
    struct workload *w = workload_new();
    w->ranks = 8;
    w->ranks_per_node = 4;
    struct workload_phase *p = workload_add_phase(w, "step");
    for (int i = 0; i < n; i++)
        workload_add_call(
            w, p,
            (struct workload_call){.kind = COLL_ALLREDUCE,
                                   .bytes = 1024,
                                   .count = 1,
                                   .group_size = groups[i][0],
                                   .place = groups[i][0] > 4 || groups[i][1] > 1 ? WORKLOAD_CLUSTER : WORKLOAD_NODE,
                                   .stride = groups[i][1]});
    return w;
}

static int nodes = 2;

static void shapes_of(int ranks, struct workload *w, double budget_s, const char *expected)
{
    static struct fake_run f;
    memset(&fake, 0, sizeof fake);
    fake.ranks = ranks;
    begin(&f, 0, NULL, 0);
    f.study.workload = w;
    f.study.nodes = nodes;
    f.study.ranks = ranks;
    f.options.budget_open = !(budget_s > 0);
    f.options.budget_s = budget_s > 0 ? budget_s : 60;
    assert_int_equal(search_shapes_take(&f.study, &f.err), 0);
    const char *text = "";
    for (int i = 0; i < f.study.nshapes; i++)
        text = arena_printf(f.study.arena, "%s%s%s", text, i ? " " : "",
                            bench_shape_text(&f.study.shapes[i], f.study.arena));
    assert_string_equal(text, expected);
    fake_end(&f);
}

TEST_CASE(what_is_measured_unless_asked_for)
{
    /* Data parallel over all, tensor parallel in fours and twos, rails, and what does not fit. */
    struct workload *w = workload_of((const int[][2]){{8, 1}, {4, 1}, {2, 1}, {2, 4}}, 4);
    shapes_of(8, w, 60, "2x4 1x4*2 1x2*4 2x1*4");
    shapes_of(4, w, 60, "1x2*2 2x1*2");
    workload_free(w);
    shapes_of(8, NULL, 60, "2x4");
    shapes_of(8, NULL, 300, "2x4 1x4*2 2x1*4");
    shapes_of(8, NULL, 36000, "2x4 1x4*2 2x1*4 1x2*4 2x2*2 2x1");
    shapes_of(8, NULL, 0, "2x4 1x4*2 2x1*4 1x2*4");
    nodes = 8;
    shapes_of(32, NULL, 0, "8x4 1x4*8 8x1*4 2x4*4");
    nodes = 2;
    shapes_of(3, NULL, 36000, "2x1"); /* everybody: one node has more ranks than the other */
}

/* A plan counts them before any start, where the number of ranks is known. */
TEST_CASE(shapes_are_planned)
{
    struct bench_options o;
    struct bench_shape out[BENCH_SHAPES];
    struct topo_host hosts[5] = {{0}, {0}, {0}, {0}, {.served = 1}};
    struct topo_class class = {.ngpus = 8};
    struct topology t = {.hosts = hosts, .nhosts = 5, .classes = &class, .nclasses = 1};
    bench_options_default(&o);
    assert_int_equal(search_shapes_plan(&o, &t, out), 1);
    assert_int_equal(out[0].ranks, 32);
    o.budget_open = 1;
    assert_int_equal(search_shapes_plan(&o, &t, out), 4);
    assert_int_equal(out[3].nodes, 2);
    assert_int_equal(search_shapes_plan(&o, NULL, out), 0);
    o.shapes.count = 2;
    assert_int_equal(search_shapes_plan(&o, &t, out), 2);
}

TEST_CASES_WITHIN(test_shapes, fake_setup, fake_teardown)
