/* Which points there are and which of them decide, with and without a workload. */
#include "bench/search/study.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

#define BIT(coll) (1u << (coll))

static struct bench_options options;
static uint64_t sizes[32];

static struct bench_study study_of(unsigned collectives, int nsizes)
{
    static struct bench_results none;
    static const struct bench_engine engine = {.name = "nccl"};
    options = (struct bench_options){.collectives = collectives};
    for (int i = 0; i < nsizes; i++)
        sizes[i] = (uint64_t)8 << i;
    return (struct bench_study){.options = &options,
                                .engine = &engine,
                                .results = &none,
                                .sizes = sizes,
                                .nsizes = nsizes,
                                .nodes = 1,
                                .ranks = 8};
}

TEST_CASE(they_span_all_sizes)
{
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

TEST_CASE(alltoall_is_asked_besides)
{
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
TEST_CASE(a_workload_decides_by_its_time)
{
    struct bench_place places[BENCH_SCREENING_POINTS];
    struct bench_study s = study_of(~0u, 10);
    struct workload *w = workload_with(8);
    s.workload = w;
    s.arena = arena_new();
    bench_weigh(&s);
    assert_int_equal(bench_task(&s).points, 10);
    assert_true(bench_calls(&s, (struct bench_place){COLL_ALLREDUCE, 1, 0}) == 1000);
    assert_true(bench_calls(&s, (struct bench_place){COLL_ALLTOALL, 1, 0}) == 0);
    assert_int_equal(bench_screening_points(&s, places), BENCH_SCREENING_POINTS);
    assert_true(places[0].coll == COLL_ALLREDUCE && places[0].size == 1);
    for (int i = 1; i < BENCH_SCREENING_POINTS; i++)
        assert_int_equal(places[i].size, 4 + i);
    options.collectives = BIT(COLL_ALLTOALL);
    assert_int_equal(bench_task(&s).points, 5);
    arena_free(s.arena);
    workload_free(w);
}

/* No group of the job is like the one that is measured: all of them count. */
TEST_CASE(a_workload_of_other_groups)
{
    struct bench_study s = study_of(~0u, 10);
    struct workload *w = workload_with(4);
    s.workload = w;
    s.arena = arena_new();
    bench_weigh(&s);
    assert_int_equal(bench_task(&s).points, 10);
    arena_free(s.arena);
    workload_free(w);
}

/* Sizes by their index, with blanks between, and behind a slash those of AllToAll. */
TEST_CASE(spread_over_the_sizes)
{
    static const struct {
        int nsizes;
        const char *without, *with;
    } cases[] = {{1, " 0", " 0 /0"},
                 {2, " 0 1", " 0 1 /0 /1"},
                 {3, " 0 1 2", " 0 1 2 /1 /2"},
                 {5, " 0 1 3 4", " 0 1 3 4 /3 /4"},
                 {10, " 0 3 6 9", " 0 3 6 9 /6 /9"},
                 {16, " 0 5 10 15", " 0 5 10 15 /10 /15"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int exchange = 0; exchange < 2; exchange++) {
            struct bench_study s =
                study_of(BIT(COLL_ALLREDUCE) | BIT(exchange ? COLL_ALLTOALL : COLL_BROADCAST), cases[i].nsizes);
            struct bench_place places[BENCH_SCREENING_POINTS];
            char text[64] = "";
            int n = bench_screening_points(&s, places);
            for (int k = 0; k < n; k++) {
                snprintf(text + strlen(text), sizeof text - strlen(text), " %s%d",
                         places[k].coll == COLL_ALLTOALL ? "/" : "", places[k].size);
                assert_int_equal(places[k].shape + places[k].buffers, 0);
            }
            assert_string_equal(text, exchange ? cases[i].with : cases[i].without);
        }
}

/* AllReduce, else what comes before it; else what is exchanged. */
TEST_CASE(what_launches_are_told_apart_by)
{
    static const struct {
        unsigned asked;
        int first, last;
    } cases[] = {
        {~0u, COLL_ALLREDUCE, COLL_ALLTOALL},
        {BIT(COLL_BROADCAST) | BIT(COLL_REDUCE), COLL_REDUCE, COLL_REDUCE},
        {BIT(COLL_BROADCAST), COLL_BROADCAST, COLL_BROADCAST},
        {BIT(COLL_ALLTOALLV) | BIT(COLL_SENDRECV), COLL_ALLTOALLV, COLL_ALLTOALLV},
        {BIT(COLL_ALLTOALLV) | BIT(COLL_ALLTOALL), COLL_ALLTOALL, COLL_ALLTOALL},
        {BIT(COLL_ALLTOALLV) | BIT(COLL_REDUCESCATTER), COLL_REDUCESCATTER, COLL_ALLTOALLV},
        {BIT(COLL_SENDRECV), COLL_SENDRECV, COLL_SENDRECV},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_study s = study_of(cases[i].asked, 10);
        struct bench_place places[BENCH_SCREENING_POINTS];
        int n = bench_screening_points(&s, places);
        assert_int_equal(n, cases[i].first == cases[i].last ? 4 : 6);
        assert_int_equal(places[0].coll, cases[i].first);
        assert_int_equal(places[n - 1].coll, cases[i].last);
    }
}

/* Of points that take as long those that come first stay; what takes longer takes the place of the first of them. */
TEST_CASE(the_heaviest_points)
{
    static const int expected[][2] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {0, 1}};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    struct bench_place places[BENCH_SCREENING_POINTS];
    struct bench_study s = study_of(~0u, 10);
    w->ranks = w->ranks_per_node = 8;
    for (int kind = 0; kind < COLL_MEASURED; kind++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = kind, .bytes = 8, .count = 1, .group_size = 8, .stride = 1});
    s.workload = w;
    s.arena = arena_new();
    bench_weigh(&s);
    assert_int_equal(bench_screening_points(&s, places), 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(places[i].coll, i);
    workload_add_call(w, p, (struct workload_call){.kind = 0, .bytes = 16, .count = 2, .group_size = 8, .stride = 1});
    bench_weigh(&s);
    assert_int_equal(bench_screening_points(&s, places), 6);
    for (int i = 0; i < 6; i++)
        assert_true(places[i].coll == expected[i][0] && places[i].size == expected[i][1]);
    s.matters[COLL_ALLREDUCE] = 6;
    s.matters[COLL_BROADCAST] = 1;
    assert_int_equal(bench_task(&s).points, 9 + 2 + 2);
    s.plan = (struct bench_plan){.nlaunches = 5, .nbeside = 2, .keep_all = 1};
    /* One point is known to take 0.1 s a call, and stands for all. */
    const struct bench_measure_ops ops = {.sampling = {2000, 5000, 5}};
    const struct bench_engine engine = {.name = "fake", .measures = &ops};
    struct bench_result known = {.engine = "fake",
                                 .bytes = 8,
                                 .nodes = 1,
                                 .ranks = 8,
                                 .launch.label = BENCH_DEFAULT,
                                 .call.label = BENCH_DEFAULT,
                                 .times_us = (double[]){1e5},
                                 .ntimes = 1};
    struct bench_results results = {.items = &known};
    s.engine = &engine;
    s.results = &results;
    assert_true(bench_task(&s).samples_s == 0);
    results.count = 1;
    struct budget_task t = bench_task(&s);
    assert_true(t.points == 13 && t.launches == 6 && t.all == 1);
    assert_true(fabs(t.samples_s - 13 * 1e-6 * bench_sample_us(&ops.sampling, 1e5)) < 1e-9);
    arena_free(s.arena);
    workload_free(w);
}

TEST_CASE(what_a_shape_calls)
{
    static struct bench_shape shapes[] = {{1, 8, 0}, {1, 4, 1}};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    char *text = NULL;
    size_t bytes;
    struct log log = {.out = open_memstream(&text, &bytes), .program = "x"};
    struct bench_study s = study_of(~0u, 4);
    w->ranks = w->ranks_per_node = 8;
    for (int i = 0; i < 2; i++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = COLL_ALLREDUCE,
                                                 .bytes = 16,
                                                 .count = i ? 7 : 5,
                                                 .group_size = i ? 4 : 8,
                                                 .stride = 1,
                                                 .overlap_us = -1});
    s.workload = w;
    s.arena = arena_new();
    s.log = &log;
    s.shapes = shapes;
    s.nshapes = 2;
    bench_weigh(&s);
    for (int k = 0; k < 2; k++) {
        assert_true(bench_calls(&s, (struct bench_place){COLL_ALLREDUCE, 1, k}) == (k ? 7 : 5));
        assert_true(bench_calls(&s, (struct bench_place){COLL_ALLREDUCE, 2, k}) == 0);
        assert_true(bench_calls(&s, (struct bench_place){COLL_BROADCAST, 1, k}) == 0);
    }
    assert_true(!text || !*text);
    s.nshapes = 0;
    s.nodes = 2, s.ranks = 6;
    bench_weigh(&s);
    assert_true(bench_calls(&s, (struct bench_place){COLL_ALLREDUCE, 1, 0}) == 12);
    s.nodes = 1;
    bench_weigh(&s);
    assert_string_equal(text, "x: warning: the workload calls nothing over groups of 6 ranks on 2 nodes: its sizes and "
                              "counts are taken from all its groups\n"
                              "x: warning: the workload calls nothing over groups of 6 ranks on 1 node: its sizes and "
                              "counts are taken from all its groups\n");
    fclose(log.out);
    free(text);
    arena_free(s.arena);
    workload_free(w);
}

TEST_CASE(places_have_all_that_is_known)
{
    static struct bench_shape shapes[] = {{1, 8, 0}, {2, 3, 5}};
    static const struct bench_engine engine = {.name = "e"};
    struct bench_study s = study_of(~0u, 4);
    s.engine = &engine;
    s.plan.buffers = BENCH_GRAPH;
    struct known_place at = bench_place_of(&s, (struct bench_place){COLL_ALLGATHER, 3, 1, BENCH_BFLOAT16}, "l");
    assert_true(at.nodes == 1 && at.ranks == 8 && at.others == 0 && at.buffers == BENCH_BFLOAT16);
    assert_true(at.coll == COLL_ALLGATHER && at.bytes == 64);
    s.shapes = shapes;
    s.nshapes = 2;
    assert_int_equal(bench_count_shapes(&s), 2);
    at = bench_place_of(&s, (struct bench_place){COLL_ALLGATHER, 3, 1}, "l");
    assert_true(at.nodes == 2 && at.ranks == 3 && at.others == 5);
    assert_true(at.buffers == BENCH_GRAPH && at.bytes == 63);
    assert_string_equal(at.launch, "l");
    assert_string_equal(at.engine, "e");
    assert_true(bench_guess_us(0) == 30 && bench_guess_us(1000000) == 1030);
}

TEST_CASES(test_study)
