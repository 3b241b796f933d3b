/* The index against a first-match scan written here from the manual page alone: random tables, shapes and calls. */
#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tuner/table/index.h"

static uint64_t state = 88172645463325252;
static long shortcuts;

static uint64_t rnd(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

/* ---- the reference --------------------------------------------------------------------------------------------- */

static int within(struct tuner_range r, int v)
{
    return r.low == INT32_MIN || (r.low <= v && v <= r.high);
}

static int available(const struct tuner_call *c, int a, int p)
{
    if (!c->cost || a >= c->algos || p >= c->protos)
        return 0;
    float f = c->cost[a * c->protos + p];
    return f == f && f >= 0 && f < 3.0e38F * 10;
}

static struct tuner_choice reference(const struct tuner_table *t, const struct tuner_shape *s,
                                     const struct tuner_call *c)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tuner_rule *r = &t->rules[i];
        if (r->coll != c->coll || c->bytes < r->min_bytes || c->bytes > r->max_bytes || !within(r->nodes, s->nodes) ||
            !within(r->ranks, s->ranks) || !within(r->domains, s->domains) ||
            (r->pipe_ops != -1 && r->pipe_ops != c->pipe_ops) || (r->reg_buff != -1 && r->reg_buff != c->reg_buff))
            continue;
        int best_a = -1, best_p = -1;
        float best = 0;
        for (int a = 0; a < 7; a++)
            for (int p = 0; p < 3; p++) {
                if ((r->algo != -1 && r->algo != a) || (r->proto != -1 && r->proto != p) || !available(c, a, p))
                    continue;
                float f = c->cost[a * c->protos + p];
                if (best_a < 0 || f < best) {
                    best = f;
                    best_a = a;
                    best_p = p;
                }
            }
        if (best_a < 0)
            continue;
        int none = r->algo == -1 && r->proto == -1;
        return (struct tuner_choice){1, none ? -1 : best_a, none ? -1 : best_p, r->channels};
    }
    return (struct tuner_choice){0};
}

static uint32_t reference_chunk(const struct tuner_table *t, const struct tuner_shape *s, int coll, uint64_t slice,
                                int algo, int proto)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tuner_rule *r = &t->rules[i];
        unsigned __int128 total = (unsigned __int128)slice * (unsigned)r->channels;
        if (r->coll == coll && r->channels > 0 && r->pipe_ops == -1 && r->reg_buff <= 0 && total >= r->min_bytes &&
            (r->max_bytes == UINT64_MAX || total <= r->max_bytes) && within(r->nodes, s->nodes) &&
            within(r->ranks, s->ranks) && within(r->domains, s->domains) && (r->algo == -1 || r->algo == algo) &&
            (r->proto == -1 || r->proto == proto))
            return r->chunk_bytes;
    }
    return 0;
}

/* ---- random material ------------------------------------------------------------------------------------------- */

static uint64_t any_size(void)
{
    return rnd(8) ? rnd(64) << rnd(59) : rnd(3) == 0 ? UINT64_MAX - rnd(3) : rnd(3) == 0 ? rnd(4) : rnd(UINT64_MAX);
}

static struct tuner_range any_range(void)
{
    if (rnd(2))
        return (struct tuner_range){INT32_MIN, INT32_MAX};
    int low = 1 + (int)rnd(4);
    return (struct tuner_range){low, low + (int)rnd(4)};
}

static struct tuner_rule any_rule(void)
{
    uint64_t a = any_size(), b = rnd(8) ? any_size() : UINT64_MAX;
    struct tuner_rule r = {
        .min_bytes = a < b ? a : b,
        .max_bytes = a < b ? b : a,
        .channels = rnd(3) ? 1 + (int)rnd(64) : 0,
        .pipe_ops = rnd(4) ? TUNER_ANY : (int)rnd(4),
        .reg_buff = rnd(3) ? TUNER_ANY : (int)rnd(2),
        .nodes = any_range(),
        .ranks = any_range(),
        .domains = any_range(),
        .coll = (int)rnd(COLL_COUNT),
        .algo = (int)rnd(8) - 1,
        .proto = (int)rnd(4) - 1,
    };
    if (r.channels && rnd(2))
        r.chunk_bytes = 1U << (10 + rnd(12));
    return r;
}

static const float holes[] = {-1, -1, -1, 1, 2, 3, 3, 10.5F, 0, -2, __builtin_nanf(""), __builtin_inff()};

struct question {
    float cost[9 * 4];
    struct tuner_call call;
};

