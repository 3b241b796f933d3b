/* Shapes of groups: words, room, who is in which group, the usual ones. */
#include "core/call/shape.h"
#include "tests/lib/unit.h"

TEST_CASE(are_read_and_written)
{
    static const struct {
        const char *text;
        struct bench_shape shape;
    } good[] = {{"2x8", {2, 16, 0}}, {"1x4*2", {1, 4, 1}}, {"8x1*8", {8, 8, 7}}, {"4x2*all", {4, 8, BENCH_SHAPE_ALL}}};
    struct arena *a = arena_new();
    struct bench_shape s;
    struct err e;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(bench_shape_parse(good[i].text, &s, "--shapes", &e), 0);
        assert_true(bench_shape_same(&s, &good[i].shape));
        assert_string_equal(bench_shape_text(&s, a), good[i].text);
    }
    static const char *const bad[] = {
        "",     "x",    "2x",     "x8",       "2*8",     "2x8*",  "2x8*0",     "0x8",         "1x1",        "2x8x1",
        "2x-8", "2 x8", "2x8*al", "2x8*all2", "1x4*2*2", "2,5x8", "9999999x1", "99999x99999", "2x8@compute"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(bench_shape_parse(bad[i], &s, "--shapes", &e), ERR_USAGE);
        assert_non_null(strstr(e.text, "2x8, 1x4*2"));
    }
    arena_free(a);
}

/* Who is with whom on 4 nodes of 8, by the rank's group; `others` many at once. */
TEST_CASE(ranks_have_their_groups)
{
    const struct bench_shape whole = {4, 32, 0};
    static const struct {
        struct bench_shape shape;
        int room, rank, group;
    } cases[] = {
        {{4, 32, 0}, 1, 31, 0},  {{2, 16, 1}, 2, 15, 0}, {{2, 16, 1}, 2, 16, 1}, {{2, 16, 0}, 2, 16, -1},
        {{1, 4, 7}, 8, 3, 0},    {{1, 4, 7}, 8, 4, 1},   {{1, 4, 7}, 8, 31, 7},  {{1, 4, 1}, 8, 8, -1},
        {{4, 4, 7}, 8, 9, 1},    {{4, 4, 7}, 8, 31, 7},  {{4, 4, 0}, 8, 24, 0},  {{4, 4, 0}, 8, 25, -1},
        {{2, 2, 15}, 16, 17, 9}, {{4, 8, 3}, 4, 26, 1},  {{3, 24, 0}, 1, 23, 0}, {{3, 24, 0}, 1, 24, -1},
        {{1, 3, 7}, 8, 5, 1},    {{1, 3, 7}, 8, 6, -1},  {{5, 40, 0}, 0, 0, -1}, {{1, 16, 0}, 0, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(bench_shape_room(&cases[i].shape, &whole), cases[i].room);
        assert_int_equal(bench_shape_group(&cases[i].shape, &whole, cases[i].rank), cases[i].group);
    }
    /* Every group has as many ranks as the shape says, for every usual shape. */
    struct bench_shape usual[BENCH_SHAPES];
    int n = bench_shapes_usual(&whole, usual);
    for (int i = 0; i < n; i++) {
        int members[32] = {0};
        for (int rank = 0; rank < 32; rank++) {
            int group = bench_shape_group(&usual[i], &whole, rank);
            if (group >= 0)
                members[group]++;
        }
        for (int g = 0; g <= usual[i].others; g++)
            assert_int_equal(members[g], usual[i].ranks);
    }
}

TEST_CASE(usual_ones_come_in_order)
{
    static const struct {
        struct bench_shape whole;
        const char *shapes;
    } cases[] = {
        {{4, 32, 0}, "4x8 1x8*4 4x1*8 1x4*8 1x2*16 2x8*2 4x4*2 4x2*4 2x1*16 4x1"},
        {{2, 16, 0}, "2x8 1x8*2 2x1*8 1x4*4 1x2*8 2x4*2 2x2*4 2x1"},
        {{1, 8, 0}, "1x8 1x4*2 1x2*4"},
        {{3, 3, 0}, "3x1"},
        {{1, 2, 0}, "1x2"},
        {{3, 8, 0}, ""},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_shape usual[BENCH_SHAPES];
        const char *text = "";
        int n = bench_shapes_usual(&cases[i].whole, usual);
        for (int k = 0; k < n; k++)
            text = arena_printf(a, "%s%s%s", text, k ? " " : "", bench_shape_text(&usual[k], a));
        assert_string_equal(text, cases[i].shapes);
    }
    arena_free(a);
}

/* The largest there are, and as many as there is room for. */
TEST_CASE(shapes_at_their_limits)
{
    static const struct {
        const char *text;
        int rc;
    } cases[] = {{"1048576x1", 0},
                 {"1048577x1", ERR_USAGE},
                 {"1024x1024", 0},
                 {"1024x1025", ERR_USAGE},
                 {"1x2", 0},
                 {"2x1", 0},
                 {"1x1*2", ERR_USAGE},
                 {"2x1*1048576", 0},
                 {"2x1*1048577", ERR_USAGE},
                 {"000000000000002x1", 0},
                 {"0000000000000002x1", ERR_USAGE}};
    const struct bench_shape whole = {1 << 17, 8 << 17, 0};
    struct bench_shape s, usual[BENCH_SHAPES];
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (bench_shape_parse(cases[i].text, &s, "--shapes", &e) != cases[i].rc)
            fail_msg("%s", cases[i].text);
    assert_string_equal(e.text, "--shapes: '0000000000000002x1' is not a shape; expected NODESxRANKS[*GROUPS-AT-ONCE] "
                                "such as 2x8, 1x4*2, 4x1*all");
    assert_int_equal(bench_shapes_usual(&whole, usual), BENCH_SHAPES);
}

/* One member is enough to tell two apart. */
TEST_CASE(shapes_that_are_the_same)
{
    const struct bench_shape x = {2, 8, 3};
    struct bench_shape y[] = {x, x, x};
    y[0].nodes++, y[1].ranks++, y[2].others++;
    assert_true(bench_shape_same(&x, &x));
    for (int i = 0; i < 3; i++)
        assert_false(bench_shape_same(&x, &y[i]));
    assert_int_equal(bench_shape_room(&(struct bench_shape){0, 0, 0}, &(struct bench_shape){2, 8, 0}), 0);
    assert_int_equal(bench_shape_room(&(struct bench_shape){2, 8, 0}, &(struct bench_shape){0, 0, 0}), 0);
    assert_int_equal(bench_shape_room(&(struct bench_shape){2, 3, 0}, &(struct bench_shape){2, 8, 0}), 0);
    assert_int_equal(bench_shape_room(&(struct bench_shape){2, 4, 0}, &(struct bench_shape){2, 9, 0}), 0);
    assert_int_equal(bench_shape_room(&(struct bench_shape){2, 0, 0}, &(struct bench_shape){2, 8, 0}), 0);
}

TEST_CASES(test_shape)
