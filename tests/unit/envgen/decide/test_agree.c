/* What several shapes of job share: one launch, and one call where a tuner cannot tell them apart. */
#include "envgen/decide/decide.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define DEFAULT BENCH_DEFAULT

static void finish(struct synthetic *s, struct env_decisions *d)
{
    env_decisions_free(d);
    arena_free(s->arena);
}

static void add_launches(struct synthetic *s, int nodes, int ranks, double untouched, double ib2, double ib3)
{
    s->nodes = nodes;
    s->ranks = ranks;
    synthetic_add(s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, untouched, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib2", DEFAULT, ib2, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, ib3, BENCH_OK);
}

static const char *launch_of(const struct env_decisions *d, int shape)
{
    return d->shapes[shape].launches[d->shapes[shape].chosen].knobs.label;
}

/* Groups within a node do not care which network is used, and do not stand in the way of those that do. */
TEST_CASE(who_does_not_care_goes_along)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, 1, 8, 100, 100, 101);
    add_launches(&s, 2, 16, 100, 60, 98);
    struct env_decisions *d = synthetic_decide(&s);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(launch_of(d, i), "ib2");
        assert_non_null(strstr(d->shapes[i].why, "'default' for jobs of 1 node, 8 ranks"));
        assert_non_null(strstr(d->shapes[i].why, "slower for none"));
    }
    finish(&s, d);
}

TEST_CASE(who_loses_has_a_veto)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, 1, 8, 100, 120, 100);
    add_launches(&s, 2, 16, 100, 50, 80);
    struct env_decisions *d = synthetic_decide(&s);
    for (int i = 0; i < 2; i++) /* ib3 would hurt nobody, but is nobody's choice */
        assert_string_equal(launch_of(d, i), DEFAULT);
    assert_non_null(strstr(d->shapes[0].why, "so the default stays"));
    finish(&s, d);
}

/* "3" is best alone and worst with others beside it, "4" the other way round but never bad. */
static void add_calls(struct synthetic *s, int others, const double us[3])
{
    s->others = others;
    synthetic_add(s, COLL_ALLREDUCE, 64, DEFAULT, DEFAULT, us[0], BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 64, DEFAULT, "3", us[1], BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 64, DEFAULT, "4", us[2], BENCH_OK);
}

static const struct env_range *range_of(const struct env_decisions *d, int shape)
{
    return &d->shapes[shape].colls[0].ranges[0];
}

TEST_CASE(one_alone_and_several_at_once)
{
    struct synthetic s = synthetic_new();
    add_calls(&s, 0, (double[]){100, 60, 70});
    add_calls(&s, 7, (double[]){100, 150, 90});
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->nshapes, 2);
    for (int i = 0; i < 2; i++) {
        const struct env_range *r = range_of(d, i);
        assert_string_equal(r->call.label, "4");
        assert_non_null(r->points[0].shared);
        assert_non_null(strstr(r->why, "one alone would take 3 (60 us) and gets 4 (70 us)"));
        assert_non_null(strstr(r->why, "8 at once would take 4 (90 us) and gets 4 (90 us)"));
        assert_true(r->points[0].total_gain.median > (i ? 1.1 : 1.4));
    }
    finish(&s, d);
}

TEST_CASE(what_is_worse_for_one_is_nobodys)
{
    struct synthetic s = synthetic_new();
    add_calls(&s, 0, (double[]){100, 80, 200});
    add_calls(&s, 7, (double[]){100, 200, 85});
    struct env_decisions *d = synthetic_decide(&s);
    for (int i = 0; i < 2; i++)
        assert_string_equal(range_of(d, i)->call.label, DEFAULT);
    finish(&s, d);
}

/* No choice is made for groups at once from what was measured alone only. */
TEST_CASE(what_was_not_measured_in_both_is_left)
{
    struct synthetic s = synthetic_new();
    add_calls(&s, 0, (double[]){100, 60, 70});
    s.others = 3;
    synthetic_add(&s, COLL_ALLREDUCE, 64, DEFAULT, DEFAULT, 100, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(range_of(d, 0)->call.label, DEFAULT);
    assert_string_equal(range_of(d, 1)->call.label, DEFAULT);
    finish(&s, d);
}

/* bfloat16 and the result's place are shapes of their own that share the usual one's row and launch; captured calls are
 * another row. What was not measured in one of them is agreed on by the others. */
TEST_CASE(types_that_a_tuner_is_not_told_share_a_row)
{
    struct synthetic s = synthetic_new();
    add_calls(&s, 0, (double[]){100, 60, 70});
    synthetic_add(&s, COLL_ALLREDUCE, 128, DEFAULT, DEFAULT, 200, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 128, DEFAULT, "3", 120, BENCH_OK);
    s.buffers = BENCH_BFLOAT16;
    add_calls(&s, 0, (double[]){100, 150, 90});
    s.buffers = BENCH_OUT_OF_PLACE;
    synthetic_add(&s, COLL_ALLREDUCE, 128, DEFAULT, DEFAULT, 200, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 128, DEFAULT, "3", 400, BENCH_OK);
    s.buffers = BENCH_GRAPH;
    add_calls(&s, 0, (double[]){100, 60, 90});
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->nshapes, 4);
    assert_string_equal(range_of(d, 0)->call.label, "4");
    assert_non_null(strstr(range_of(d, 0)->why, "one alone, bfloat16, would take 4 (90 us) and gets 4 (90 us)"));
    assert_string_equal(d->shapes[0].colls[0].ranges[1].call.label, DEFAULT);
    assert_string_equal(range_of(d, 1)->call.label, "4");
    assert_string_equal(range_of(d, 2)->call.label, DEFAULT);
    assert_string_equal(range_of(d, 3)->call.label, "3");
    finish(&s, d);
}

/* A call that gives wrong data in bfloat16 is chosen for nothing that shares its row. */
TEST_CASE(what_fails_in_one_is_nobodys)
{
    struct synthetic s = synthetic_new();
    add_calls(&s, 0, (double[]){100, 60, 70});
    s.buffers = BENCH_BFLOAT16;
    synthetic_add(&s, COLL_ALLREDUCE, 32, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 32, DEFAULT, "3", 0, BENCH_WRONG);
    add_calls(&s, 0, (double[]){100, 60, 70});
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(range_of(d, 0)->call.label, "4");
    finish(&s, d);
}

/* Their launch is that of the usual data, which alone is held against others in many sessions. */
TEST_CASE(types_follow_the_usual_launch)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, 2, 16, 100, 60, 98);
    s.buffers = BENCH_BFLOAT16;
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(launch_of(d, 0), "ib2");
    assert_string_equal(launch_of(d, 1), "ib2");
    finish(&s, d);
}

TEST_CASES(test_agree)
