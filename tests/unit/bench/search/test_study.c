/* Which points there are and which of them decide, with and without a workload. */
#include "bench/search/study.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

#define BIT(coll) (1u << (coll))

static struct bench_options options;
static uint64_t sizes[32];
static struct arena *arena;

static int begin(void **state)
{
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

/* A study of one node with eight ranks, whose points are listed. */
static struct bench_study study_of(unsigned collectives, int nsizes, struct workload *w)
{
    static struct bench_results none;
    static struct bench_shape whole = {1, 8, 0};
    static const struct bench_measure_ops ops = {.sampling = {2000, 5000, 5}};
    static const struct bench_engine engine = {.name = "nccl", .measures = &ops};
    options = (struct bench_options){.collectives = collectives};
    for (int i = 0; i < nsizes; i++)
        sizes[i] = (uint64_t)8 << i;
    struct bench_study s = {.options = &options,
                            .engine = &engine,
                            .results = &none,
                            .arena = arena,
                            .workload = w,
                            .sizes = sizes,
                            .nsizes = nsizes,
                            .shapes = &whole,
                            .nshapes = 1};
    study_list_points(&s);
    return s;
}

/* What a step calls at a size on a shape; 0: that is no point. */
static double calls_of(const struct bench_study *s, int coll, int size, int shape)
{
    double calls = 0;
    for (int i = 0; i < s->npoints; i++)
        if (s->points[i].at.coll == coll && s->points[i].size == size && s->points[i].shape == shape)
            calls += s->points[i].calls;
    return calls;
}

TEST_CASE(they_span_all_sizes)
{
    for (int n = 1; n < 20; n++) {
        struct bench_study s = study_of(BIT(COLL_ALLREDUCE) | BIT(COLL_BROADCAST), n, NULL);
        int count = s.nscreening;
        assert_int_equal(count, n < 4 ? n : 4);
        assert_int_equal(s.screening[0].size, 0);
        assert_int_equal(s.screening[count - 1].size, n - 1);
        for (int i = 0; i < count; i++)
            assert_int_equal(s.screening[i].at.coll, COLL_ALLREDUCE);
        for (int i = 1; i < count; i++)
            assert_true(s.screening[i].size > s.screening[i - 1].size);
    }
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
    struct workload *w = workload_with(8);
    struct bench_study s = study_of(~0u, 10, w);
    assert_int_equal(s.npoints, 10);
    assert_int_equal(bench_task(&s).points, 10);
    assert_true(calls_of(&s, COLL_ALLREDUCE, 1, 0) == 1000);
    assert_true(calls_of(&s, COLL_ALLTOALL, 1, 0) == 0);
    assert_int_equal(s.nscreening, STUDY_SCREENING);
    assert_true(s.screening[0].at.coll == COLL_ALLREDUCE && s.screening[0].size == 1);
    for (int i = 1; i < STUDY_SCREENING; i++)
        assert_int_equal(s.screening[i].size, 4 + i);
    s = study_of(BIT(COLL_ALLTOALL), 10, w);
    assert_int_equal(s.npoints, 5);
    workload_free(w);
}

/* No group of the job is like the one that is measured: all of them count. */
TEST_CASE(a_workload_of_other_groups)
{
    struct workload *w = workload_with(4);
    struct bench_study s = study_of(~0u, 10, w);
    assert_int_equal(s.npoints, 10);
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
                study_of(BIT(COLL_ALLREDUCE) | BIT(exchange ? COLL_ALLTOALL : COLL_BROADCAST), cases[i].nsizes, NULL);
            char text[64] = "";
            for (int k = 0; k < s.nscreening; k++) {
                snprintf(text + strlen(text), sizeof text - strlen(text), " %s%d",
                         s.screening[k].at.coll == COLL_ALLTOALL ? "/" : "", s.screening[k].size);
                assert_int_equal(s.screening[k].shape + s.screening[k].at.buffers, 0);
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
        struct bench_study s = study_of(cases[i].asked, 10, NULL);
        int small = cases[i].first == COLL_ALLTOALLV; /* 8 bytes are too few for it */
        assert_int_equal(s.nscreening, cases[i].first == cases[i].last ? 4 - small : 6);
        assert_int_equal(s.screening[0].at.coll, cases[i].first);
        assert_int_equal(s.screening[s.nscreening - 1].at.coll, cases[i].last);
    }
}

/* Of points that take as long those that come first stay; what takes longer takes the place of the last of them. */
TEST_CASE(the_heaviest_points)
{
    static const int expected[][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {0, 1}};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    w->ranks = w->ranks_per_node = 8;
    for (int kind = 0; kind < COLL_MEASURED; kind++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = kind, .bytes = 8, .count = 1, .group_size = 8, .stride = 1});
    struct bench_study s = study_of(~0u, 10, w);
    assert_int_equal(s.nscreening, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(s.screening[i].at.coll, i);
    workload_add_call(w, p, (struct workload_call){.kind = 0, .bytes = 16, .count = 2, .group_size = 8, .stride = 1});
    s = study_of(~0u, 10, w);
    assert_int_equal(s.nscreening, 6);
    for (int i = 0; i < 6; i++)
        assert_true(s.screening[i].at.coll == expected[i][0] && s.screening[i].size == expected[i][1]);
    workload_free(w);
}

/* One point is known to take 0.1 s a call, and stands for all, with other data, too. */
TEST_CASE(what_a_run_is_to_measure)
{
    struct bench_study s = study_of(BIT(COLL_ALLREDUCE), 10, NULL);
    s.plan = (struct bench_plan){.nlaunches = 5, .nbeside = 2, .keep_all = 1};
    s.matters[COLL_ALLREDUCE] = 1u << BENCH_BFLOAT16 | 1u << BENCH_OUT_OF_PLACE;
    for (int i = 0; i < 2; i++) {
        study_list_variants(&s); /* from 32 bytes on: an element for each rank */
        assert_int_equal(s.npoints, 10 + 2 * 8);
    }
    struct bench_result known = {.engine = "nccl",
                                 .coll = COLL_ALLREDUCE,
                                 .bytes = 8,
                                 .nodes = 1,
                                 .ranks = 8,
                                 .launch.label = BENCH_DEFAULT,
                                 .call.label = BENCH_DEFAULT,
                                 .times_us = (double[]){1e5},
                                 .ntimes = 1};
    struct bench_results results = {.items = &known};
    s.results = &results;
    assert_true(bench_task(&s).samples_s == 0);
    results.count = 1;
    struct budget_task t = bench_task(&s);
    assert_true(t.points == 26 && t.launches == 6 && t.all == 1 && t.left_out == 9);
    assert_true(fabs(t.samples_s - 26 * 1e-6 * bench_sample_us(&s.engine->measures->sampling, 1e5)) < 1e-9);
}

TEST_CASE(what_a_shape_calls)
{
    static struct bench_shape shapes[] = {{1, 8, 0}, {1, 4, 1}};
    struct workload *w = workload_new();
    struct workload_phase *p = workload_add_phase(w, "step");
    char *text = NULL;
    size_t bytes;
    struct log log = {.out = open_memstream(&text, &bytes), .program = "x"};
    w->ranks = w->ranks_per_node = 8;
    for (int i = 0; i < 2; i++)
        workload_add_call(w, p,
                          (struct workload_call){.kind = COLL_ALLREDUCE,
                                                 .bytes = 16,
                                                 .count = i ? 7 : 5,
                                                 .group_size = i ? 4 : 8,
                                                 .stride = 1,
                                                 .overlap_us = -1});
    struct bench_study s = study_of(~0u, 4, w);
    s.log = &log;
    s.shapes = shapes;
    s.nshapes = 2;
    study_list_points(&s);
    assert_int_equal(s.npoints, 2);
    for (int k = 0; k < 2; k++)
        assert_true(calls_of(&s, COLL_ALLREDUCE, 1, k) == (k ? 7 : 5));
    assert_true(!text || !*text);
    s.nshapes = 1;
    s.shapes = &(struct bench_shape){2, 6, 0};
    study_list_points(&s);
    assert_true(calls_of(&s, COLL_ALLREDUCE, 1, 0) == 12);
    s.shapes->nodes = 1;
    study_list_points(&s);
    assert_string_equal(text, "x: warning: the workload calls nothing over groups of 6 ranks on 2 nodes: its sizes and "
                              "counts are taken from all its groups\n"
                              "x: warning: the workload calls nothing over groups of 6 ranks on 1 node: its sizes and "
                              "counts are taken from all its groups\n");
    fclose(log.out);
    free(text);
    workload_free(w);
}

/* AllGather, ReduceScatter and AllToAll want equal blocks; sizes that come to as many bytes are one point. */
TEST_CASE(points_have_all_that_is_known)
{
    static struct bench_shape shapes[] = {{1, 8, 0}, {2, 3, 5}};
    struct bench_study s = study_of(BIT(COLL_ALLREDUCE) | BIT(COLL_ALLGATHER), 4, NULL);
    s.plan.buffers = BENCH_GRAPH;
    s.shapes = shapes;
    s.nshapes = 2;
    study_list_points(&s);
    assert_int_equal(s.npoints, 16);
    const struct known_place *at = &study_find_point(&s, COLL_ALLGATHER, 3)->at;
    assert_true(at->nodes == 1 && at->ranks == 8 && at->others == 0 && at->buffers == BENCH_GRAPH);
    assert_true(at->coll == COLL_ALLGATHER && at->bytes == 64);
    assert_string_equal(at->launch, BENCH_DEFAULT);
    assert_string_equal(at->engine, "nccl");
    at = &s.points[s.npoints - 2].at;
    assert_true(at->nodes == 2 && at->ranks == 3 && at->others == 5 && at->coll == COLL_ALLREDUCE && at->bytes == 64);
    at = &s.points[s.npoints - 1].at;
    assert_true(at->coll == COLL_ALLGATHER && at->bytes == 63);
    s.shapes = &(struct bench_shape){1, 16, 0};
    s.nshapes = 1;
    study_list_points(&s);
    assert_null(study_find_point(&s, COLL_ALLGATHER, 0)); /* 8 bytes */
    sizes[1] = 17, sizes[2] = 18;
    study_list_points(&s);
    assert_non_null(study_find_point(&s, COLL_ALLGATHER, 1));
    assert_null(study_find_point(&s, COLL_ALLGATHER, 2)); /* 16 bytes again */
    assert_true(bench_guess_us(0) == 30 && bench_guess_us(1000000) == 1030);
}

TEST_CASES_WITHIN(test_study, begin, end)
