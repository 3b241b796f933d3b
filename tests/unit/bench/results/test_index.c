/* Answers by the index are those of a walk over all results, whatever was measured in whatever order. */
#include "bench/results/history.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

#define RESULTS 700 /* the tables grow four times */

static const char *const launches[] = {"default", "ib0", "ib1"}, *const calls[] = {"default", "ring", "tree", "never"};
static const uint64_t sizes[] = {8, 1024, 65536, 1 << 20};

static unsigned drawn;

static int below(int n)
{
    drawn = drawn * 1103515245 + 12345;
    return (int)(drawn >> 16) % n;
}

/* Most places differ in one member alone. */
static struct history_place draw_place(void)
{
    struct history_place at = {.coll = COLL_ALLREDUCE, .nodes = 2, .ranks = 4, .engine = "mpi"};
    at.bytes = sizes[below(4)];
    at.launch = launches[below(3)];
    int *const members[] = {&at.coll, &at.nodes, &at.ranks, &at.others, &at.buffers};
    if (!below(3))
        ++*members[below(5)];
    return at;
}

static struct bench_results draw_results(struct arena *a, double *times)
{
    struct bench_results r = {.arena = a, .items = arena_alloc(a, RESULTS * sizeof *r.items), .count = RESULTS};
    for (int i = 0; i < RESULTS; i++) {
        const struct history_place at = draw_place();
        times[i] = 10 + below(1000);
        r.items[i] =
            (struct bench_result){.engine = below(9) ? "mpi" : "nccl",
                                  .library = "x",
                                  .launch = {.label = at.launch},
                                  .call = {.label = calls[below(3)]},
                                  .round = below(3),
                                  .times_us = &times[i],
                                  .ntimes = 1,
                                  .over_default = below(2) ? 0.5 + 0.01 * below(100) : 0,
                                  .status = below(4) ? BENCH_OK : (enum bench_status)below(BENCH_STATUS_COUNT)};
        history_set_place(&r.items[i], &at);
        r.index = bench_index_add(r.index, &r.items[i], a);
    }
    return r;
}

TEST_CASE(as_by_walking)
{
    struct arena *a = arena_new();
    double times[RESULTS];
    struct bench_results r = draw_results(a, times), walked = r;
    int known = 0;
    walked.index = NULL;
    for (int i = 0; i < 2000; i++) {
        const struct history_place at = draw_place();
        const char *call = calls[below(4)];
        int round = below(3);
        assert_int_equal(history_done(&r, &at, call, round), history_done(&walked, &at, call, round));
        assert_int_equal(history_status(&r, &at, call), history_status(&walked, &at, call));
        assert_true(history_time_us(&r, &at, call) == history_time_us(&walked, &at, call));
        assert_true(history_undisturbed_us(&r, &at, call, round) == history_undisturbed_us(&walked, &at, call, round));
        assert_true(history_expect_us(&r, &at, call) == history_expect_us(&walked, &at, call));
        assert_int_equal(history_hopeless(&r, &at, call), history_hopeless(&walked, &at, call));
        known += history_time_us(&r, &at, call) > 0;
    }
    assert_in_range(known, 500, 1500);
    arena_free(a);
}

TEST_CASES(test_index)
