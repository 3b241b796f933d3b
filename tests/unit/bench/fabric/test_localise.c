/* bench/fabric/localise.c: made-up clusters with one thing broken; the broken thing must be named, and nothing else. */
#include "bench/fabric/ports.h"
#include "tests/lib/unit.h"

/* What is broken in a made-up cluster. */
struct world {
    int dead_node;                                 /* -1 none */
    struct verbs_end dead_port, mute_port, cut[2]; /* node -1: none */
    int dead_rail, isolated;                       /* -1; no way from rail to rail */
    enum verbs_verdict how;
};
static const struct world healthy = {.dead_node = -1,
                                     .dead_port = {-1, 0},
                                     .mute_port = {-1, 0},
                                     .cut = {{-1, 0}, {-1, 0}},
                                     .dead_rail = -1,
                                     .how = VERBS_FAILED};

static int same(struct verbs_end x, struct verbs_end y)
{
    return x.node == y.node && x.rail == y.rail;
}

static int is_bad(const struct world *w, const struct verbs_try *t)
{
    int across = t->from.node != t->to.node;
    return t->from.node == w->dead_node || t->to.node == w->dead_node || same(t->from, w->dead_port) ||
           same(t->to, w->dead_port) || same(t->from, w->mute_port) ||
           (across && t->from.rail == w->dead_rail && t->to.rail == w->dead_rail) ||
           (across && w->isolated && t->from.rail != t->to.rail) ||
           (same(t->from, w->cut[0]) && same(t->to, w->cut[1])) || (same(t->from, w->cut[1]) && same(t->to, w->cut[0]));
}

struct trial {
    struct arena *arena;
    struct verbs_outcome *outcomes;
    struct verbs_fault *faults;
    int n, nfaults;
};

static struct trial try_all(const struct world *w, enum verbs_plan plan, int nodes, int rails)
{
    struct trial t = {.arena = arena_new()};
    const struct verbs_schedule *s = verbs_schedule_make(t.arena, plan, nodes, rails);
    for (int r = 0; r < s->nrounds; r++)
        for (int i = 0; i < s->rounds[r].ntries; i++) {
            const struct verbs_try *pair = &s->rounds[r].tries[i];
            int bad = is_bad(w, pair);
            t.outcomes = arena_grow(t.arena, t.outcomes, (size_t)t.n, sizeof *t.outcomes);
            t.outcomes[t.n++] = (struct verbs_outcome){
                .pair = *pair,
                .verdict = bad ? w->how : VERBS_GOOD,
                .GBps = bad && w->how == VERBS_FAILED ? 0
                        : bad                         ? 1
                                                      : 12,
                .why = bad ? "because" : NULL,
            };
        }
    t.nfaults = verbs_localise(t.outcomes, t.n, t.arena, &t.faults);
    return t;
}

TEST_CASE(nothing_wrong)
{
    struct trial t = try_all(&healthy, VERBS_PLAN_REACH, 4, 2);
    assert_int_equal(t.nfaults, 0);
    assert_int_equal(verbs_localise(NULL, 0, t.arena, &t.faults), 0);
    arena_free(t.arena);
}

TEST_CASE(one_port)
{
    struct world w = healthy;
    w.dead_port = (struct verbs_end){5, 3};
    struct trial t = try_all(&w, VERBS_PLAN_REACH, 8, 4);
    assert_int_equal(t.nfaults, 1); /* 28 pairs failed */
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_PORT);
    assert_true(same(t.faults[0].a, w.dead_port));
    assert_int_equal(t.faults[0].bad, 28);
    assert_int_equal(t.faults[0].tried, 28);
    assert_string_equal(t.faults[0].why, "because");
    arena_free(t.arena);
}

TEST_CASE(one_node)
{
    struct world w = healthy;
    w.dead_node = 2;
    struct trial t = try_all(&w, VERBS_PLAN_RAILS, 6, 8);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_NODE);
    assert_int_equal(t.faults[0].a.node, 2);
    assert_int_equal(t.faults[0].bad, 40);
    arena_free(t.arena);
}

TEST_CASE(everything)
{
    struct world w = healthy;
    w.dead_rail = 0;
    struct trial t = try_all(&w, VERBS_PLAN_RAILS, 4, 1);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_ALL);
    assert_int_equal(t.faults[0].bad, 6);
    arena_free(t.arena);
}

