/* A workload's calls as points: sizes, groups, counts. */
#include "bench/search/workload_profile.h"
#include "tests/lib/unit.h"

static struct workload *workload;
static struct arena *arena;

static void add(int phase, int kind, uint64_t bytes, double count, int group, int stride)
{
    while (workload->nphases <= phase)
        workload_add_phase(workload, "phase");
    workload_add_call(workload, &workload->phases[phase],
                      (struct workload_call){.kind = kind,
                                             .bytes = bytes,
                                             .count = count,
                                             .group_size = group,
                                             .stride = stride,
                                             .place = stride * group > 8 ? WORKLOAD_CLUSTER : WORKLOAD_NODE});
}

static int begin(void **state)
{
    arena = arena_new();
    workload = workload_new();
    workload->ranks = 16;
    workload->ranks_per_node = 8;
    add(0, COLL_ALLREDUCE, 1000, 3, 16, 1);
    add(0, COLL_ALLGATHER, 64, 5, 8, 1);
    add(2, COLL_ALLREDUCE, 4000, 2, 16, 1);
    add(2, COLL_ALLREDUCE, 1050, 1, 16, 1);
    add(2, COLL_ALLTOALL, UINT64_C(1) << 40, 1, 8, 2);
    add(2, COLL_SENDRECV, 77, 1, 2, 8);
    return 0;
}

static int end(void **state)
{
    workload_free(workload);
    arena_free(arena);
    return 0;
}

TEST_CASE(collectives_with_send_and_receive)
{
    assert_int_equal(workload_profile_collectives(workload),
                     1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER | 1u << COLL_ALLTOALL | 1u << COLL_SENDRECV);
}

TEST_CASE(sizes_within_bounds_and_apart)
{
    static const uint64_t wanted[] = {100, 1050, 4000, 1 << 20};
    int n;
    uint64_t *sizes = workload_profile_sizes(workload, ~0u, 100, 1 << 20, arena, &n);
    assert_int_equal(n, 4);
    for (int i = 0; i < n; i++)
        assert_int_equal(sizes[i], wanted[i]);
    sizes = workload_profile_sizes(workload, 1u << COLL_ALLGATHER, 1, 1 << 20, arena, &n);
    assert_true(n == 1 && sizes[0] == 64);
    assert_null(workload_profile_sizes(workload, 1u << COLL_REDUCE, 1, 1 << 20, arena, &n));
    assert_int_equal(n, 0);
}

TEST_CASE(many_sizes_are_thinned_out)
{
    for (int i = 0; i < 2000; i++)
        add(0, COLL_ALLREDUCE, 5000 + 100 * (uint64_t)i, 1, 16, 1);
    int n;
    uint64_t *sizes = workload_profile_sizes(workload, 1u << COLL_ALLREDUCE, 8, 1 << 30, arena, &n);
    assert_true(n > 3 && n <= WORKLOAD_PROFILE_SIZES);
    assert_int_equal(sizes[n - 1], 5000 + 100 * 1999);
    for (int i = 1; i < n; i++)
        assert_true(sizes[i] > sizes[i - 1]);
}

TEST_CASE(counts_of_one_kind_of_group)
{
    static const uint64_t sizes[] = {100, 1050, 4000, 1 << 20};
    double calls[4];
    assert_true(workload_profile_has(workload, 2, 16));
    assert_false(workload_profile_has(workload, 1, 16));
    workload_profile_calls(workload, COLL_ALLREDUCE, &(struct bench_shape){2, 16}, sizes, 4, calls);
    assert_near(calls[0], 0, 0);
    assert_near(calls[1], 1 + 3 * 1000.0 / 1050, 1e-9);
    assert_near(calls[2], 2, 0);
    workload_profile_calls(workload, COLL_ALLGATHER, &(struct bench_shape){2, 16}, sizes, 4, calls);
    assert_near(calls[0], 0, 0); /* groups of eight */
    workload_profile_calls(workload, COLL_ALLGATHER, &(struct bench_shape){1, 8}, sizes, 4, calls);
    assert_near(calls[0], 5 * 0.64, 1e-9);
    workload_profile_calls(workload, COLL_ALLTOALL, &(struct bench_shape){2, 8}, sizes, 4,
                           calls); /* what is not measured that large counts more often */
    assert_near(calls[3], 1 << 20, 1e-6);
    workload_profile_calls(workload, COLL_ALLGATHER, &(struct bench_shape){4, 32}, sizes, 4,
                           calls); /* no such group: any */
    assert_near(calls[0], 5 * 0.64, 1e-9);
}

