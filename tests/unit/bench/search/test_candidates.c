/* Candidates: everybody worth it in the first round, the fastest of them later, variations of a winner. */
#include "bench/search/candidates.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static const double fastest[] = {5, 5, 5}, fast[] = {10, 10, 10}, middle[] = {20, 20, 20}, slow[] = {40, 40, 40};

#define RESULT(size, by, what, times, turn)                                                                 \
    {                                                                                                       \
        .engine = "e", .library = "x", .coll = COLL_ALLREDUCE, .bytes = (size), .nodes = 1, .ranks = 4,     \
        .launch = {.label = BENCH_DEFAULT}, .call = {.label = (by)}, .status = (what), .times_us = (times), \
        .ntimes = 3, .round = (turn)                                                                        \
    }

/* At 64 bytes the first round is over; at 4096 "loser" lost on both sides, hopelessly, and "between" with a chance. */
static struct bench_result items[] = {
    RESULT(64, BENCH_DEFAULT, BENCH_OK, middle, 1),    RESULT(64, "winner", BENCH_OK, fast, 1),
    RESULT(64, "second", BENCH_OK, middle, 1),         RESULT(64, "third", BENCH_OK, slow, 1),
    RESULT(64, "dropped", BENCH_DROPPED, slow, 1),     RESULT(64, "winner/4K", BENCH_OK, fast, 1),
    RESULT(1024, "loser", BENCH_DROPPED, slow, 1),     RESULT(16384, "loser", BENCH_DROPPED, slow, 1),
    RESULT(1024, "between", BENCH_DROPPED, fast, 1),   RESULT(16384, "between", BENCH_DROPPED, middle, 1),
    RESULT(1024, "winner/1K", BENCH_DROPPED, slow, 1), RESULT(16384, "winner/1K", BENCH_DROPPED, slow, 1),
    RESULT(64, "large", BENCH_OK, fastest, 1), /* of an earlier plan: by now it is for larger sizes alone */
};

static const char *const labels[] = {BENCH_DEFAULT, "winner", "second",  "third",
                                     "dropped",     "loser",  "between", "large"};
#define CALLS ((int)(sizeof labels / sizeof *labels))

static struct bench_call calls[CALLS];
static struct bench_results results = {.items = items, .count = sizeof items / sizeof *items};
static struct bench_study study;
static struct candidate_source source = {.study = &study, .launch = BENCH_DEFAULT, .round = 1, .full = 1};
static struct arena *arena;

static int vary(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS])
{
    (void)s, (void)bytes, (void)call, (void)a;
    out[0] = (struct bench_knobs){.label = "winner/1K"};
    out[1] = (struct bench_knobs){.label = "winner/2K"};
    return 2;
}

static const struct bench_measure_ops ops = {.vary = vary};
static const struct bench_engine engine = {.name = "e", .measures = &ops};

static int begin(void **state)
{
    arena = arena_new();
    for (int i = 0; i < CALLS; i++)
        calls[i] = (struct bench_call){.coll = COLL_ALLREDUCE, .knobs = {.label = labels[i]}};
    calls[CALLS - 1].min_bytes = 8192;
    study = (struct bench_study){.engine = &engine,
                                 .plan = {.calls = calls, .ncalls = CALLS},
                                 .results = &results,
                                 .arena = arena,
                                 .nodes = 1,
                                 .ranks = 4};
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

/* The candidates' labels, with blanks between. */
static const char *candidates(uint64_t bytes, int round, int full, struct rounds *r)
{
    struct history_place at = {COLL_ALLREDUCE, bytes, 1, 4, BENCH_DEFAULT};
    const char *text = "";
    *r = (struct rounds){.arena = arena, .coll = COLL_ALLREDUCE, .bytes = bytes, .shape = {1, 4, 0}};
    source.round = round;
    source.full = full;
    candidates_list(&source, &at, r);
    for (int i = 0; i < r->ncandidates; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? " " : "", r->candidates[i].knobs->label);
    return text;
}

TEST_CASE(in_the_first_round_all_that_have_a_chance)
{
    struct rounds r;
    /* "winner" and "second" from what they took at 64 bytes; no straight line through two sizes saves "loser". */
    assert_string_equal(candidates(4096, 1, 1, &r), "default between winner second third dropped");
    assert_string_equal(candidates(4096, 1, 0, &r), "default");
    assert_non_null(strstr(candidates(65536, 1, 1, &r), "large"));
}

TEST_CASE(later_the_fastest_and_variations)
{
    struct rounds r;
    assert_string_equal(candidates(64, 2, 1, &r), "default winner between winner/4K loser");
    assert_null(r.candidates[3].refines);
}

TEST_CASE(variations_that_lost_on_both_sides_are_left)
{
    struct rounds r;
    candidates(4096, 1, 1, &r);
    int before = r.ncandidates;
    assert_int_equal(candidates_vary(&source, &r, &calls[1].knobs), 1);
    assert_int_equal(r.ncandidates, before + 1);
    assert_string_equal(r.candidates[before].knobs->label, "winner/2K");
    assert_string_equal(r.candidates[before].refines, "winner");
}

TEST_CASES_EACH(test_candidates, begin, end)
