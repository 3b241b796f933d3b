/* Rows of tuner.csv across scale: what was measured exactly, what two neighbours agree on between them, nothing else.
 */
#include "core/coll.h"
#include "envgen/decide/decide.h"
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tuner/table/table.h"

#define KIB 1024u

static const struct bench_setting ring[] = {{"algorithm", "ring"}, {"protocol", "simple"}};
static const struct bench_setting ring16[] = {{"algorithm", "ring"}, {"protocol", "simple"}, {"channels", "16"}};
static const struct bench_setting tree[] = {{"algorithm", "tree"}, {"protocol", "ll128"}};

struct shape {
    int nodes, ranks;
    uint64_t from; /* ring16 from this size on; 0: everywhere; ENV_OPEN: tree everywhere */
    int buffers;
};

static struct env_range range(uint64_t low, uint64_t high, const struct bench_setting *s, int n)
{
    return (struct env_range){.min_bytes = low, .max_bytes = high, .call = {n ? "x" : "default", s, n}, .why = "why"};
}

static struct env_shape shape_of(struct arena *a, struct shape s)
{
    struct env_coll *c = ARENA_NEW(a, struct env_coll);
    *c = (struct env_coll){.coll = COLL_ALLREDUCE, .ranges = arena_alloc(a, 2 * sizeof *c->ranges)};
    if (s.from == ENV_OPEN) {
        c->ranges[c->nranges++] = range(0, ENV_OPEN, tree, 2);
    } else {
        if (s.from)
            c->ranges[c->nranges++] = range(0, s.from - 1, NULL, 0);
        c->ranges[c->nranges++] = range(s.from, ENV_OPEN, ring16, 3);
    }
    return (struct env_shape){.engine = "nccl",
                              .library = "NCCL 2.28.9",
                              .nodes = s.nodes,
                              .ranks = s.ranks,
                              .colls = c,
                              .ncolls = 1,
                              .buffers = s.buffers};
}

struct table {
    struct arena *arena;
    struct env_decisions decisions;
    struct tuner_table table;
    struct env_table_rules rules;
};

static struct table table_of(const struct shape *shapes, int n)
{
    struct table t = {.arena = arena_new()};
    struct err e = {0};
    char *text;
    size_t bytes;
    t.decisions = (struct env_decisions){.arena = t.arena, .tool = "0.1.0", .topology = "", .nshapes = n};
    t.decisions.shapes = arena_alloc(t.arena, (size_t)(n + 1) * sizeof *t.decisions.shapes);
    for (int i = 0; i < n; i++)
        t.decisions.shapes[i] = shape_of(t.arena, shapes[i]);
    assert_int_equal(env_table_rules_of(&t.decisions, t.arena, &t.rules, &e), 0);
    struct env_writing w = {.decisions = &t.decisions, .scratch = t.arena};
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(env_writer_of("tuner.csv")->write(&w, out, &e), 0);
    fclose(out);
    assert_int_equal(tuner_table_parse(&t.table, text, bytes, NULL, NULL), 0);
    assert_int_equal(t.table.broken, 0);
    assert_int_equal(t.table.count, t.rules.count);
    free(text);
    return t;
}

static void table_free(struct table *t)
{
    tuner_table_free(&t->table);
    arena_free(t->arena);
}

static int choice_for(const struct table *t, int nodes, int ranks, uint64_t bytes, int reg_buff)
{
    struct tuner_shape s = {nodes, ranks, TUNER_UNKNOWN};
    const struct tuner_rule *r = tuner_table_match(&t->table, t->table.rules, &s, COLL_ALLREDUCE, bytes, 0, reg_buff);
    return r ? r->algo : -1;
}

/* The algorithm that the table names for an AllReduce; -1: none. */
static int choice(const struct table *t, int nodes, int ranks, uint64_t bytes)
{
    return choice_for(t, nodes, ranks, bytes, 0);
}

TEST_CASE(measured_shapes_are_exact)
{
    static const struct shape shapes[] = {{2, 16, 64 * KIB}, {8, 64, ENV_OPEN}};
    struct table t = table_of(shapes, 2);
    assert_int_equal(choice(&t, 2, 16, 64 * KIB), ALGO_RING);
    assert_int_equal(choice(&t, 2, 16, 64 * KIB - 1), -1);
    assert_int_equal(choice(&t, 8, 64, 1), ALGO_TREE);
    assert_int_equal(choice(&t, 2, 8, 64 * KIB), -1);
    /* they agree on nothing, so nothing is said between them or beyond */
    for (int n = 3; n < 20; n++)
        if (n != 8)
            assert_int_equal(choice(&t, n, n * 8, 1 << 20), -1);
    table_free(&t);
}