/* Why is that of the first who says it; of a single failure nobody knows whose it is. */
TEST_CASE(all_have_failed)
{
    const struct verbs_outcome tries[] = {{{{0, 0}, {1, 0}}, VERBS_FAILED, 0, NULL},
                                          {{{1, 0}, {0, 0}}, VERBS_FAILED, 0, "b"},
                                          {{{0, 0}, {2, 0}}, VERBS_FAILED, 0, "c"}};
    struct arena *a = arena_new();
    struct verbs_fault *faults;
    assert_int_equal(verbs_localise(tries, 3, a, &faults), 1);
    assert_int_equal(faults[0].kind, VERBS_FAULT_ALL);
    assert_string_equal(faults[0].why, "b");
    assert_int_equal(verbs_localise(tries, 2, a, &faults), 1);
    assert_int_equal(faults[0].kind, VERBS_FAULT_ALL);
    assert_int_equal(verbs_localise(tries, 1, a, &faults), 1);
    assert_int_equal(faults[0].kind, VERBS_FAULT_PAIR);
    assert_int_equal(verbs_localise(tries, 0, a, &faults), 0);
    arena_free(a);
}

TEST_CASE(one_direction)
{
    struct world w = healthy;
    w.mute_port = (struct verbs_end){0, 3};
    w.how = VERBS_SLOW;
    struct trial t = try_all(&w, VERBS_PLAN_MATRIX, 1, 4);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_SENDS);
    assert_int_equal(t.faults[0].verdict, VERBS_SLOW);
    assert_true(same(t.faults[0].a, w.mute_port));
    assert_near(t.faults[0].GBps, 1, 0);
    assert_near(t.faults[0].others_GBps, 12, 0);
    arena_free(t.arena);
}

TEST_CASE(rail_and_crossing)
{
    struct world w = healthy;
    w.dead_rail = 1;
    struct trial t = try_all(&w, VERBS_PLAN_RAILS, 4, 4);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_RAIL);
    assert_int_equal(t.faults[0].a.rail, 1);
    arena_free(t.arena);

    /* Rails are separate networks, and one port is dead as well. */
    w = healthy;
    w.isolated = 1;
    w.dead_port = (struct verbs_end){1, 0};
    t = try_all(&w, VERBS_PLAN_REACH, 5, 4);
    assert_int_equal(t.nfaults, 2);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_CROSS);
    assert_int_equal(t.faults[1].kind, VERBS_FAULT_PORT);
    assert_true(same(t.faults[1].a, w.dead_port));
    arena_free(t.arena);
}

TEST_CASE(two_causes)
{
    struct world w = healthy;
    w.dead_node = 3;
    w.dead_port = (struct verbs_end){0, 1};
    w.cut[0] = (struct verbs_end){1, 0};
    w.cut[1] = (struct verbs_end){2, 0};
    struct trial t = try_all(&w, VERBS_PLAN_REACH, 6, 2);
    assert_int_equal(t.nfaults, 3);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_NODE);
    assert_int_equal(t.faults[0].a.node, 3);
    assert_int_equal(t.faults[1].kind, VERBS_FAULT_PORT);
    assert_true(same(t.faults[1].a, w.dead_port));
    assert_int_equal(t.faults[2].kind, VERBS_FAULT_PAIR);
    assert_true(same(t.faults[2].a, w.cut[0]) && same(t.faults[2].b, w.cut[1]));
    arena_free(t.arena);
}

/* Two nodes, each rail tried once: a failing pair could be either port, and a try with a good port tells which. */
TEST_CASE(doubt_is_resolved)
{
    struct world w = healthy;
    w.dead_port = (struct verbs_end){1, 2};
    struct trial t = try_all(&w, VERBS_PLAN_RAILS, 2, 4);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_PAIR);
    struct verbs_round next = verbs_localise_next(t.outcomes, t.n, t.faults, t.nfaults, t.arena);
    assert_int_equal(next.ntries, 2);
    for (int i = 0; i < next.ntries; i++) {
        assert_int_equal(next.tries[i].from.rail, 2);   /* a doubtful port … */
        assert_int_not_equal(next.tries[i].to.rail, 2); /* … with a good one of the other node */
        assert_int_not_equal(next.tries[i].to.node, next.tries[i].from.node);
        t.outcomes = arena_grow(t.arena, t.outcomes, (size_t)t.n, sizeof *t.outcomes);
        t.outcomes[t.n++] = (struct verbs_outcome){
            .pair = next.tries[i], .verdict = is_bad(&w, &next.tries[i]) ? VERBS_FAILED : VERBS_GOOD, .GBps = 12};
    }
    t.nfaults = verbs_localise(t.outcomes, t.n, t.arena, &t.faults);
    assert_int_equal(t.nfaults, 1);
    assert_int_equal(t.faults[0].kind, VERBS_FAULT_PORT);
    assert_true(same(t.faults[0].a, w.dead_port));
    next = verbs_localise_next(t.outcomes, t.n, t.faults, t.nfaults, t.arena);
    assert_int_equal(next.ntries, 0);
    arena_free(t.arena);
}

/* Three nodes, each pair tried in one direction: the slow pair has two ends, and tries in the direction in which each
 * is slow tell which, on the same rail only. */