TEST_CASE(shapes_of_groups)
{
    int n;
    struct bench_shape *s = workload_profile_shapes(workload, ~0u, arena, &n);
    static const struct bench_shape expected[] = {{2, 16, -1}, {1, 8, -1}, {2, 8, -1}, {2, 2, -1}}; /* stages last */
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++)
        assert_true(bench_shape_same(&s[i], &expected[i]));
    workload_profile_shapes(workload, 1u << COLL_ALLGATHER, arena, &n);
    assert_int_equal(n, 1);
    workload_profile_shapes(workload, 1u << COLL_REDUCE, arena, &n);
    assert_int_equal(n, 0);
    add(0, COLL_REDUCE, 64, 1, 9, 1); /* nine ranks over two nodes */
    workload_profile_shapes(workload, 1u << COLL_REDUCE, arena, &n);
    assert_int_equal(n, 0);
}

/* Sizes of which each is within a tenth of the first of its run are one, the last; where there are still too many the
 * factor is squared. */
TEST_CASE(runs_of_sizes)
{
    static const uint64_t bytes[] = {1000, 1050, 1100, 1101, 1211, 1212, 2000}, wanted[] = {1100, 1211, 1212, 2000};
    int n;
    for (int i = 0; i < 7; i++)
        add(0, COLL_REDUCE, bytes[6 - i], 1, 16, 1);
    uint64_t *sizes = workload_profile_sizes(workload, 1u << COLL_REDUCE, 1, 1 << 20, arena, &n);
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sizes[i], wanted[i]);
    for (int i = 0; i < 24; i++)
        add(0, COLL_BROADCAST, UINT64_C(100) << i, 1, 16, 1);
    workload_profile_sizes(workload, 1u << COLL_BROADCAST, 1, UINT64_C(1) << 40, arena, &n);
    assert_int_equal(n, WORKLOAD_PROFILE_SIZES);
    add(0, COLL_BROADCAST, 120, 1, 16, 1); /* one too many: within 1.21 it is one with 100 */
    sizes = workload_profile_sizes(workload, 1u << COLL_BROADCAST, 1, UINT64_C(1) << 40, arena, &n);
    assert_int_equal(n, WORKLOAD_PROFILE_SIZES);
    assert_int_equal(sizes[0], 120);
}

/* A call counts for the size that is nearest by quotient, the larger of two that are as near. */
TEST_CASE(the_nearest_size)
{
    static const uint64_t sizes[] = {16, 64, 256};
    double calls[3];
    add(0, COLL_REDUCE, 32, 1, 16, 1);
    add(0, COLL_REDUCE, 127, 1, 16, 1);
    add(0, COLL_REDUCE, 129, 1, 16, 1);
    add(0, COLL_REDUCE, 1, 1, 16, 1);
    add(0, COLL_REDUCE, 0, 1, 16, 1);
    workload_profile_calls(workload, COLL_REDUCE, &(struct bench_shape){2, 16}, sizes, 3, calls);
    assert_near(calls[0], 1 / 16.0, 1e-12);
    assert_near(calls[1], 0.5 + 127 / 64.0, 1e-12);
    assert_near(calls[2], 129 / 256.0, 1e-12);
    workload_profile_calls(workload, COLL_REDUCE, &(struct bench_shape){2, 16}, sizes, 0, calls);
    assert_near(calls[0], 1 / 16.0, 1e-12); /* nothing to write to */
}

TEST_CASES_EACH(test_workload_profile, begin, end)
