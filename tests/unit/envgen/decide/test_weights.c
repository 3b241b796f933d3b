/* Launches weighed by a workload: a launch that is better at some sizes and worse at others. */
#include "core/call/workload.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define SMALL 64
#define LARGE (1 << 20)

static struct synthetic points;
static struct workload *workload;

/* ib3 halves the time of small AllReduces and doubles that of large ones. */
static int begin(void **state)
{
    points = synthetic_new();
    synthetic_add(&points, COLL_ALLREDUCE, SMALL, BENCH_DEFAULT, BENCH_DEFAULT, 10, BENCH_OK);
    synthetic_add(&points, COLL_ALLREDUCE, SMALL, "ib3", BENCH_DEFAULT, 5, BENCH_OK);
    synthetic_add(&points, COLL_ALLREDUCE, LARGE, BENCH_DEFAULT, BENCH_DEFAULT, 1000, BENCH_OK);
    synthetic_add(&points, COLL_ALLREDUCE, LARGE, "ib3", BENCH_DEFAULT, 2000, BENCH_OK);
    workload = workload_new();
    workload->ranks = 4;
    workload->ranks_per_node = 1;
    return 0;
}

static int end(void **state)
{
    workload_free(workload);
    arena_free(points.arena);
    return 0;
}

static void calls(int kind, uint64_t bytes, double count)
{
    workload_add_call(
        workload, workload_add_phase(workload, "step"),
        (struct workload_call){
            .kind = kind, .bytes = bytes, .count = count, .group_size = 4, .stride = 1, .place = WORKLOAD_CLUSTER});
}

/* The chosen launch; its gain, or that of the other, into `gain`. */
static const char *choose(const struct workload *w, double *gain)
{
    static char label[16];
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct err e = {0};
    d->workload = w;
    assert_int_equal(env_decide(d, &points.points, &e), 0);
    *gain = d->shapes[0].launches[1].gain.median;
    snprintf(label, sizeof label, "%s", d->shapes[0].launches[d->shapes[0].chosen].knobs.label);
    env_decisions_free(d);
    return label;
}

TEST_CASE(without_a_workload_all_points_are_alike)
{
    double gain;
    assert_string_equal(choose(NULL, &gain), BENCH_DEFAULT);
    assert_true(gain > 0.999 && gain < 1.001);
}

TEST_CASE(many_small_calls_want_it)
{
    double gain;
    calls(COLL_ALLREDUCE, SMALL, 1000);
    assert_string_equal(choose(workload, &gain), "ib3");
    assert_true(gain > 1.999 && gain < 2.001);
}

/* A thousand calls of 10 µs and ten of 1000 µs: half of the time each. */
TEST_CASE(what_counts_is_the_time_of_a_step)
{
    double gain;
    calls(COLL_ALLREDUCE, SMALL, 1000);
    calls(COLL_ALLREDUCE, LARGE, 10);
    assert_string_equal(choose(workload, &gain), BENCH_DEFAULT);
    assert_true(gain > 0.999 && gain < 1.001);
    calls(COLL_ALLREDUCE, LARGE, 10);
    choose(workload, &gain);
    assert_true(gain > 0.79 && gain < 0.80); /* (2 × 1/2 × 1/2)^(1/3) */
}

TEST_CASE(a_workload_that_calls_nothing_measured_says_nothing)
{
    double gain;
    calls(COLL_SENDRECV, SMALL, 1000);
    assert_string_equal(choose(workload, &gain), BENCH_DEFAULT);
    assert_true(gain > 0.999 && gain < 1.001);
}

TEST_CASES_EACH(test_weights, begin, end)
