/* core/call/workload.c: what makes calls one, what a merged workload has of its parts, and jobs that are not the
 * same. */
#include "core/call/workload.h"
#include "tests/lib/unit.h"

static const struct workload_call usual = {COLL_REDUCE, 64, 3,  2, WORKLOAD_NODE, 1, "float32", "why", -1,
                                           -1,          -1, -1, 0};

static struct workload *of_call(struct workload_call c)
{
    struct workload *w = workload_new();
    workload_add_call(w, workload_add_phase(w, "x"), c);
    return w;
}

static struct workload *merged(struct workload *a, struct workload *b)
{
    struct err e = {0};
    struct workload *m = workload_merge((struct workload *[]){a, b}, 2, &e);
    if (!m)
        fail_msg("%s", e.text);
    workload_free(a);
    workload_free(b);
    return m;
}

/* Calls that differ in anything but count and times stay two, in their order. */
TEST_CASE(what_keeps_calls_apart)
{
    struct workload_call others[11];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        others[i] = usual;
    others[0].kind = COLL_BROADCAST;
    others[1].bytes = 65;
    others[2].group_size = 3;
    others[3].place = WORKLOAD_CLUSTER;
    others[4].stride = 2;
    others[5].algo = ALGO_RING;
    others[6].proto = PROTO_LL;
    others[7].channels = 1;
    others[8].dtype = "float16";
    others[9].what = NULL;
    others[10].dtype = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct workload *m = merged(of_call(usual), of_call(others[i]));
        if (m->phases[0].ncalls != 2 || m->phases[0].calls[0].bytes != 64)
            fail_msg("case %zu", i);
        workload_free(m);
        m = merged(of_call(others[i]), of_call(others[i]));
        assert_int_equal(m->phases[0].ncalls, 1);
        workload_free(m);
    }
}

/* The largest count, the shortest times that are known. */
TEST_CASE(counts_and_times)
{
    static const struct {
        double count[3], time[3], overlap[3];
    } cases[] = {
        {{3, 4, 4}, {-1, 5, 5}, {7, -1, 7}},
        {{4, 3, 4}, {5, -1, 5}, {-1, -1, -1}},
        {{4, 4, 4}, {5, 6, 5}, {0, 3, 0}},
        {{1, 2, 2}, {6, 5, 5}, {3, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload_call c[2] = {usual, usual};
        for (int k = 0; k < 2; k++) {
            c[k].count = cases[i].count[k];
            c[k].time_us = cases[i].time[k];
            c[k].overlap_us = cases[i].overlap[k];
        }
        struct workload *m = merged(of_call(c[0]), of_call(c[1]));
        const struct workload_call *one = m->phases[0].calls;
        assert_int_equal(m->phases[0].ncalls, 1);
        assert_near(one->count, cases[i].count[2], 0);
        assert_near(one->time_us, cases[i].time[2], 0);
        assert_near(one->overlap_us, cases[i].overlap[2], 0);
        workload_free(m);
    }
}

static struct workload *of_phases(const char *first, const char *second, double compute_us, double bubble)
{
    struct workload *w = workload_new();
    for (int i = 0; i < 2; i++) {
        struct workload_phase *p = workload_add_phase(w, i ? second : first);
        p->compute_us = compute_us;
        p->bubble = bubble;
        workload_add_call(w, p, usual);
    }
    return w;
}

/* Phases meet by their names, wherever they stand. */
TEST_CASE(phases)
{
    struct workload *m = merged(of_phases("a", "b", 5, 0.25), of_phases("b", "c", 9, 0.125));
    static const struct {
        const char *name;
        double compute_us, bubble;
    } want[] = {{"a", 5, 0.25}, {"b", 9, 0.25}, {"c", 9, 0.125}};
    assert_int_equal(m->nphases, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(m->phases[i].name, want[i].name);
        assert_near(m->phases[i].compute_us, want[i].compute_us, 0);
        assert_near(m->phases[i].bubble, want[i].bubble, 0);
        assert_int_equal(m->phases[i].ncalls, 1);
        assert_near(m->phases[i].calls[0].count, 3, 0);
    }
    workload_free(m);
    m = merged(of_phases("a", "a", 5, 0), of_phases("a", "b", -1, 0));
    assert_int_equal(m->nphases, 2);
    assert_near(m->phases[0].calls[0].count, 6, 0);
    assert_near(m->phases[0].compute_us, 5, 0);
    assert_near(m->phases[1].compute_us, -1, 0);
    workload_free(m);
}

static struct workload *with_header(int ranks, int per_node, int per_run, const char *name)
{
    struct workload *w = workload_new();
    w->ranks = ranks;
    w->ranks_per_node = per_node;
    w->per_run = per_run;
    w->name = name;
    w->source = "captured";
    w->model = "m";
    w->framework = "f";
    w->parameters = 7;
    workload_add_note(w, "one");
    workload_add_note(w, "two");
    return w;
}

TEST_CASE(headers)
{
    struct workload *m = merged(with_header(16, 8, 1, "job"), with_header(16, 8, 1, "job"));
    assert_string_equal(m->name, "job");
    assert_string_equal(m->source, "merged");
    assert_string_equal(m->model, "m");
    assert_string_equal(m->framework, "f");
    assert_int_equal(m->parameters, 7);
    assert_int_equal(m->ranks, 16);
    assert_int_equal(m->ranks_per_node, 8);
    assert_int_equal(m->per_run, 1);
    assert_int_equal(m->nphases, 0);
    assert_int_equal(m->nnotes, 2);
    assert_string_equal(m->notes[1], "two");
    workload_free(m);
}

TEST_CASE(other_jobs)
{
    static const struct {
        int ranks, per_node, per_run;
        const char *name, *says;
    } others[] = {
        {17, 8, 1, "job", "job with 17 ranks, 8 a node, counts per run"},
        {16, 4, 1, "job", "job with 16 ranks, 4 a node, counts per run"},
        {16, 8, 0, "job", "job with 16 ranks, 8 a node, counts per step"},
        {16, 8, 1, "other", "other with 16 ranks, 8 a node, counts per run"},
        {16, 8, 1, NULL, "(no name) with 16 ranks, 8 a node, counts per run"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct workload *a = with_header(16, 8, 1, "job"),
                        *b = with_header(others[i].ranks, others[i].per_node, others[i].per_run, others[i].name);
        struct arena *arena = arena_new();
        struct err e = {0};
        assert_null(workload_merge((struct workload *[]){a, a, b}, 3, &e));
        assert_string_equal(e.text, arena_printf(arena,
                                                 "file 3 of 3 is of another job than the first: %s, against job "
                                                 "with 16 ranks, 8 a node, counts per run",
                                                 others[i].says));
        arena_free(arena);
        workload_free(a);
        workload_free(b);
    }
}

TEST_CASES(test_workload_merge_calls)