static void ask(struct question *q, const struct tuner_table *t)
{
    static const int algos[] = {0, 6, 7, 8, 7, 7}, protos[] = {0, 3, 4, 3, 3, 3};
    for (size_t i = 0; i < sizeof q->cost / sizeof *q->cost; i++)
        q->cost[i] = holes[rnd(sizeof holes / sizeof *holes)];
    const struct tuner_rule *near = &t->rules[rnd(t->count)];
    uint64_t edge = rnd(2) ? near->min_bytes : near->max_bytes;
    q->call = (struct tuner_call){.coll = rnd(20) ? near->coll : (int)rnd(20) - 3,
                                  .bytes = rnd(3) ? edge + rnd(3) - 1 : any_size(),
                                  .pipe_ops = (int)rnd(5),
                                  .reg_buff = (int)rnd(4) - 2,
                                  .cost = rnd(50) ? q->cost : NULL,
                                  .algos = algos[rnd(6)],
                                  .protos = protos[rnd(6)]};
}

static void compare(const struct tuner_table *t, const struct tuner_index *ix, const struct tuner_shape *s,
                    int questions)
{
    for (int i = 0; i < questions; i++) {
        struct question q;
        ask(&q, t);
        struct tuner_choice want = reference(t, s, &q.call), got = tuner_index_choose(ix, &q.call);
        assert_int_equal(got.found, want.found);
        if (want.found) {
            assert_int_equal(got.algo, want.algo);
            assert_int_equal(got.proto, want.proto);
            assert_int_equal(got.channels, want.channels);
        }
        const float *cost = tuner_plain_cost(q.call.cost, q.call.algos, q.call.protos);
        const struct tuner_node *plain =
            tuner_plain_answer(ix, q.call.coll, q.call.bytes, cost, q.call.reg_buff, UINT32_MAX);
        if (plain) { /* the shortcut of the plugin's entry points */
            assert_true(want.found);
            assert_int_equal(tuner_node_cell(plain), want.algo * PROTO_COUNT + want.proto);
            assert_int_equal(plain->channels, want.channels);
            shortcuts++;
        }
        int algo = (int)rnd(7), proto = (int)rnd(3);
        uint64_t slice = q.call.bytes >> rnd(8);
        assert_int_equal(tuner_index_chunk(ix, q.call.coll, slice, algo, proto),
                         reference_chunk(t, s, q.call.coll, slice, algo, proto));
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void agrees_with_first_match(void **unused)
{
    (void)unused;
    static struct tuner_rule rules[300];
    for (int round = 0; round < 200; round++) {
        struct tuner_table t = {.rules = rules, .count = 1 + rnd(round % 10 ? 40 : 300)};
        for (size_t i = 0; i < t.count; i++)
            rules[i] = any_rule();
        struct tuner_shape s = {1 + (int)rnd(8), 1 + (int)rnd(8), rnd(3) ? 1 + (int)rnd(6) : TUNER_UNKNOWN};
        struct tuner_index *ix = tuner_index_new(&t, &s);
        assert_non_null(ix);
        assert_false(tuner_index_is_scanned(ix));
        compare(&t, ix, &s, 400);
        tuner_index_free(ix);
    }
    assert_true(shortcuts > 1000); /* else the loop has tested something else */
}

/* Neighbouring ranges of a few bytes, where one step too far in a bucket would show. */
static void agrees_on_dense_ranges(void **unused)
{
    (void)unused;
    enum { COUNT = 5000 };
    struct tuner_rule *rules = calloc(COUNT, sizeof *rules);
    for (int round = 0; round < 20; round++) {
        struct tuner_table t = {.rules = rules, .count = COUNT};
        uint64_t at = rnd(3) ? 0 : (uint64_t)1 << rnd(60);
        for (size_t i = 0; i < COUNT; i++) {
            rules[i] = any_rule();
            rules[i].coll = COLL_ALLREDUCE;
            rules[i].min_bytes = at;
            at += 1 + rnd(round % 2 ? 3 : 3000);
            rules[i].max_bytes = at - 1 + rnd(2);
        }
        struct tuner_shape s = {2, 3, 2};
        struct tuner_index *ix = tuner_index_new(&t, &s);
        assert_non_null(ix);
        compare(&t, ix, &s, 3000);
        tuner_index_free(ix);
    }
    free(rules);
}

/* Thousands of rules over the same sizes that all differ in numPipeOps: lists would explode, the answers stay. */
static void scans_what_would_explode(void **unused)
{
    (void)unused;
    enum { COUNT = 6000 };
    struct tuner_rule *rules = calloc(COUNT, sizeof *rules);
    for (size_t i = 0; i < COUNT; i++) {
        rules[i] = any_rule();
        rules[i].coll = COLL_ALLREDUCE;
        rules[i].min_bytes = i;
        rules[i].max_bytes = UINT64_MAX - i;
        rules[i].pipe_ops = (int)i % 3000;
    }
    struct tuner_table t = {.rules = rules, .count = COUNT};
    struct tuner_shape s = {2, 3, 2};
    struct tuner_index *ix = tuner_index_new(&t, &s);
    assert_non_null(ix);
    assert_true(tuner_index_is_scanned(ix));
    compare(&t, ix, &s, 1000);
    tuner_index_free(ix);
    free(rules);
}

/* Nested ranges, innermost first, with one condition: quadratic for a builder that walks the open rules. */
static void nested_ranges_stay_indexed(void **unused)
{
    (void)unused;
    enum { COUNT = 50000 };
    struct tuner_rule *rules = calloc(COUNT, sizeof *rules);
    struct tuner_rule shape = {.pipe_ops = -1, .reg_buff = -1, .coll = COLL_ALLREDUCE, .algo = 1, .proto = 2};
    shape.nodes = shape.ranks = shape.domains = (struct tuner_range){INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT; i++) {
        rules[i] = shape;
        rules[i].min_bytes = COUNT - i;
        rules[i].max_bytes = COUNT + i;
        rules[i].channels = 1 + (int)(i % 64);
    }
    struct tuner_table t = {.rules = rules, .count = COUNT};
    struct tuner_shape s = {2, 3, 2};
    struct tuner_index *ix = tuner_index_new(&t, &s);
    assert_non_null(ix);
    assert_false(tuner_index_is_scanned(ix));
    assert_int_equal(ix->rules, COUNT);
    compare(&t, ix, &s, 300);
    tuner_index_free(ix);
    free(rules);
}

/* Rules for plain buffers alone, which tune writes, are answered as fast as those for all. */
static void regbuff_does_not_leave_the_shortcut(void **unused)
{
    (void)unused;
    struct tuner_rule rules[3] = {
        {.max_bytes = 99, .channels = 4}, {.min_bytes = 100, .max_bytes = 199}, {.min_bytes = 200}};
    for (int i = 0; i < 3; i++) {
        rules[i].coll = COLL_ALLREDUCE;
        rules[i].algo = i;
        rules[i].proto = 2;
        rules[i].pipe_ops = -1;
        rules[i].reg_buff = i - 1; /* any, plain, registered */
        rules[i].max_bytes = i == 2 ? UINT64_MAX : rules[i].max_bytes;
        rules[i].nodes = rules[i].ranks = rules[i].domains = (struct tuner_range){INT32_MIN, INT32_MAX};
    }
    struct tuner_table t = {.rules = rules, .count = 3};
    struct tuner_index *ix = tuner_index_new(&t, &(struct tuner_shape){2, 3, 2});
    static const float cost[ALGO_COUNT * PROTO_COUNT];
    for (int rule = 0; rule < 3; rule++)
        for (int reg_buff = -2; reg_buff < 8; reg_buff++) {
            const struct tuner_node *n =
                tuner_plain_answer(ix, COLL_ALLREDUCE, (uint64_t)rule * 100 + 50, cost, reg_buff, UINT32_MAX);
            assert_int_equal(n != NULL, rule == 0 || reg_buff == rule - 1);
            if (n)
                assert_int_equal(tuner_node_cell(n), rule * PROTO_COUNT + 2);
        }
    assert_null(tuner_plain_cost(cost, ALGO_COUNT - 1, PROTO_COUNT));
    assert_null(tuner_plain_answer(ix, COLL_ALLREDUCE, 50, NULL, 0, UINT32_MAX));
    tuner_index_free(ix);
}

static void an_empty_table_says_nothing(void **unused)
{
    (void)unused;
    struct tuner_table t = {0};
    struct tuner_shape s = {1, 8, 1};
    struct tuner_index *ix = tuner_index_new(&t, &s);
    struct tuner_call c = {.coll = COLL_ALLREDUCE, .bytes = 1024};
    assert_non_null(ix);
    assert_int_equal(tuner_index_choose(ix, &c).found, 0);
    assert_int_equal(tuner_index_chunk(ix, COLL_ALLREDUCE, 1024, 1, 2), 0);
    tuner_index_free(ix);
    tuner_index_free(NULL);
}

int test_index(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_first_match),     cmocka_unit_test(agrees_on_dense_ranges),
        cmocka_unit_test(scans_what_would_explode),    cmocka_unit_test(nested_ranges_stay_indexed),
        cmocka_unit_test(an_empty_table_says_nothing), cmocka_unit_test(regbuff_does_not_leave_the_shortcut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