TEST_CASE(between_two_only_what_both_say)
{
    static const struct shape shapes[] = {{2, 16, 64 * KIB}, {16, 128, 256 * KIB}};
    struct table t = table_of(shapes, 2);
    for (int n = 3; n < 16; n++) {
        assert_int_equal(choice(&t, n, n * 8, 256 * KIB), ALGO_RING);
        assert_int_equal(choice(&t, n, n * 8, 256 * KIB - 1), -1);
        assert_int_equal(choice(&t, n, n * 4, 256 * KIB), -1); /* half the ranks a node */
        assert_int_equal(choice(&t, n, n, 256 * KIB), -1);
        assert_int_equal(choice(&t, n, n * 16, 256 * KIB), -1);
    }
    assert_int_equal(choice(&t, 17, 17 * 8, 256 * KIB), -1);
    for (int i = 0; i < t.rules.count; i++)
        assert_true(t.rules.items[i]->nodes_high < 2 * t.rules.items[i]->nodes_low);
    table_free(&t);
}

TEST_CASE(one_node_is_no_neighbour)
{
    static const struct shape shapes[] = {{1, 8, 0}, {4, 32, 0}};
    struct table t = table_of(shapes, 2);
    assert_int_equal(choice(&t, 1, 8, 8), ALGO_RING);
    assert_int_equal(choice(&t, 4, 32, 8), ALGO_RING);
    assert_int_equal(choice(&t, 2, 16, 8), -1);
    assert_int_equal(choice(&t, 3, 24, 8), -1);
    table_free(&t);
}

/* 6 nodes with 7 ranks each were measured and say something else: no rule for 8 ranks a node may reach them. */
TEST_CASE(other_shapes_are_not_covered)
{
    static const struct shape shapes[] = {{4, 32, 0}, {6, 42, ENV_OPEN}, {8, 64, 0}};
    struct table t = table_of(shapes, 3);
    assert_int_equal(choice(&t, 6, 42, 1 << 20), ALGO_TREE);
    assert_int_equal(choice(&t, 4, 32, 1 << 20), ALGO_RING);
    assert_int_equal(choice(&t, 6, 48, 1 << 20), -1);
    table_free(&t);
}

TEST_CASE(nothing_beyond_the_largest)
{
    static const struct shape shapes[] = {{2, 16, 64 * KIB}, {4, 32, 128 * KIB}};
    struct table t = table_of(shapes, 2);
    assert_int_equal(choice(&t, 5, 40, 1 << 20), -1);
    table_free(&t);
}

