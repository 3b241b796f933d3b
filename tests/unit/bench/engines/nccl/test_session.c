/* bench/engines/nccl/session.c: what is asked of all ranks, with how much patience, and what their answers mean. */
#include "tests/unit/bench/engines/nccl/pool_double.h"

#include <math.h>

#define MB ((uint64_t)1 << 20)

static volatile sig_atomic_t stop;
static char detail[BENCH_DETAIL];
static const struct bench_shape everybody, pairs = {1, 2, 1, BENCH_ALONE}, rails = {2, 2, 1, BENCH_ALONE};

/* ---- points ---- */

TEST_CASE(what_a_request_asks_for)
{
    static const struct {
        int plans, buffers, coll;
        const char *point;
        int graph;
    } rows[] = {
        {BENCH_USUAL, BENCH_USUAL, COLL_ALLREDUCE, "allreduce 64 in place", 0},
        {BENCH_USUAL, BENCH_USUAL, COLL_REDUCE, "reduce 64", 0},
        {BENCH_USUAL, BENCH_IN_PLACE, COLL_REDUCE, "reduce 64 in place", 0},
        {BENCH_USUAL, BENCH_OUT_OF_PLACE, COLL_ALLREDUCE, "allreduce 64", 0},
        {BENCH_USUAL, BENCH_BFLOAT16, COLL_ALLREDUCE, "allreduce 64 in place bfloat16", 0},
        {BENCH_USUAL, BENCH_REGISTERED, COLL_REDUCE, "reduce 64 registered", 0},
        {BENCH_USUAL, BENCH_GRAPH, COLL_ALLREDUCE, "allreduce 64 in place", 1},
        {BENCH_REGISTERED, BENCH_USUAL, COLL_REDUCE, "reduce 64 registered", 0},
        {BENCH_GRAPH, BENCH_USUAL, COLL_REDUCE, "reduce 64", 1},
        {BENCH_GRAPH, BENCH_BFLOAT16, COLL_REDUCE, "reduce 64 bfloat16", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        context.buffers = rows[i].plans;
        struct nccl_measure q = nccl_session_question(&s, rows[i].coll, 64, everybody, rows[i].buffers);
        assert_string_equal(point_text(&q.point), rows[i].point);
        assert_int_equal(q.graph, rows[i].graph);
        assert_string_equal(call_text(&q), rows[i].graph ? "x1 captured" : "x1");
        assert_true(q.proto < 0 && q.point.groups.whole_nodes == 2);
        assert_true(q.point.type == NCCL_TYPE_FITTING || q.point.type == NCCL_TYPE_BFLOAT16);
    }
    const struct bench_shape whole = {2, RANKS, 0, BENCH_ALONE};
    assert_string_equal(point_text(&(struct nccl_point){.groups = {pairs, 2}}), "broadcast 0 by 1x2*1@0");
    struct nccl_point p = nccl_session_question(&s, COLL_REDUCE, 64, whole, 0).point;
    assert_string_equal(point_text(&p), "reduce 64");
    p = nccl_session_question(&s, COLL_REDUCE, 64, rails, 0).point;
    assert_string_equal(point_text(&p), "reduce 64 by 2x2*1@0");
}

TEST_CASE(what_makes_another_point)
{
    const struct nccl_point a = {COLL_REDUCE, 0, NCCL_TYPE_FITTING, 0, 64, {pairs, 2}};
    struct nccl_point others[] = {a, a, a, a, a, a};
    assert_true(nccl_same_point(&a, &a));
    others[0].coll = COLL_ALLREDUCE;
    others[1].in_place = 1;
    others[2].type = NCCL_TYPE_BFLOAT16;
    others[3].registered = 1;
    others[4].bytes = 65;
    others[5].groups.shape = rails;
    for (int i = 0; i < 6; i++)
        assert_false(nccl_same_point(&a, &others[i]));
}

static enum bench_outcome prepare(struct bench_shape shape, uint64_t bytes, int *refusals)
{
    const struct nccl_request r = {&s, &stop, 5, detail};
    struct nccl_point p = nccl_session_question(&s, COLL_ALLREDUCE, bytes, shape, 0).point;
    return nccl_session_prepare(&r, &p, refusals);
}

/* Longer for groups that are made anew, and for large buffers. */
TEST_CASE(a_point_is_prepared_once)
{
    int refusals = 7;
    s.nused = 3;
    for (int i = 0; i < 3; i++)
        pool.prepared[i].unit_us = i == 1 ? 3 : i;
    assert_int_equal(prepare(everybody, MB, &refusals), BENCH_ANSWERED);
    assert_noted("prepare allreduce 1048576 in place: 5 s\n");
    assert_int_equal(refusals, 0);
    assert_string_equal(s.base.data, "float32, in place");
    assert_true(s.unit_us == 3 && s.nused == 3);
    assert_int_equal(prepare(everybody, MB, &refusals), BENCH_ANSWERED);
    assert_noted("");
    prepare(everybody, 200000000, &refusals);
    assert_noted("prepare allreduce 200000000 in place: 9 s\n");
    prepare(pairs, MB, &refusals);
    assert_noted("prepare allreduce 1048576 in place by 1x2*1@0: 15 s\n");
    assert_int_equal(s.nused, 0); /* nothing of theirs is connected */
    context.own.first_s = 1;
    pool.prepared[0].unit_us = 4;
    prepare(rails, MB, &refusals);
    assert_noted("prepare allreduce 1048576 in place by 2x2*1@0: 6 s\n");
    assert_true(s.unit_us == 4);
    for (int i = 0; i < 3; i++)
        pool.prepared[i].unit_us = 0;
    context.own.first_s = 0;
    s.base.ranks = 400; /* a tenth of a second for each */
    prepare(pairs, MB, &refusals);
    assert_noted("prepare allreduce 1048576 in place by 1x2*1@0: 55 s\n");
    assert_true(s.unit_us == 0);
}

TEST_CASE(what_is_not_prepared_is_asked_again)
{
    int refusals;
    prepare(everybody, MB, &refusals);
    s.unit_us = 7;
    pool.prepare = BENCH_DIED;
    assert_int_equal(prepare(everybody, 64, &refusals), BENCH_DIED);
    pool.prepare = BENCH_ANSWERED;
    pool.prepare_refusals = 2;
    assert_int_equal(prepare(everybody, MB, &refusals), BENCH_ANSWERED);
    assert_int_equal(refusals, 2);
    assert_true(s.unit_us == 7); /* nothing is known of it */
    pool.prepare_refusals = 0;
    prepare(everybody, MB, &refusals);
    assert_noted("prepare allreduce 1048576 in place: 5 s\nprepare allreduce 64 in place: 5 s\n"
                 "prepare allreduce 1048576 in place: 5 s\nprepare allreduce 1048576 in place: 5 s\n");
}

TEST_CASE(nodes_are_counted_as_nccl_does)
{
    int refusals;
    pool.prepared[1].nodes = 1;
    assert_int_equal(prepare(everybody, MB, &refusals), BENCH_ANSWERED);
    assert_int_equal(refusals, 0);
    assert_int_equal(prepare(rails, MB, &refusals), BENCH_ANSWERED);
    assert_int_equal(refusals, RANKS);
    assert_string_equal(detail, "NCCL counts 1 nodes where rank 1's group is on 2");
    pool.prepared[1].nodes = 2;
    prepare(rails, MB, &refusals);
    assert_int_equal(refusals, 0);
}

/* Of all ranks that are in a group the one with the least counts. */
TEST_CASE(what_is_known_of_a_point)
{
    int refusals;
    pool.prepared[0] = (struct nccl_prepared){.group = -1, .working_set = 1, .cache = 9, .type = "nothing"};
    pool.prepared[1] = (struct nccl_prepared){.working_set = 3 * MB, .cache = 4 * MB, .type = "float32"};
    pool.prepared[2] = (struct nccl_prepared){.working_set = 2 * MB, .cache = 4 * MB, .type = "int8"};
    pool.prepared[3] = (struct nccl_prepared){.working_set = 2 * MB, .cache = 4 * MB, .type = "other"};
    prepare(everybody, MB, &refusals);
    assert_string_equal(s.data, "int8, in place");
    assert_string_equal(s.remark, "GPU memory is full: calls in turn go through 2 MiB, which the GPU's cache of 4 MiB "
                                  "may hold");
    pool.prepared[2].working_set = pool.prepared[3].working_set = 4 * MB;
    pool.prepared[1].working_set = 5 * MB;
    prepare(everybody, 2 * MB, &refusals);
    assert_string_equal(s.remark, "");
    for (int r = 0; r < RANKS; r++)
        pool.prepared[r].group = -1;
    prepare(everybody, MB, &refusals);
    assert_string_equal(s.data, "");
}

/* ---- answers ---- */

static enum bench_status status;
static double us;

static enum bench_outcome ask(struct nccl_measure q)
{
    const struct nccl_request r = {&s, &stop, 5, detail};
    status = BENCH_STATUS_COUNT;
    us = -1;
    return nccl_session_ask(&r, &q, &status, &us);
}

TEST_CASE(what_is_used_first_may_take_longer)
{
    struct nccl_measure own = {.point = {.bytes = 64}, .algo = -1, .proto = -1, .iterations = 1}, ring = own;
    ring.algo = ALGO_RING;
    ring.proto = PROTO_LL;
    ask(own);
    ask(own);
    ask(ring);
    ring.point.bytes = 200000000;
    ask(ring);
    ring.check = 1;
    ask(ring);
    ring.check = 0;
    ring.proto = PROTO_SIMPLE;
    ask(ring);
    ring.algo = ALGO_TREE;
    ask(ring);
    ring.point.coll = COLL_ALLREDUCE;
    ask(ring);
    own.point.bytes = 65;
    ask(own);
    ask(own);
    assert_noted("measure x1: 15 s\nmeasure x1: 5 s\nmeasure x1 ring/ll: 15 s\nmeasure x1 ring/ll: 5 s\n"
                 "measure x1 ring/ll checked: 9 s\nmeasure x1 ring/simple: 15 s\nmeasure x1 tree/simple: 15 s\n"
                 "measure x1 tree/simple: 15 s\nmeasure x1: 15 s\nmeasure x1: 5 s\n");
}

TEST_CASE(what_is_no_answer)
{
    pool.measure = BENCH_SILENT;
    assert_int_equal(ask((struct nccl_measure){.algo = -1}), BENCH_SILENT);
    assert_true(status == BENCH_STATUS_COUNT && us < 0);
    pool.measure = BENCH_ANSWERED;
    pool.measure_refusals = 1;
    pool.detail = "rank 1: not here";
    assert_int_equal(ask((struct nccl_measure){.algo = -1}), BENCH_ANSWERED);
    assert_true(status == BENCH_FAILED && us < 0);
    assert_string_equal(detail, "rank 1: not here");
}

static void assert_judged(enum bench_status expected, double expected_us, const char *why)
{
    assert_int_equal(ask((struct nccl_measure){.algo = -1}), BENCH_ANSWERED);
    if (status != expected || !(us == expected_us || (isnan(us) && isnan(expected_us))) || strcmp(detail, why) != 0)
        fail_msg("status %d instead of %d, %g us instead of %g, '%s' instead of '%s'", (int)status, (int)expected, us,
                 expected_us, detail, why);
}

static void say(int rank, int what, const char *why)
{
    pool.times[rank].status = what;
    snprintf(pool.times[rank].detail, sizeof pool.times[rank].detail, "%s", why);
}

TEST_CASE(the_slowest_rank_counts)
{
    assert_judged(BENCH_OK, 100, "");
    assert_true(s.base.slowdown == 0);
    pool.times[0].us = 150;
    assert_judged(BENCH_OK, 150, "");
    pool.times[3].us = 151;
    pool.times[0].slowdown = 1.5;
    pool.times[3].slowdown = 2;
    assert_judged(BENCH_OK, 151, "");
    assert_true(s.base.slowdown == 1.75);
    static const double none[] = {0, -1, INFINITY, NAN};
    for (int i = 0; i < 4; i++) {
        for (int r = 0; r < RANKS; r++)
            pool.times[r].us = none[i];
        assert_judged(BENCH_FAILED, none[i], arena_printf(arena, "the GPU's clock says %g us", none[i]));
    }
}

/* Wrong data is worse than a refusal; of several the last one is told. */
TEST_CASE(trouble_is_told_by_its_rank)
{
    say(1, NCCL_REFUSED, "rank 1: not offered");
    assert_judged(BENCH_FAILED, 100, "rank 1: not offered");
    say(2, NCCL_WRONG, "rank 2: element 7");
    assert_judged(BENCH_WRONG, 100, "rank 2: element 7");
    say(3, NCCL_REFUSED, "rank 3: not offered");
    assert_judged(BENCH_WRONG, 100, "rank 2: element 7");
    say(3, NCCL_WRONG, "rank 3: element 8");
    assert_judged(BENCH_WRONG, 100, "rank 3: element 8");
    /* In groups ranks are counted within them. */
    s.groups = pairs;
    for (int r = 0; r < RANKS; r++)
        s.prepared[r].group = r / 2;
    say(3, NCCL_WRONG, "rank 1: element 8");
    assert_judged(BENCH_WRONG, 100, "rank 1 of group 1 (rank 3 of all): element 8");
    say(3, NCCL_WRONG, "without one");
    assert_judged(BENCH_WRONG, 100, "without one");
    char *word = arena_alloc(arena, 128), *all = arena_alloc(arena, NCCL_TEXT);
    memset(word, 'x', 100);
    say(3, NCCL_WRONG, arena_printf(arena, "%s: y", word));
    word[64] = 0;
    assert_judged(BENCH_WRONG, 100, arena_printf(arena, "%s of group 1 (rank 3 of all): y", word));
    memset(all, 'x', NCCL_TEXT - 1);
    say(3, NCCL_WRONG, all);
    all[BENCH_DETAIL - 1] = 0;
    assert_judged(BENCH_WRONG, 100, all);
}

/* Ranks of one group; what others are offered is their own. */
TEST_CASE(different_offers_are_no_time)
{
    struct nccl_choice *c = &pool.times[3].choice;
    for (int what = 0; what < 6; what++) {
        c->known = what == 0;
        c->algo = what == 1;
        c->proto = what == 2;
        c->channels = what == 3;
        c->allowed = what == 4;
        c->refused = what == 5;
        for (int r = 0; r < RANKS; r++)
            s.prepared[r].group = r / 2;
        assert_judged(BENCH_FAILED, 100, "ranks 2 and 3 are offered different choices by NCCL");
        s.prepared[3].group = 2;
        assert_judged(BENCH_OK, 100, "");
    }
    s.prepared[3].group = 1;
    say(1, NCCL_WRONG, "rank 1: element 7"); /* this first */
    assert_judged(BENCH_WRONG, 100, "rank 1: element 7");
}

/* ---- two clocks ---- */

static void samples(int n, double host_least_us, double host_most_us)
{
    for (int r = 0; r < RANKS; r++) {
        pool.times[r].host_least_us = host_least_us;
        pool.times[r].host_most_us = host_most_us;
    }
    for (int i = 0; i < n; i++)
        assert_judged(BENCH_OK, 90, "");
}

/* A tenth apart is not enough, nor are few samples, nor fewer than half of them; it is said once. */
TEST_CASE(clocks_that_disagree_are_said)
{
    static const char *const words = "test: warning: launch default: the GPU's clock says 90 us a call, by the host's "
                                     "it is %g to %g us: one of them is wrong\n";
    for (int r = 0; r < RANKS; r++)
        pool.times[r].us = 90;
    samples(6, 100, 90);
    samples(5, 101, 150);
    assert_logged("");
    assert_true(s.odd == 5 && s.samples == 11);
    samples(1, 101, 150);
    assert_logged(arena_printf(arena, words, 101., 150.));
    samples(20, 101, 150);
    assert_logged("");
    s.odd = s.samples = s.odd_said = 0;
    samples(4, 10, 81);
    assert_logged("");
    samples(1, 10, 81);
    assert_logged(arena_printf(arena, words, 10., 81.));
    assert_true(s.odd == 5);
}

TEST_CASES_EACH(main, begin, end)
