/* envgen/decide/decide.c: launches whose right choice is known. */
#include "envgen/decide/decide.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define DEFAULT BENCH_DEFAULT

static void finish(struct synthetic *s, struct env_decisions *d)
{
    env_decisions_free(d);
    arena_free(s->arena);
}

/* Untouched 100 µs at every size, `us` in launch ib3, `status` at the last size. */
static void add_launches(struct synthetic *s, const double *us, int n, enum bench_status status)
{
    uint64_t bytes = 8;
    for (int i = 0; i < n; i++, bytes *= 4) {
        synthetic_add(s, COLL_ALLREDUCE, bytes, DEFAULT, DEFAULT, 100, BENCH_OK);
        if (us[i] > 0)
            synthetic_add(s, COLL_ALLREDUCE, bytes, "ib3", DEFAULT, us[i], i + 1 < n ? BENCH_OK : status);
    }
}

static const char *chosen_launch(const struct env_decisions *d)
{
    const struct env_shape *s = &d->shapes[0];
    return s->chosen < 0 ? "" : s->launches[s->chosen].knobs.label;
}

TEST_CASE(the_faster_launch_is_chosen)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, (double[]){50, 25, 25}, 3, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), "ib3");
    const struct env_launch *l = &d->shapes[0].launches[1];
    assert_true(l->gain.median > 3.17 && l->gain.median < 3.18); /* (2 × 4 × 4)^(1/3) */
    assert_int_equal(l->points, 3);
    assert_true(d->shapes[0].total_gain.median > 3.17 && d->shapes[0].total_gain.median < 3.18);
    finish(&s, d);
}

/* Jobs call all sizes: a mean of many does not make up for one that is proven to be slower. */
TEST_CASE(a_launch_that_loses_at_a_size_is_out)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, (double[]){50, 120, 25}, 3, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), DEFAULT);
    assert_non_null(strstr(d->shapes[0].launches[1].why, "at allreduce of 32 B"));
    finish(&s, d);
}

TEST_CASE(a_launch_within_the_noise_is_not)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, (double[]){96, 97, 96}, 3, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), DEFAULT);
    finish(&s, d);
}

TEST_CASE(a_launch_that_failed_anywhere_is_out)
{
    for (enum bench_status bad = BENCH_WRONG; bad < BENCH_STATUS_COUNT; bad++) {
        struct synthetic s = synthetic_new();
        add_launches(&s, (double[]){10, 10, 10}, 3, bad);
        struct env_decisions *d = synthetic_decide(&s);
        assert_string_equal(chosen_launch(d), DEFAULT);
        assert_non_null(strstr(d->shapes[0].launches[1].why, bench_status_name(bad)));
        finish(&s, d);
    }
}

/* Algorithm 3 hangs everywhere: that is its own fault, not the launch's. In the second half it hangs in ib3 only. */
TEST_CASE(whose_fault_a_hang_is)
{
    for (int own = 0; own < 2; own++) {
        struct synthetic s = synthetic_new();
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, "3", own ? 50 : 0, own ? BENCH_OK : BENCH_HUNG);
        synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 30, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", "3", 0, BENCH_HUNG);
        struct env_decisions *d = synthetic_decide(&s);
        assert_string_equal(chosen_launch(d), own ? DEFAULT : "ib3");
        finish(&s, d);
    }
}

/* The baseline launch may be measured with its default call alone. */
TEST_CASE(a_call_never_tried_untouched_speaks_against_no_launch)
{
    struct synthetic s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 30, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", "3", 0, BENCH_HUNG);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), "ib3");
    finish(&s, d);
}

/* A second setting has to bring the margin over the first alone. */
TEST_CASE(a_setting_more_must_be_worth_it)
{
    for (int worth = 0; worth < 2; worth++) {
        struct synthetic s = synthetic_new();
        static const struct bench_setting two[] = {{"btl_tcp_if_include", "ib3"}, {"btl_tcp_links", "2"}};
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        synthetic_add(&s, COLL_ALLREDUCE, 8, "both", DEFAULT, worth ? 40 : 49.5, BENCH_OK);
        s.points.items[0].candidates[1].launch = (struct bench_knobs){"both", two, 2};
        synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 50, BENCH_OK);
        struct env_decisions *d = synthetic_decide(&s);
        assert_string_equal(chosen_launch(d), worth ? "both" : "ib3");
        finish(&s, d);
    }
}

/* One rail alone, a little faster than with a second one: only with intervals apart, in whichever order they come. */
TEST_CASE(an_interface_less_must_be_worth_it)
{
    for (int variant = 0; variant < 4; variant++) {
        int worth = variant & 1, pair_first = variant & 2;
        struct synthetic s = synthetic_new();
        s.spread = 0.05;
        synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
        for (int i = 0; i < 2; i++) {
            int pair = (i == 0) == (pair_first != 0);
            synthetic_add(&s, COLL_ALLREDUCE, 8, pair ? "ib2,ib3" : "ib3", DEFAULT,
                          pair    ? 20
                          : worth ? 16
                                  : 18.8,
                          BENCH_OK);
        }
        struct env_decisions *d = synthetic_decide(&s);
        assert_string_equal(chosen_launch(d), worth ? "ib3" : "ib2,ib3");
        finish(&s, d);
    }
}

TEST_CASE(a_launch_seen_at_few_points_is_out)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, (double[]){10, 0, 0}, 3, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), DEFAULT);
    assert_non_null(strstr(d->shapes[0].launches[1].why, "1 of 3"));
    finish(&s, d);
}

/* Dropped at the size where it is slow: that counts against it. 0.25 × 1.5 on average. */
TEST_CASE(a_dropped_launch_counts_as_slow)
{
    struct synthetic s = synthetic_new();
    add_launches(&s, (double[]){67, 400}, 2, BENCH_DROPPED);
    struct env_decisions *d = synthetic_decide(&s);
    assert_string_equal(chosen_launch(d), DEFAULT);
    assert_true(d->shapes[0].launches[1].gain.median < 0.7);
    finish(&s, d);
}

TEST_CASE(shapes_that_disagree_stay_untouched)
{
    struct synthetic s = synthetic_new();
    s.nodes = s.ranks = 2;
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib2", DEFAULT, 50, BENCH_OK);
    s.nodes = s.ranks = 4;
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 50, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->nshapes, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(d->shapes[i].chosen, 0);
        assert_non_null(strstr(d->shapes[i].why, "common to all jobs"));
    }
    finish(&s, d);
}

/* On one node there is no launch to choose: it does not stand in the way of the others. */
TEST_CASE(a_shape_without_a_choice_does_not_vote)
{
    struct synthetic s = synthetic_new();
    s.nodes = 1;
    s.ranks = 2;
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    s.nodes = s.ranks = 4;
    synthetic_add(&s, COLL_ALLREDUCE, 8, DEFAULT, DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, "ib3", DEFAULT, 50, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    assert_int_equal(d->shapes[0].chosen, 0);
    assert_int_equal(d->shapes[1].chosen, 1);
    finish(&s, d);
}

TEST_CASES(test_launch)