TEST_CASE(every_measured_count_has_its_rule)
{
    static const struct shape shapes[] = {{4, 32, 0}, {5, 40, 0}, {6, 48, 0}, {7, 56, 0}, {8, 64, 0}};
    struct table t = table_of(shapes, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(choice(&t, shapes[i].nodes, shapes[i].ranks, 1 << 20), ALGO_RING);
    assert_int_equal(t.rules.count, 5);
    assert_int_equal(t.rules.items[0]->basis, ENV_MEASURED);
    table_free(&t);
}

/* Every collective with eight ranges, measured at each power of two up to 512 nodes. */
TEST_CASE(a_table_for_512_nodes_is_short)
{
    struct arena *a = arena_new();
    struct env_decisions d = {.arena = a, .tool = "0.1.0", .topology = "", .nshapes = 10};
    struct env_table_rules rules;
    struct err e = {0};
    d.shapes = arena_alloc(a, 10 * sizeof *d.shapes);
    for (int s = 0; s < 10; s++) {
        struct env_coll *colls = arena_alloc(a, COLL_COUNT * sizeof *colls);
        for (int c = 0; c < COLL_COUNT; c++) {
            colls[c] = (struct env_coll){.coll = c, .ranges = arena_alloc(a, 8 * sizeof *colls->ranges), .nranges = 8};
            for (unsigned r = 0; r < 8; r++) /* the bounds move with the number of nodes */
                colls[c].ranges[r] =
                    range(r ? (uint64_t)(s + 8) << (r * 3) : 0,
                          r < 7 ? ((uint64_t)(s + 8) << (r * 3 + 3)) - 1 : ENV_OPEN, r % 2 ? ring : tree, 2);
        }
        d.shapes[s] = (struct env_shape){.engine = "nccl",
                                         .library = "NCCL 2.28.9",
                                         .nodes = 1 << s,
                                         .ranks = 8 << s,
                                         .colls = colls,
                                         .ncolls = COLL_COUNT};
    }
    assert_int_equal(env_table_rules_of(&d, a, &rules, &e), 0);
    assert_in_range(rules.count, 400, 999);
    /* no two rules apply to one call */
    for (int i = 0; i < rules.count; i++)
        for (int k = 0; k < i; k++) {
            const struct env_table_rule *x = rules.items[i], *y = rules.items[k];
            assert_false(x->coll == y->coll && x->min_bytes <= y->max_bytes && y->min_bytes <= x->max_bytes &&
                         x->nodes_low <= y->nodes_high && y->nodes_low <= x->nodes_high);
        }
    arena_free(a);
}

/* A tuner cannot tell captured calls from registered ones: whichever was measured first, the former's rules count. */
TEST_CASE(captured_calls_come_before_registered_ones)
{
    for (int turn = 0; turn < 2; turn++)
        for (int plain = 0; plain < 2; plain++) { /* which is alone, or says what the registered ones say */
            struct shape shapes[3] = {{4, 32, plain ? ENV_OPEN : 0, 0}};
            shapes[1 + turn] = (struct shape){4, 32, 64 * KIB, BENCH_GRAPH};
            shapes[2 - turn] = (struct shape){4, 32, ENV_OPEN, BENCH_REGISTERED};
            struct table t = table_of(shapes, 3);
            assert_int_equal(t.rules.count, plain ? 2 : 3);
            assert_int_equal(choice_for(&t, 4, 32, 1 << 20, 1), ALGO_RING);
            assert_int_equal(choice_for(&t, 4, 32, 1 << 10, 1), ALGO_TREE);
            assert_int_equal(choice_for(&t, 4, 32, 1 << 20, 0), plain ? ALGO_TREE : ALGO_RING);
            table_free(&t);
        }
}

TEST_CASE(buffers_that_agree_are_one_rule)
{
    static const struct shape shapes[] = {
        {4, 32, ENV_OPEN, 0}, {4, 32, ENV_OPEN, BENCH_REGISTERED}, {4, 32, ENV_OPEN, BENCH_GRAPH}};
    for (int n = 1; n <= 3; n++) {
        struct table t = table_of(shapes, n);
        assert_int_equal(t.rules.count, 1);
        assert_int_equal(t.rules.items[0]->reg_buff, n == 1 ? 0 : -1);
        assert_int_equal(choice_for(&t, 4, 32, 1 << 20, 0), ALGO_TREE);
        assert_int_equal(choice_for(&t, 4, 32, 1 << 20, 1), n == 1 ? -1 : ALGO_TREE);
        table_free(&t);
    }
}

TEST_CASE(predictions_are_comments)
{
    for (int wanted = 0; wanted < 2; wanted++) {
        struct arena *a = arena_new();
        struct err e = {0};
        struct env_decisions d = {.arena = a, .tool = "0.1.0", .topology = "", .nshapes = 2, .predicted = wanted};
        struct env_writing w = {.decisions = &d, .scratch = a};
        struct tuner_table t;
        char *text;
        size_t bytes;
        d.shapes = arena_alloc(a, 2 * sizeof *d.shapes);
        d.shapes[0] = shape_of(a, (struct shape){2, 16, ENV_OPEN});
        d.shapes[1] = shape_of(a, (struct shape){4, 32, 0});
        d.shapes[0].engine = d.shapes[1].engine = "model";
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(env_writer_of("tuner.csv")->write(&w, out, &e), 0);
        fclose(out);
        assert_int_equal(tuner_table_parse(&t, text, bytes, NULL, NULL), 0);
        assert_int_equal(t.count, wanted ? 2 : 0);
        assert_non_null(strstr(text, "PREDICTED"));
        assert_non_null(strstr(text, "allreduce,0,-1,tree,ll128"));
        tuner_table_free(&t);
        free(text);
        arena_free(a);
    }
}

TEST_CASES(test_table_rules)
