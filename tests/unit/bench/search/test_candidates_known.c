/* Candidates by what is known of them: nearby, in the baseline launch, and from the library; at the bounds of each. */
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
static struct candidate_source source;

/* What the library predicts, by the letter of a call. */
static double predicted[3];

static double expect(struct bench_session *s, const struct history_place *at, const struct bench_knobs *call,
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
    struct history_place at = {.coll = COLL_ALLREDUCE, .bytes = bytes, .nodes = 1, .ranks = 4, .launch = launch};
    struct rounds r = {.arena = arena, .coll = COLL_ALLREDUCE, .bytes = bytes, .shape = {1, 4, 0}};
    const char *text = "";
    source = (struct candidate_source){.study = &study, .launch = launch, .round = round, .full = 1};
    candidates_list(&source, &at, &r);
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
    took("l", 128, "c", 1); /* not offered, whatever it took elsewhere */
    took("l", 128, "b", 100);
    assert_string_equal(list("l", 256, 1), "default a b +a/1 +a/2");
    took("l", 64, "a", 60); /* 240 here; what was measured counts more than a prediction */
    assert_string_equal(list("l", 256, 1), "default b a +a/1 +a/2");
}

TEST_CASE(what_it_took_in_the_untouched_launch)
{
    took(BENCH_DEFAULT, 64, BENCH_DEFAULT, 100);
    took(BENCH_DEFAULT, 64, "b", 30);
    struct bench_result *a = took(BENCH_DEFAULT, 64, "a", 60);
    assert_string_equal(list("l", 64, 1), "default a +a/1 +a/2 b"); /* nobody knows how much faster this launch is */
    took("l", 64, BENCH_DEFAULT, 50);
    a = &results.items[2];
    assert_string_equal(list("l", 64, 1), "default b a +a/1 +a/2"); /* twice as long as the best */
    *(double *)(void *)a->times_us = 60.2;
    assert_string_equal(list("l", 64, 1), "default b +a/1 +a/2");
    assert_string_equal(list(BENCH_DEFAULT, 64, 2), "default b a"); /* that launch itself tries again */
    took(BENCH_DEFAULT, 64, "a/2", 59);
    assert_string_equal(list("l", 64, 1), "default b +a/2 a +a/1"); /* what refines it was better */
    results.items[0].status = BENCH_WRONG;                          /* nothing to compare with any more */
    assert_string_equal(list("l", 64, 1), "default a +a/1 +a/2 b");
}

/* By a smaller size b takes 16 us here, and a would take 75; there it took one and a half times what b did. */
TEST_CASE(far_behind_is_what_was_so_there)
{
    took(BENCH_DEFAULT, 64, BENCH_DEFAULT, 100);
    took(BENCH_DEFAULT, 64, "a", 150);
    took(BENCH_DEFAULT, 64, "b", 100);
    took("l", 64, BENCH_DEFAULT, 50);
    took("l", 4, "b", 1);
    assert_string_equal(list("l", 64, 1), "default b a +a/1 +a/2");
}

TEST_CASE(what_lost_on_both_sides)
{
    took("l", 64, BENCH_DEFAULT, 10), took("l", 1024, BENCH_DEFAULT, 10);
    took("l", 64, "b", 10), took("l", 1024, "b", 10);
    took("l", 64, "a", 11)->status = BENCH_DROPPED;
    took("l", 1024, "a", 11)->status = BENCH_DROPPED;
    took("l", 64, "c", 11)->status = BENCH_DROPPED;
    took("l", 1024, "c", 11)->status = BENCH_DROPPED;
    assert_string_equal(list("l", 512, 1), "default b a c +a/1 +a/2");
    for (int i = 4; i < 8; i++)
        *(double *)(void *)results.items[i].times_us = 11.1;
    assert_string_equal(list("l", 512, 1), "default b a +a/1 +a/2"); /* it has refinements, and is close enough */
    for (int i = 4; i < 8; i++)
        *(double *)(void *)results.items[i].times_us = 16.1;
    assert_string_equal(list("l", 512, 1), "default b +a/1 +a/2");
    results.items[5].status = BENCH_OK; /* on one side alone */
    assert_string_equal(list("l", 512, 1), "default b a +a/1 +a/2");
}

/* Two of those that were measured here meet again, the fastest, and what has not been is tried: by itself where what it
 * refines has been, and was close. */
TEST_CASE(the_finalists)
{
    took("l", 512, BENCH_DEFAULT, 10);
    took("l", 512, "a", 12), took("l", 512, "b", 11), took("l", 512, "c", 13), took("l", 512, "a/1", 10);
    assert_string_equal(list("l", 512, 2), "default a/1 b a/2");
    results.items[2].round = 2;
    assert_string_equal(list("l", 512, 2), "default a/1 a a/2"); /* "b" is done in this round */
    took("l", 512, "b", 0)->status = BENCH_CRASHED;
    assert_string_equal(list("l", 512, 1), "default a/2");
    assert_string_equal(list("l", 512, 3), "default a/1 a a/2");
    results.items[1].status = BENCH_DROPPED; /* "a" has lost, and is not tried again */
    assert_string_equal(list("l", 512, 3), "default a/1 c a/2");
    *(double *)(void *)results.items[1].times_us = 16;
    assert_string_equal(list("l", 512, 3), "default a/1 c a/2");
    *(double *)(void *)results.items[1].times_us = 16.1;
    assert_string_equal(list("l", 512, 3), "default a/1 c");
}

/* Variations stand in no plan; each is listed once, by what it took here. */
TEST_CASE(variations_of_earlier_rounds)
{
    took("l", 512, "v", 5), took("l", 512, "v", 5), took("l", 512, "w", 4);
    took("m", 512, "x", 1), took("l", 256, "x", 1), took("l", 512, "d", 1)->coll = COLL_BROADCAST;
    took("l", 512, "d", 9);
    took("l", 512, "y", 1)->status = BENCH_DROPPED;
    took("l", 512, "z", 1)->round = 2;
    assert_string_equal(list("l", 512, 2), "default w v a +a/1 +a/2 b c");
    assert_string_equal(list("l", 512, 3), "default z w a +a/1 +a/2 b c");
}

TEST_CASE(variations_that_are_new)
{
    struct candidate room[8];
    struct rounds r = {.arena = arena, .coll = COLL_ALLREDUCE, .bytes = 512, .shape = {1, 4, 0}, .candidates = room};
    ops.vary = vary;
    source = (struct candidate_source){.study = &study, .launch = "l", .round = 1, .full = 1};
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 3);
    assert_string_equal(r.candidates[2].knobs->label, "a+2");
    assert_string_equal(r.candidates[2].refines, "a");
    took("l", 512, "a+0", 1)->others = 1; /* of other groups */
    took("m", 512, "a+0", 1);
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 3);
    took("l", 512, "a+1", 1);                         /* known */
    took("l", 4096, "a+2", 0)->status = BENCH_FAILED; /* refused */
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 1);
    assert_int_equal(r.ncandidates, 7);
    assert_string_equal(r.candidates[6].knobs->label, "a+0");
    took("l", 64, "a+0", 1)->status = BENCH_DROPPED;
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 1);
    r.ncandidates = 0;
    took("l", 4096, "a+0", 1)->status = BENCH_DROPPED; /* lost on both sides */
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 0);
}

TEST_CASES_EACH(test_candidates_known, begin, end)
