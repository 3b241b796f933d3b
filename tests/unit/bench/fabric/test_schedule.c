/* bench/fabric/schedule.c: who meets whom, how often, and never two at one port at once. */
#include "bench/fabric/ports.h"
#include "tests/lib/unit.h"

enum { MOST = 32 };

/* met[x][y]: how often port x led a try with port y; checks that no round uses a port twice. */
static void count(const struct verbs_schedule *s, int rails, int met[MOST][MOST])
{
    memset(met, 0, sizeof(int) * MOST * MOST);
    for (int r = 0; r < s->nrounds; r++) {
        int used[MOST] = {0};
        for (int i = 0; i < s->rounds[r].ntries; i++) {
            struct verbs_try t = s->rounds[r].tries[i];
            int x = t.from.node * rails + t.from.rail, y = t.to.node * rails + t.to.rail;
            assert_true(x != y && x < MOST && y < MOST);
            assert_int_equal(used[x]++, 0);
            assert_int_equal(used[y]++, 0);
            met[x][y]++;
        }
    }
}

TEST_CASE(reach)
{
    static const struct {
        int nodes, rails, rounds;
    } cases[] = {{2, 1, 1}, {2, 4, 4}, {4, 1, 3}, {5, 1, 5}, {4, 8, 24}, {3, 2, 6}, {1, 4, 0}, {8, 4, 28}};
    int met[MOST][MOST];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int nodes = cases[c].nodes, rails = cases[c].rails;
        struct arena *a = arena_new();
        struct verbs_schedule *s = verbs_schedule_make(a, VERBS_PLAN_REACH, nodes, rails);
        assert_int_equal(s->nrounds, cases[c].rounds);
        count(s, rails, met);
        for (int x = 0; x < nodes * rails; x++)
            for (int y = 0; y < x; y++)
                assert_int_equal(met[x][y] + met[y][x], x / rails != y / rails);
        arena_free(a);
    }
}

TEST_CASE(rails_alone)
{
    int met[MOST][MOST];
    struct arena *a = arena_new();
    struct verbs_schedule *s = verbs_schedule_make(a, VERBS_PLAN_RAILS, 8, 4);
    assert_int_equal(s->nrounds, 7);
    count(s, 4, met);
    for (int x = 0; x < 32; x++)
        for (int y = 0; y < x; y++)
            assert_int_equal(met[x][y] + met[y][x], x / 4 != y / 4 && x % 4 == y % 4);
    assert_int_equal(s->rounds[0].ntries, 16); /* every port is busy in every round */
    arena_free(a);
}

TEST_CASE(crossing)
{
    int met[MOST][MOST];
    struct arena *a = arena_new();
    struct verbs_schedule *s = verbs_schedule_make(a, VERBS_PLAN_CROSS, 4, 4);
    assert_int_equal(s->nrounds, 3);
    count(s, 4, met);
    int total = 0, shifts = 0;
    for (int x = 0; x < 16; x++)
        for (int y = 0; y < 16; y++)
            if (met[x][y]) {
                assert_true(x / 4 != y / 4 && x % 4 != y % 4);
                total += met[x][y];
                shifts |= 1 << (y - x + 16) % 4;
            }
    assert_int_equal(total, 6 * 4);                     /* every two nodes, each of four ports */
    assert_int_equal(shifts, 1 << 1 | 1 << 2 | 1 << 3); /* every kind of crossing */
    assert_int_equal(verbs_schedule_make(a, VERBS_PLAN_CROSS, 4, 1)->nrounds, 0);
    arena_free(a);
}

TEST_CASE(matrix)
{
    static const struct {
        int nodes, rails, rounds;
    } cases[] = {{1, 4, 6}, {2, 2, 6}, {1, 3, 6}, {1, 1, 0}, {8, 4, 62}};
    int met[MOST][MOST];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int ports = cases[c].nodes * cases[c].rails;
        struct arena *a = arena_new();
        struct verbs_schedule *s = verbs_schedule_make(a, VERBS_PLAN_MATRIX, cases[c].nodes, cases[c].rails);
        assert_int_equal(s->nrounds, cases[c].rounds);
        count(s, cases[c].rails, met);
        for (int x = 0; x < ports; x++)
            for (int y = 0; y < ports; y++)
                assert_int_equal(met[x][y], x != y);
        arena_free(a);
    }
}

TEST_CASES(test_schedule)
