/* Candidates: what the library offers, in its order, less what has failed. */
#include "bench/search/candidates.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static struct bench_call calls[] = {
    {COLL_ALLREDUCE, 1, {.label = BENCH_DEFAULT}, NULL}, {COLL_ALLREDUCE, 1, {.label = "a"}, NULL},
    {COLL_ALLREDUCE, 1, {.label = "a/1"}, "a"},          {COLL_ALLREDUCE, 1, {.label = "a/2"}, "a"},
    {COLL_ALLREDUCE, 1, {.label = "b"}, NULL},           {COLL_ALLREDUCE, 256, {.label = "c"}, NULL},
    {COLL_BROADCAST, 1, {.label = BENCH_DEFAULT}, NULL}, {COLL_BROADCAST, 1, {.label = "d"}, NULL},
};
#define CALLS ((int)(sizeof calls / sizeof *calls))

static struct arena *arena;
static struct bench_results results;
static struct bench_study study;
static struct bench_measure_ops ops;
static const struct bench_engine engine = {.name = "e", .measures = &ops};

/* What the library predicts, by the letter of a call. */
static double predicted[3];

static double expect(struct bench_session *s, const struct known_place *at, const struct bench_knobs *call,
                     volatile sig_atomic_t *stop)
{
    (void)s, (void)at, (void)stop;
    return call->label[1] ? 0 : predicted[call->label[0] - 'a'];
}

static int vary(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS])
{
    (void)s, (void)bytes;
    for (int i = 0; i < 3; i++)
        out[i] = (struct bench_knobs){.label = arena_printf(a, "%s+%d", call->label, i)};
    return 3;
}

static int begin(void **state)
{
    arena = arena_new();
    results = (struct bench_results){.arena = arena};
    ops = (struct bench_measure_ops){0};
    study = (struct bench_study){
        .engine = &engine, .plan = {.calls = calls, .ncalls = CALLS}, .results = &results, .arena = arena};
    memset(predicted, 0, sizeof predicted);
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

static struct bench_result *took(const char *launch, uint64_t bytes, const char *call, double us)
{
    double *sample = arena_alloc(arena, sizeof *sample);
    *sample = us;
    results.items = arena_grow(arena, results.items, (size_t)results.count, sizeof *results.items);
    struct bench_result *r = &results.items[results.count++];
    *r = (struct bench_result){.engine = "e",
                               .library = "x",
                               .coll = COLL_ALLREDUCE,
                               .bytes = bytes,
                               .nodes = 1,
                               .ranks = 4,
                               .launch = {.label = launch},
                               .call = {.label = call},
                               .round = 1,
                               .times_us = sample,
                               .ntimes = us > 0};
    return r;
}

/* The candidates' labels with blanks between, a + before those that refine. */
static const char *list(const char *launch, uint64_t bytes, int round)
{
    struct rounds r = {.arena = arena,
                       .engine = &ops,
                       .at = {.coll = COLL_ALLREDUCE, .bytes = bytes, .nodes = 1, .ranks = 4, .launch = launch}};
    const char *text = "";
    candidates_list(&study, 1, &r);
    for (int i = 0; i < r.ncandidates; i++) {
        assert_int_equal(r.candidates[i].status, BENCH_OK);
        text = arena_printf(arena, "%s%s%s%s", text, i ? " " : "", r.candidates[i].refines ? "+" : "",
                            r.candidates[i].knobs->label);
    }
    return text;
}

TEST_CASE(what_the_library_says)
{
    assert_string_equal(list("l", 256, 1), "default a +a/1 +a/2 b c");
    assert_string_equal(list("l", 255, 1), "default a +a/1 +a/2 b");
    ops.expect_us = expect;
    predicted[1] = 50, predicted[2] = 20;
    assert_string_equal(list("l", 256, 1), "default c b a +a/1 +a/2");
    predicted[0] = 50; /* the plan's order where it is the same */
    assert_string_equal(list("l", 256, 1), "default c a b +a/1 +a/2");
    predicted[2] = -1;
    assert_string_equal(list("l", 256, 1), "default a b +a/1 +a/2");
    took("l", 64, "a/1", 0)->status = BENCH_FAILED; /* refused at any size */
    assert_string_equal(list("l", 256, 1), "default a b +a/2");
}

TEST_CASE(variations_that_are_new)
{
    struct candidate room[8];
    struct rounds r = {.arena = arena,
                       .engine = &ops,
                       .at = {.coll = COLL_ALLREDUCE, .bytes = 512, .nodes = 1, .ranks = 4, .launch = "l"},
                       .candidates = room};
    ops.vary = vary;
    assert_int_equal(candidates_vary(&study, &r, &calls[1].knobs), 3);
    assert_string_equal(r.candidates[2].knobs->label, "a+2");
    assert_string_equal(r.candidates[2].refines, "a");
    took("l", 4096, "a+2", 0)->status = BENCH_FAILED; /* refused */
    assert_int_equal(candidates_vary(&study, &r, &calls[1].knobs), 2);
    assert_int_equal(r.ncandidates, 5);
}

TEST_CASES_EACH(test_candidates, begin, end)
