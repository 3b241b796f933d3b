/* Places, sizes and shapes by what is known of them, on results that are made up: at the bounds of every condition. */
#include "bench/search/shapes.h"
#include "bench/search/sizes.h"
#include "tests/lib/unit.h"

static struct bench_options options;
static struct bench_results results;
static struct bench_study study;
static struct arena *arena;
static const struct bench_engine engine = {.name = "e"};
static struct bench_call calls[] = {{COLL_ALLREDUCE, 1, {.label = BENCH_DEFAULT}, NULL},
                                    {COLL_ALLREDUCE, 1, {.label = "a"}, NULL},
                                    {COLL_ALLREDUCE, 1, {.label = "b"}, NULL},
                                    {COLL_BROADCAST, 1, {.label = "a"}, NULL}};

static int begin(void **state)
{
    arena = arena_new();
    options = (struct bench_options){.collectives = 1u << COLL_ALLREDUCE};
    results = (struct bench_results){.arena = arena};
    study = (struct bench_study){.options = &options,
                                 .engine = &engine,
                                 .results = &results,
                                 .arena = arena,
                                 .plan = {.calls = calls, .ncalls = 4},
                                 .nodes = 2,
                                 .ranks = 4};
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

static void set_sizes(const uint64_t *sizes, int n)
{
    study.sizes = arena_alloc(arena, (size_t)n * sizeof *sizes);
    memcpy(study.sizes, sizes, (size_t)n * sizeof *sizes);
    study.nsizes = n;
}
#define SIZES(...) \
    set_sizes((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* A measurement of AllReduce in a shape, by its index. */
static void took_in(int shape, int size, const char *call, double us)
{
    double *sample = arena_alloc(arena, sizeof *sample);
    struct history_place at =
        bench_place_of(&study, (struct bench_place){COLL_ALLREDUCE, size, shape, 0}, BENCH_DEFAULT);
    *sample = us;
    results.items = arena_grow(arena, results.items, (size_t)results.count, sizeof *results.items);
    results.items[results.count++] = (struct bench_result){.engine = "e",
                                                           .library = "x",
                                                           .launch = {.label = BENCH_DEFAULT},
                                                           .call = {.label = call},
                                                           .times_us = sample,
                                                           .ntimes = 1};
    history_set_place(&results.items[results.count - 1], &at);
}

static void took(int size, const char *call, double us)
{
    took_in(0, size, call, us);
}

/* The sizes, with blanks between. */
static const char *sizes(void)
{
    const char *text = "";
    for (int i = 0; i < study.nsizes; i++)
        text = arena_printf(arena, "%s%s%llu", text, i ? " " : "", (unsigned long long)study.sizes[i]);
    return text;
}

/* ---- sizes ---- */

TEST_CASE(as_large_as_memory)
{
    char *text = NULL;
    size_t n;
    struct log log = {.out = open_memstream(&text, &n), .program = "x"};
    study.log = &log;
    SIZES(64, 1024, 4096);
    sizes_fit(&study, 100); /* a user has said how far */
    assert_string_equal(sizes(), "64 1024 4096");
    options.to_memory = 1;
    sizes_fit(&study, 0);
    sizes_fit(&study, 4096);
    assert_string_equal(sizes(), "64 1024 4096");
    assert_string_equal(text ? text : "", "");
    sizes_fit(&study, 2048);
    assert_string_equal(sizes(), "64 1024");
    sizes_fit(&study, 1);
    assert_string_equal(sizes(), "64"); /* one is left in any case */
    assert_string_equal(text, "x: sizes go up to 1 KiB: the free GPU memory has room for 2 KiB\n"
                              "x: sizes go up to 64 B: the free GPU memory has room for 1 B\n");
    fclose(log.out);
    free(text);
}

/* "a" below and "b" above, each clearly worse at the other's size. */
static void border(int after)
{
    took(after, "a", 100), took(after, "b", 105.1);
    took(after + 1, "a", 105.1), took(after + 1, "b", 100);
}

TEST_CASE(between_where_choices_change)
{
    SIZES(64, 1024, 4096);
    border(0);
    took(2, "b", 100);
    assert_int_equal(sizes_add(&study), 1);
    assert_string_equal(sizes(), "64 256 1024 4096");
}

TEST_CASE(not_where_either_would_do)
{
    static const double at_other_size[][2] = {{105, 106}, {106, 105}, {99, 106}};
    for (size_t i = 0; i < sizeof at_other_size / sizeof *at_other_size; i++) {
        SIZES(64, 1024);
        results.count = 0;
        took(0, "a", 100), took(0, "b", at_other_size[i][0]);
        took(1, "a", at_other_size[i][1]), took(1, "b", 100);
        assert_int_equal(sizes_add(&study), 0);
        assert_string_equal(sizes(), "64 1024");
    }
    results.count = 0; /* who was not even measured at the other size has lost there */
    took(0, "a", 100), took(1, "b", 100);
    assert_int_equal(sizes_add(&study), 1);
    results.count = 0;
    SIZES(64, 1024);
    took(0, "a", 100); /* nobody knows */
    assert_int_equal(sizes_add(&study), 0);
}

TEST_CASE(not_where_somebody_has_said_which)
{
    SIZES(64, 1024);
    border(0);
    study.calls = (double[2 * COLL_MEASURED]){0};
    assert_int_equal(sizes_add(&study), 0);
    study.calls = NULL;
    options.sizes.count = 1;
    assert_int_equal(sizes_add(&study), 0);
    options.sizes.count = 0;
    study.plan.keep_all = 1;
    assert_int_equal(sizes_add(&study), 0);
    study.plan.keep_all = 0;
    options.collectives = 1u << COLL_BROADCAST; /* of which nothing is measured */
    assert_int_equal(sizes_add(&study), 0);
    options.collectives |= 1u << COLL_ALLREDUCE;
    assert_int_equal(sizes_add(&study), 1);
}

TEST_CASE(in_the_middle_by_whole_floats)
{
    static const struct {
        uint64_t low, high;
        const char *sizes;
    } cases[] = {
        {6, 20, "6 8 20"}, /* 10.95 */
        {2, 8, "2 4 8"},   /* 4 */
        {3, 12, "3 4 12"}, /* 6 */
        {4, 9, "4 9"},     /* 6, and 4 is there */
        {5, 10, "5 10"},   /* 7.07, and 4 is below */
        {1000, 1900, "1000 1376 1900"},
        {1000, 1899, "1000 1899"}, /* too near */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        results.count = 0;
        SIZES(cases[i].low, cases[i].high);
        border(0);
        sizes_add(&study);
        assert_string_equal(sizes(), cases[i].sizes);
    }
}

TEST_CASE(so_many_and_no_more)
{
    SIZES(1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20);
    for (int i = 0; i < 9; i++) {
        took(i, i % 2 ? "a" : "b", 100);
        took(i, i % 2 ? "b" : "a", 200);
    }
    assert_int_equal(sizes_add(&study), SIZES_ADDED);
    assert_string_equal(sizes(), "16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536 262144 1048576");
}

/* The middle one of three tells nothing where "a" is best on both sides and both it and the default take in proportion
 * to the size, within 3 %. */
static int tells_nothing(double a_low, double a_high, double default_high)
{
    SIZES(100, 200, 400, 800, 1600);
    results.count = 0;
    took(2, BENCH_DEFAULT, 200), took(2, "a", a_low), took(2, "b", 150);
    took(4, BENCH_DEFAULT, default_high), took(4, "a", a_high), took(4, "b", 600);
    return sizes_tell_nothing(&study, (struct bench_place){COLL_ALLREDUCE, 3, 0, 0});
}

TEST_CASE(what_lies_in_proportion)
{
    struct bench_place at = {COLL_ALLREDUCE, 3, 0, 0}, even = {COLL_ALLREDUCE, 2, 0, 0},
                       last = {COLL_ALLREDUCE, 5, 0, 0};
    assert_true(tells_nothing(100, 400, 800));
    assert_false(sizes_tell_nothing(&study, even));
    assert_false(sizes_tell_nothing(&study, last));
    study.calls = (double[5 * COLL_MEASURED]){0};
    assert_false(sizes_tell_nothing(&study, at));
    study.calls = NULL;
    options.sizes.count = 1;
    assert_false(sizes_tell_nothing(&study, at));
    options.sizes.count = 0;
    study.plan.keep_all = 1;
    assert_false(sizes_tell_nothing(&study, at));
    study.plan.keep_all = 0;
    assert_true(sizes_tell_nothing(&study, at));
    assert_true(tells_nothing(100, 411, 800));
    assert_true(tells_nothing(100, 389, 820));
    assert_false(tells_nothing(100, 413, 800));
    assert_false(tells_nothing(100, 388, 800));
    assert_false(tells_nothing(100, 400, 825));
    assert_false(tells_nothing(100, 400, 776));
    assert_true(tells_nothing(160, 700, 800)); /* "b" is best on both sides, and takes in proportion */
    study.plan.ncalls = 2;
    assert_false(tells_nothing(160, 700, 800));
    study.plan.ncalls = 4;
    assert_false(tells_nothing(100, 650, 800)); /* another one is best above */
    results.count = 3;
    assert_false(sizes_tell_nothing(&study, at)); /* nobody knows */
}

/* ---- shapes ---- */

static struct bench_shape shapes[] = {{2, 4, 0}, {1, 2, 1}, {1, 2, 0}, {1, 2, 1, BENCH_COMPUTE}, {2, 2, 0}};

TEST_CASE(twins)
{
    static const int twin[] = {-1, -1, 1, 1, -1, -1};
    study.shapes = shapes;
    study.nshapes = 5;
    for (int i = 0; i < 6; i++)
        assert_int_equal(search_shapes_twin(&study, i), twin[i]);
    study.plan.keep_all = 1;
    assert_int_equal(search_shapes_twin(&study, 2), -1);
}

TEST_CASE(probes)
{
    static const struct {
        int nsizes, n, sizes[SEARCH_PROBES];
    } cases[] = {{1, 1, {0}}, {2, 2, {0, 1}}, {3, 3, {0, 1, 2}}, {4, 3, {0, 2, 3}}, {9, 3, {0, 4, 8}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int found[SEARCH_PROBES];
        study.nsizes = cases[i].nsizes;
        assert_int_equal(search_shapes_probes(&study, found), cases[i].n);
        assert_memory_equal(found, cases[i].sizes, (size_t)cases[i].n * sizeof *found);
    }
}

/* Whether the shape behaves like the one before it, where at the last size "a" takes `us` and the default `own_us`. */
static int alike(int shape, double us, double own_us)
{
    study.shapes = shapes;
    study.nshapes = 5;
    SIZES(64, 256, 1024, 4096);
    results.count = 0;
    for (int i = 0; i < 4; i++) {
        took_in(1, i, BENCH_DEFAULT, 100), took_in(1, i, "a", 80);
        took_in(shape, i, BENCH_DEFAULT, i == 3 && own_us > 0 ? own_us : i == 1 ? 500 : 100);
        if (i != 3 || us > 0)
            took_in(shape, i, "a", i == 3 ? us : i == 1 ? 500 : 80);
    }
    return search_shapes_alike(&study, shape);
}

TEST_CASE(what_behaves_alike)
{
    assert_true(alike(2, 80, 100)); /* and nobody asks what the second size took, which is no probe */
    assert_true(alike(2, 84, 100));
    assert_true(alike(2, 76.2, 100));
    assert_false(alike(2, 84.2, 100));
    assert_false(alike(2, 76, 100));
    assert_true(alike(2, 80, 105));
    assert_false(alike(2, 80, 106));
    assert_false(alike(2, 0, 100)); /* a shape of which the default alone was measured: its calls may differ */
    results.count = 7;
    assert_false(search_shapes_alike(&study, 2));
    assert_false(search_shapes_alike(&study, 0)); /* like none */
    /* Beside a load in proportion to the default. */
    assert_true(alike(3, 160, 200));
    assert_true(alike(3, 168, 200));
    assert_false(alike(3, 169, 200));
    assert_false(alike(3, 80, 200));
    assert_false(alike(2, 160, 200));
    options.collectives = 1u << COLL_BROADCAST; /* nothing that is measured differs */
    assert_true(search_shapes_alike(&study, 2));
}

TEST_CASES_EACH(test_places, begin, end)