TEST_CASE(slow_end_is_found)
{
    const struct verbs_end ends[] = {{0, 0}, {1, 0}, {2, 0}};
    for (int receives = 0; receives < 2; receives++) {
        struct arena *a = arena_new();
        struct verbs_outcome o[8] = {{.pair = {ends[0], ends[1]}, .GBps = 12},
                                     {.pair = {ends[1], ends[2]}, .verdict = VERBS_SLOW, .GBps = 1},
                                     {.pair = {ends[2], ends[0]}, .GBps = 12},
                                     {.pair = {{0, 1}, {1, 1}}, .GBps = 12}};
        struct verbs_fault *faults;
        struct verbs_end guilty = ends[receives ? 2 : 1];
        int n = 4, nfaults = verbs_localise(o, n, a, &faults);
        assert_int_equal(nfaults, 1);
        assert_int_equal(faults[0].kind, VERBS_FAULT_PAIR);
        for (int round = 0; round < 3; round++) {
            struct verbs_round next = verbs_localise_next(o, n, faults, nfaults, a);
            for (int i = 0; i < next.ntries; i++) {
                struct verbs_try t = next.tries[i];
                int bad = same(receives ? t.to : t.from, guilty);
                assert_int_equal(t.from.rail + t.to.rail, 0);
                assert_true(n < 8);
                o[n++] = (struct verbs_outcome){t, bad ? VERBS_SLOW : VERBS_GOOD, bad ? 1 : 12, NULL};
            }
            nfaults = verbs_localise(o, n, a, &faults);
        }
        assert_int_equal(nfaults, 1);
        assert_int_equal(faults[0].kind, receives ? VERBS_FAULT_RECEIVES : VERBS_FAULT_SENDS);
        assert_true(same(faults[0].a, guilty));
        assert_int_equal(verbs_localise_next(o, n, faults, nfaults, a).ntries, 0);
        arena_free(a);
    }
}

/* A good port that has not been tried with the doubtful one, of its own rail first; none of its own node. */
TEST_CASE(who_tells)
{
    const struct verbs_end a0 = {0, 0}, b0 = {1, 0}, c0 = {2, 0}, d0 = {3, 0}, e1 = {4, 1}, f1 = {5, 1};
    struct verbs_outcome o[] = {{.pair = {a0, b0}, .verdict = VERBS_FAILED},
                                {.pair = {c0, a0}, .verdict = VERBS_FAILED},
                                {.pair = {e1, f1}},
                                {.pair = {{0, 1}, c0}},
                                {.pair = {b0, d0}}};
    struct verbs_fault fault = {.kind = VERBS_FAULT_PAIR, .verdict = VERBS_FAILED, .a = a0, .b = b0};
    struct arena *arena = arena_new();
    struct verbs_round r = verbs_localise_next(o, 5, &fault, 1, arena);
    assert_int_equal(r.ntries, 1);
    assert_true(same(r.tries[0].from, a0) && same(r.tries[0].to, d0));
    r = verbs_localise_next(o, 4, &fault, 1, arena); /* both are in doubt now, and only crossing is left */
    assert_int_equal(r.ntries, 2);
    assert_true(same(r.tries[0].from, a0) && same(r.tries[0].to, e1));
    assert_true(same(r.tries[1].from, b0) && same(r.tries[1].to, c0));
    /* Two that no outcome names. */
    fault.a = (struct verbs_end){6, 0};
    fault.b = (struct verbs_end){7, 0};
    r = verbs_localise_next(o, 5, &fault, 1, arena);
    assert_int_equal(r.ntries, 2);
    assert_true(same(r.tries[0].from, fault.a) && same(r.tries[1].from, fault.b));
    fault.kind = VERBS_FAULT_PORT;
    assert_int_equal(verbs_localise_next(o, 5, &fault, 1, arena).ntries, 0);
    arena_free(arena);
}

TEST_CASE(slow_by_the_median)
{
    struct arena *arena = arena_new();
    struct verbs_outcome o[] = {{.GBps = 12}, {.GBps = 11}, {.GBps = 5}, {.GBps = 13}, {.verdict = VERBS_FAILED}};
    verbs_mark_slow(o, 5, arena);
    assert_int_equal(o[1].verdict, VERBS_GOOD);
    assert_int_equal(o[2].verdict, VERBS_SLOW);
    assert_int_equal(o[4].verdict, VERBS_FAILED);
    struct verbs_outcome edge[] = {{.GBps = 10}, {.GBps = 5}, {.GBps = 10}, {.GBps = 0}, {.GBps = 4.999}};
    verbs_mark_slow(edge, 4, arena);
    for (int i = 0; i < 4; i++)
        assert_int_equal(edge[i].verdict, VERBS_GOOD); /* half of it is not less than half; 0 was not measured */
    edge[3].GBps = 10;
    verbs_mark_slow(edge, 5, arena);
    assert_true(edge[1].verdict == VERBS_GOOD && edge[4].verdict == VERBS_SLOW);
    arena_free(arena);
}

TEST_CASES(test_localise)
