/* envgen/predict/calibration.c: which measurements the model is held against, and where a calibration is kept. */
#include "core/coll.h"
#include "envgen/predict/predict.h"
#include "tests/lib/unit.h"

static const struct bench_setting cell[] = {{"algorithm", "tree"}, {"protocol", "ll128"}, {"channels", "4"}};
static const struct bench_setting chunk[] = {{"algorithm", "ring"}, {"protocol", "simple"}, {"chunk_bytes", "65536"}};

#define MEASURED(us)  \
    {                 \
        us, us, us, 5 \
    }

/* Only the first two of them: as jobs run it, measured, with right data, on NCCL's own choice of chunks. */
static struct bench_candidate candidates[] = {
    {.launch = {BENCH_DEFAULT}, .call = {BENCH_DEFAULT}, .time_us = MEASURED(11)},
    {.launch = {BENCH_DEFAULT}, .call = {"cell", cell, 3}, .time_us = {12, 1, 90, 1}},
    {.launch = {"other"}, .call = {BENCH_DEFAULT}, .time_us = MEASURED(13)},
    {.launch = {BENCH_DEFAULT}, .call = {BENCH_DEFAULT}, .time_us = MEASURED(14), .status = BENCH_DROPPED},
    {.launch = {BENCH_DEFAULT}, .call = {BENCH_DEFAULT}, .time_us = {.median = 15}},
    {.launch = {BENCH_DEFAULT}, .call = {BENCH_DEFAULT}, .time_us = {16, 16, 16, 1, .predicted = 1}},
    {.launch = {BENCH_DEFAULT}, .call = {"chunk", chunk, 3}, .time_us = MEASURED(17)},
};

static struct bench_point point(const char *library, int nodes)
{
    return (struct bench_point){.library = library,
                                .coll = COLL_ALLGATHER,
                                .bytes = 4096,
                                .nodes = nodes,
                                .ranks = 8 * nodes,
                                .others = 1,
                                .candidates = candidates,
                                .ncandidates = sizeof candidates / sizeof *candidates};
}

TEST_CASE(what_tells)
{
    struct arena *a = arena_new();
    struct bench_point items[] = {point("Open MPI 4.1.4", 2), point(NULL, 2), point("NCCL 2.28.9", 2),
                                  point("NCCL 2.28.9", 4), point("NCCL 2.21.5", 1)};
    items[3].buffers = BENCH_GRAPH;
    const struct bench_points p = {.items = items, .count = 5};
    int n, version;
    const struct model_observation *o = calibration_observe(&p, a, &n, &version);
    assert_int_equal(n, 4);
    assert_int_equal(version, 22105);
    for (int i = 0; i < n; i++) {
        assert_int_equal(o[i].coll, COLL_ALLGATHER);
        assert_int_equal(o[i].bytes, 4096);
        assert_int_equal(o[i].nodes, i < 2 ? 2 : 1);
        assert_int_equal(o[i].ranks, i < 2 ? 16 : 8);
        assert_int_equal(o[i].others, 1);
        assert_near(o[i].us, 11 + i % 2, 0);
        assert_int_equal(o[i].algo, i % 2 ? ALGO_TREE : -1);
        assert_int_equal(o[i].proto, i % 2 ? PROTO_LL128 : -1);
        assert_int_equal(o[i].channels, i % 2 ? 4 : 0);
    }
    const struct bench_points none = {.items = items, .count = 2};
    assert_null(calibration_observe(&none, a, &n, &version));
    assert_int_equal(n, 0);
    assert_int_equal(version, 0);
    arena_free(a);
}

TEST_CASES(test_calibration_points)
