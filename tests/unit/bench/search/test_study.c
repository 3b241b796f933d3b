/* Which points there are and which of them decide, with and without a workload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/search/study.h"
#include "core/coll.h"

#define BIT(coll) (1u << (coll))

static struct bench_options options;
static uint64_t sizes[32];

static struct bench_study study_of(unsigned collectives, int nsizes)
{
    options = (struct bench_options){.collectives = collectives};
    for (int i = 0; i < nsizes; i++)
        sizes[i] = (uint64_t)8 << i;
    return (struct bench_study){.options = &options, .sizes = sizes, .nsizes = nsizes, .nodes = 1, .ranks = 8};
}

static void they_span_all_sizes(void **state)
{
    (void)state;
    for (int n = 1; n < 20; n++) {
        struct bench_study s = study_of(BIT(COLL_ALLREDUCE) | BIT(COLL_BROADCAST), n);
        struct bench_place places[BENCH_SCREENING_POINTS];
        int count = bench_screening_points(&s, places);
        assert_int_equal(count, n < 4 ? n : 4);
        assert_int_equal(places[0].size, 0);
        assert_int_equal(places[count - 1].size, n - 1);
        for (int i = 0; i < count; i++)
            assert_int_equal(places[i].coll, COLL_ALLREDUCE);
        for (int i = 1; i < count; i++)
            assert_true(places[i].size > places[i - 1].size);
    }
}

static void alltoall_is_asked_besides(void **state)
{
    (void)state;
    struct bench_place places[BENCH_SCREENING_POINTS];
    struct bench_study s = study_of(BIT(COLL_ALLGATHER) | BIT(COLL_ALLTOALL), 10);
    assert_int_equal(bench_screening_points(&s, places), 6);
    assert_int_equal(places[0].coll, COLL_ALLGATHER);
    assert_true(places[4].coll == COLL_ALLTOALL && places[4].size == places[2].size);
    assert_true(places[5].coll == COLL_ALLTOALL && places[5].size == 9);
    assert_true(places[4].shape == 0 && places[5].shape == 0);
    s = study_of(BIT(COLL_ALLREDUCE), 5);
    assert_int_equal(bench_screening_points(&s, places), 4);
    assert_true(places[1].size == 1 && places[2].size == 3);
    s = study_of(BIT(COLL_SENDRECV), 10);
    bench_screening_points(&s, places);
    assert_int_equal(places[0].coll, COLL_SENDRECV);
    s = study_of(BIT(COLL_ALLTOALL), 10);
    assert_int_equal(bench_screening_points(&s, places), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(places[i].coll, COLL_ALLTOALL);
    s = study_of(BIT(COLL_ALLREDUCE) | BIT(COLL_ALLTOALLV), 10);
    assert_int_equal(bench_screening_points(&s, places), 6);
    assert_int_equal(places[5].coll, COLL_ALLTOALLV);
}

static struct workload *workload_with(int group)
{
    struct workload *w = workload_new();
    w->ranks = w->ranks_per_node = 8;
    struct workload_phase *p = workload_add_phase(w, "step");
    for (int i = 0; i < 10; i++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = i % 2 ? COLL_ALLREDUCE : COLL_ALLTOALL,
                                                 .bytes = (uint64_t)8 << i,
                                                 .count = i == 1 ? 1000 : 1,
                                                 .group_size = group,
                                                 .stride = 1});
    return w;
}

/* Ten points, one of them called a thousand times: it counts, and so do the largest. */
static void a_workload_decides_by_its_time(void **state)
{
    (void)state;
    struct bench_place places[BENCH_SCREENING_POINTS];
    struct bench_study s = study_of(~0u, 10);
    struct workload *w = workload_with(8);
    s.workload = w;
    s.arena = arena_new();
    bench_weigh(&s);
    assert_int_equal(bench_count_points(&s), 10);
    assert_true(bench_calls(&s, (struct bench_place){COLL_ALLREDUCE, 1, 0}) == 1000);
    assert_true(bench_calls(&s, (struct bench_place){COLL_ALLTOALL, 1, 0}) == 0);
    assert_int_equal(bench_screening_points(&s, places), BENCH_SCREENING_POINTS);
    assert_true(places[0].coll == COLL_ALLREDUCE && places[0].size == 1);
    for (int i = 1; i < BENCH_SCREENING_POINTS; i++)
        assert_int_equal(places[i].size, 4 + i);
    options.collectives = BIT(COLL_ALLTOALL);
    assert_int_equal(bench_count_points(&s), 5);
    arena_free(s.arena);
    workload_free(w);
}

/* No group of the job is like the one that is measured: all of them count. */
static void a_workload_of_other_groups(void **state)
{
    (void)state;
    struct bench_study s = study_of(~0u, 10);
    struct workload *w = workload_with(4);
    s.workload = w;
    s.arena = arena_new();
    bench_weigh(&s);
    assert_int_equal(bench_count_points(&s), 10);
    arena_free(s.arena);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_span_all_sizes),
        cmocka_unit_test(alltoall_is_asked_besides),
        cmocka_unit_test(a_workload_decides_by_its_time),
        cmocka_unit_test(a_workload_of_other_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
