/* What of a measurement's options makes sense, at the bounds, and the sizes that they stand for. */
#include "bench/search/bench.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static const struct bench_engine *engine;
static struct err error;

/* The usual options with a change. */
#define AFTER(change)                                  \
    ({                                                 \
        struct bench_options o;                        \
        bench_options_default(&o);                     \
        error = (struct err){0};                       \
        change;                                        \
        bench_options_check(&o, &engine, &error) == 0; \
    })

static void refused(int accepted, const char *words)
{
    assert_false(accepted);
    assert_int_equal(error.code, ERR_USAGE);
    if (!strstr(error.text, words))
        fail_msg("%s", error.text);
}

TEST_CASE(bounds_are_accepted)
{
    assert_true(AFTER((void)0));
    assert_string_equal(engine->name, "mpi");
    assert_true(AFTER(o.engine = "nccl"));
    assert_string_equal(engine->name, "nccl");
    assert_true(AFTER(o.min_bytes = 1));
    assert_true(AFTER(o.min_bytes = o.max_bytes));
    assert_true(AFTER(o.max_bytes = 1 << 30));
    assert_true(AFTER((o.engine = "nccl", o.max_bytes = 1ull << 31)));
    assert_true(AFTER(o.step_factor = 1.1));
    assert_true(AFTER(o.budget_s = 0.5));
    assert_true(AFTER(o.watchdog_s = 0.5));
    assert_true(AFTER(o.collectives = 1u << COLL_BROADCAST));
    assert_true(AFTER(o.shapes.count = 1));
    assert_true(AFTER((o.sizes.count = 1, o.sizes.bytes[0] = 1)));
    assert_true(AFTER((o.sizes.count = 3, o.sizes.bytes[0] = 8, o.sizes.bytes[1] = 9, o.sizes.bytes[2] = 1 << 30)));
    assert_true(AFTER(o.workload = "w.json"));
}

TEST_CASE(nonsense_is_refused)
{
    refused(AFTER(o.engine = "smoke"), "there are: mpi");
    assert_non_null(strstr(error.text, "nccl"));
    refused(AFTER(o.engine = "verbs"), "--engine verbs says more");
    refused(AFTER(o.collectives = 0), "no collective");
    refused(AFTER(o.min_bytes = 0), "at least 1 B");
    refused(AFTER(o.min_bytes = o.max_bytes + 1), "the smaller one first");
    refused(AFTER(o.max_bytes = (1 << 30) + 1), "at most 1 GiB");
    refused(AFTER((o.sizes.count = 1, o.sizes.bytes[0] = 0)), "listed sizes");
    refused(AFTER((o.sizes.count = 2, o.sizes.bytes[0] = 8, o.sizes.bytes[1] = 8)), "each above");
    refused(AFTER((o.sizes.count = 1, o.sizes.bytes[0] = (1 << 30) + 1)), "listed sizes");
    refused(AFTER((o.sizes.count = 1, o.sizes.bytes[0] = 8, o.workload = "w.json")), "mutually exclusive");
    refused(AFTER(o.step_factor = 1.09), "1.1");
    refused(AFTER(o.step_factor = 0.0 / 0.0), "1.1");
    refused(AFTER(o.budget_s = 0), "must be above 0");
    refused(AFTER(o.watchdog_s = 0), "must be above 0");
}

TEST_CASE(sizes_go_by_the_factor)
{
    static const uint64_t by_half[] = {1, 2, 3, 5, 7, 8}, by_four[] = {8, 32, 128, 512, 600};
    struct bench_options o;
    struct arena *a = arena_new();
    int n;
    bench_options_default(&o);
    o.max_bytes = 600;
    const uint64_t *sizes = bench_sizes(&o, a, &n);
    assert_int_equal(n, 5);
    assert_memory_equal(sizes, by_four, sizeof by_four);
    o.min_bytes = 1; /* what rounds to the same is there once */
    o.max_bytes = 8;
    o.step_factor = 1.5;
    sizes = bench_sizes(&o, a, &n);
    assert_int_equal(n, 6);
    assert_memory_equal(sizes, by_half, sizeof by_half);
    o.sizes = (struct bench_size_list){2, {4, 6}};
    sizes = bench_sizes(&o, a, &n);
    assert_int_equal(n, 2);
    assert_true(sizes[0] == 4 && sizes[1] == 6);
    arena_free(a);
}

TEST_CASES(test_options)
