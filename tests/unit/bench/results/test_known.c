/* Questions to a handful of results. */
#include "bench/results/known.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static const double ten[] = {10, 10, 10}, twenty[] = {20, 20, 20}, forty[] = {40, 40, 40};

#define RESULT(size, on, by, what, times, samples, turn)                                                  \
    {                                                                                                     \
        .engine = "mpi", .library = "x", .coll = COLL_ALLREDUCE, .bytes = (size), .nodes = 2, .ranks = 4, \
        .launch = {.label = (on)}, .call = {.label = (by)}, .status = (what), .times_us = (times),        \
        .ntimes = (samples), .round = (turn)                                                              \
    }

static struct bench_result items[] = {
    RESULT(64, "default", "default", BENCH_OK, ten, 3, 1),
    RESULT(64, "default", "default", BENCH_OK, twenty, 3, 2),
    RESULT(64, "default", "ring", BENCH_DROPPED, forty, 3, 1),
    RESULT(1024, "default", "default", BENCH_OK, forty, 3, 1),
    RESULT(1024, "default", "ring", BENCH_DROPPED, forty, 3, 1),
    RESULT(64, "ib0", "default", BENCH_OK, ten, 3, 0),
    RESULT(64, "ib0", "ring", BENCH_OK, twenty, 3, 0),
    RESULT(64, "default", "refused", BENCH_FAILED, NULL, 0, 1),
    RESULT(64, "default", "deadly", BENCH_CRASHED, NULL, 0, 1),
    RESULT(1024, "default", "deadly", BENCH_HUNG, NULL, 0, 1),
    RESULT(64, "default", "risky", BENCH_CRASHED, NULL, 0, 1),
    RESULT(64, "ib1", "default", BENCH_CRASHED, NULL, 0, 0),
    RESULT(64, "default", "short", BENCH_OK, twenty, 3, 1),
    RESULT(64, "default", "line", BENCH_OK, twenty, 3, 1),
    RESULT(1024, "default", "line", BENCH_DROPPED, forty, 3, 1),
    RESULT(64, "default", "fell", BENCH_CRASHED, NULL, 0, 1),
    RESULT(8, "default", "fell", BENCH_OK, ten, 3, 1),
    RESULT(1024, "default", "fell", BENCH_OK, forty, 3, 1),
};
static const struct bench_results results = {.items = items, .count = sizeof items / sizeof *items};

static struct known_place at(const char *launch, uint64_t bytes)
{
    return (struct known_place){.coll = COLL_ALLREDUCE, .bytes = bytes, .nodes = 2, .ranks = 4, .launch = launch};
}

TEST_CASE(done_by_round)
{
    struct known_place here = at("default", 64), there = at("default", 1024), dead = at("ib1", 64);
    assert_true(known_of(&results, &here, BENCH_DEFAULT, 1).samples > 0);
    assert_true(known_of(&results, &here, BENCH_DEFAULT, 2).samples > 0);
    assert_false(known_of(&results, &here, BENCH_DEFAULT, 3).samples > 0);
    assert_true(known_of(&results, &here, "ring", 1).samples > 0);
    assert_false(known_of(&results, &here, "ring", 2).samples > 0);
    assert_false(known_of(&results, &here, "deadly", 1).samples > 0);
    assert_false(known_of(&results, &there, BENCH_DEFAULT, 2).samples > 0);
    assert_false(known_of(&results, &dead, BENCH_DEFAULT, 0).samples > 0);
    here.engine = "mpi";
    assert_true(known_of(&results, &here, BENCH_DEFAULT, 1).samples > 0);
    here.engine = "nccl";
    assert_false(known_of(&results, &here, BENCH_DEFAULT, 1).samples > 0);
    here.engine = NULL;
    here.ranks = 8;
    assert_false(known_of(&results, &here, BENCH_DEFAULT, 1).samples > 0);
}

TEST_CASE(times_and_expectations)
{
    struct known_place here = at("default", 64), above = at("default", 256), below = at("default", 8);
    assert_near(known_of(&results, &here, "default", KNOWN_ANY).us, 15, 1e-9);
    assert_near(known_of(&results, &above, "default", KNOWN_ANY).us, 0, 0);
    /* From 64 bytes in proportion to the size; from above as it is (the later round). */
    assert_near(known_expect_us(&results, &above, "short"), 80, 1e-9);
    assert_near(known_expect_us(&results, &below, "default"), 20, 1e-9);
    assert_near(known_expect_us(&results, &below, "no such call"), 0, 0);
    /* Between two sizes the straight line: 192 of the 960 bytes on the way from 20 to 40 us. */
    assert_near(known_expect_us(&results, &above, "line"), 24, 1e-9);
    /* What has no time here is no neighbour of this place: 56 of 1016 bytes from 10 to 40 us. */
    assert_near(known_expect_us(&results, &here, "fell"), 10 + 30 * 56 / 1016.0, 1e-9);
}

TEST_CASE(who_is_hopeless)
{
    static const struct {
        const char *call;
        uint64_t bytes;
        int hopeless;
    } cases[] = {
        {"default", 64, 0},
        {"new", 64, 0},
        {"ring", 64, 1},    /* left behind here */
        {"ring", 256, 0},   /* left behind elsewhere */
        {"refused", 64, 1}, /* refused here */
        {"refused", 4096, 1} /* refused anywhere */,
        {"deadly", 256, 1}, /* brought processes down twice */
        {"risky", 64, 0},   /* nor here */
        {"risky", 256, 0},  /* once is not enough */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct known_place place = at("default", cases[i].bytes);
        assert_int_equal(known_hopeless(&results, &place, cases[i].call), cases[i].hopeless);
    }
}

TEST_CASE(worst_status)
{
    struct known_place here = at("default", 64);
    assert_int_equal(known_of(&results, &here, "default", KNOWN_ANY).status, BENCH_OK);
    assert_int_equal(known_of(&results, &here, "deadly", KNOWN_ANY).status, BENCH_CRASHED);
    assert_int_equal(known_of(&results, &here, "new", KNOWN_ANY).status, BENCH_STATUS_COUNT);
}

/* A result is at its own place, and nowhere else by any member but its size and launch. */
TEST_CASE(places_differ_by_every_member)
{
    struct bench_result x = items[0];
    x.others = 2;

    x.buffers = BENCH_GRAPH;
    const struct known_place own = known_place_of(&x);
    struct known_place not [] = {own, own, own, own, own, own};
    int *const member[] = {&not [0].coll, &not [1].nodes, &not [2].ranks, &not [3].others, &not [4].buffers};
    assert_true(known_is_of(&x, &own));
    assert_int_equal(own.bytes, x.bytes);
    assert_string_equal(own.launch, "default");
    for (int i = 0; i < 5; i++) {
        ++*member[i];
        assert_false(known_is_of(&x, &not [i]));
    }
    not [5].engine = "nccl";
    assert_false(known_is_of(&x, &not [5]));
    not [5].engine = NULL;
    assert_true(known_is_of(&x, &not [5]));
}

TEST_CASE(the_least_disturbed)
{
    struct bench_result rows[] = {items[1], items[0], items[2], items[1], items[5]};
    const struct bench_results r = {.items = rows, .count = 5};
    struct known_place here = at("default", 64);
    rows[1].round = rows[2].round = rows[4].round = 2;
    assert_near(known_of(&r, &here, "default", 2).least_us, 10, 0);
    assert_near(known_of(&r, &here, "ring", 2).least_us, 40, 0);
    assert_near(known_of(&r, &here, "default", 1).least_us, 0, 0);
    rows[1].status = BENCH_WRONG;
    assert_near(known_of(&r, &here, "default", 2).least_us, 20, 0);
}

TEST_CASE(dead_launches)
{
    struct bench_result twice[] = {items[11], items[11], items[0]};
    struct bench_results r = {.items = twice, .count = 1};
    assert_int_equal(known_deaths(&r, "ib1"), 1);
    r.count = 2;
    assert_int_equal(known_deaths(&r, "ib1"), 2);
    twice[1] = items[5], twice[1].launch.label = "ib1";
    assert_int_equal(known_deaths(&r, "ib1"), 0);
    assert_int_equal(known_deaths(&results, "never tried"), 0);
}

/* Each sample counts alike, in whichever session it was taken. */
TEST_CASE(times_are_weighted_by_samples)
{
    struct bench_result rows[] = {items[0], items[3], items[1]};
    const struct bench_results r = {.items = rows, .count = 3};
    struct known_place here = at("default", 64);
    rows[1].bytes = 64;
    rows[1].ntimes = 1;
    assert_near(known_of(&r, &here, "default", KNOWN_ANY).us, (3 * 10 + 40 + 3 * 20) / 7.0, 1e-12);
    rows[0].status = BENCH_WRONG;
    assert_near(known_of(&r, &here, "default", KNOWN_ANY).us, (40 + 3 * 20) / 4.0, 1e-12);
    double many[4000]; /* more than there is room for behind a buffer that is too short */
    for (int i = 0; i < 4000; i++)
        many[i] = 1 + i % 3;
    rows[1].times_us = many;
    rows[1].ntimes = 4000;
    assert_near(known_of(&r, &here, "default", KNOWN_ANY).us, (4000 * 2 + 3 * 20) / 4003.0, 1e-12);
}

/* At 64 bytes 10 us, at 1024 bytes 40 us; either may not have been measured to the end. */
TEST_CASE(expectations_from_either_side)
{
    static const struct {
        enum bench_status below, above;
        double us;
    } cases[] = {{BENCH_OK, BENCH_OK, 10 + 30 * 192 / 960.0},
                 {BENCH_DROPPED, BENCH_DROPPED, 16},
                 {BENCH_OK, BENCH_CRASHED, 40},
                 {BENCH_WRONG, BENCH_OK, 40},
                 {BENCH_FAILED, BENCH_HUNG, 0},
                 {BENCH_OK, BENCH_WRONG, 40}};
    struct known_place between = at("default", 256), beyond = at("default", 2048), before = at("default", 32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_result rows[] = {items[0], items[3]};
        const struct bench_results r = {.items = rows, .count = 2};
        rows[0].status = cases[i].below;
        rows[1].status = cases[i].above;
        assert_near(known_expect_us(&r, &between, "default"), cases[i].us, 1e-9);
        assert_near(known_expect_us(&r, &beyond, "default"), cases[i].above <= BENCH_DROPPED ? 80 : 0, 1e-9);
        assert_near(known_expect_us(&r, &before, "default"), cases[i].below <= BENCH_DROPPED ? 10 : 0, 1e-9);
    }
}

/* Of two sessions at the nearest size the later one; farther sizes do not count. */
TEST_CASE(the_nearest_size_and_the_last_session)
{
    struct bench_result rows[] = {items[0], items[1], items[0], items[3], items[1]};
    const struct bench_results r = {.items = rows, .count = 5};
    struct known_place between = at("default", 512);
    rows[0].bytes = 256, rows[1].bytes = 256, rows[2].bytes = 128; /* 20 us, the later one of the nearest */
    rows[3].bytes = 1024, rows[4].bytes = 1024;                    /* likewise */
    assert_near(known_expect_us(&r, &between, "default"), 20, 1e-9);
    rows[4].bytes = 2048;
    assert_near(known_expect_us(&r, &between, "default"), 20 + 20 * 256 / 768.0, 1e-9);
}

/* Measured while the machine was busy: what counts is how it did beside the default. */
TEST_CASE(times_of_a_busy_machine)
{
    struct bench_result rows[] = {items[0], items[2], items[3], items[4]};
    const struct bench_results r = {.items = rows, .count = 4};
    struct known_place here = at("default", 64), between = at("default", 256), beyond = at("default", 4096);
    rows[0].over_default = 3; /* of the default that is no word */
    assert_near(known_of(&r, &here, "ring", KNOWN_ANY).us, 40, 0);
    rows[1].over_default = rows[3].over_default = 0.5;
    assert_near(known_of(&r, &here, BENCH_DEFAULT, KNOWN_ANY).us, 10, 0);
    assert_near(known_of(&r, &here, "ring", KNOWN_ANY).us, 5, 0);
    assert_near(known_expect_us(&r, &between, "ring"), 5 + 15 * 0.2, 1e-9);
    assert_near(known_expect_us(&r, &beyond, "ring"), 80, 0);
    rows[0].ntimes = 0; /* nobody has timed the default */
    assert_near(known_of(&r, &here, "ring", KNOWN_ANY).us, 40, 0);
}

/* What stands behind the last result is none. */
TEST_CASE(nothing_behind_the_last)
{
    struct bench_result rows[] = {items[0]};
    const struct bench_results none = {.items = rows};
    struct known_place here = at("default", 64), above = at("default", 256);
    assert_false(known_of(&none, &here, "default", 1).samples > 0);
    assert_int_equal(known_of(&none, &here, "default", KNOWN_ANY).status, BENCH_STATUS_COUNT);
    assert_near(known_of(&none, &here, "default", KNOWN_ANY).us, 0, 0);
    assert_near(known_of(&none, &here, "default", 1).least_us, 0, 0);
    assert_near(known_expect_us(&none, &above, "default"), 0, 0);
    rows[0] = items[7];
    assert_false(known_hopeless(&none, &here, "refused"));
    rows[0] = items[11];
    assert_int_equal(known_deaths(&none, "ib1"), 0);
}

/* With the index of a journal and without one. */
TEST_CASE(an_index_changes_no_answer)
{
    struct arena *a = arena_new();
    struct bench_results r = {.arena = a};
    int known = 0;
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < results.count; i++) {
            r.items = arena_grow(a, r.items, (size_t)r.count, sizeof *r.items);
            r.items[r.count] = items[i];
            r.items[r.count].bytes += (uint64_t)k;
            r.items[r.count++].ranks += k % 2;
            known_add(&r);
        }
    const struct bench_results walked = {.items = r.items, .count = r.count};
    for (int i = 0; i < r.count; i++) {
        const struct known_place here = known_place_of(&r.items[i]);
        const char *call = r.items[i].call.label;
        const struct known x = known_of(&r, &here, call, r.items[i].round),
                           y = known_of(&walked, &here, call, r.items[i].round);
        assert_true(x.status == y.status && x.deaths == y.deaths && x.samples == y.samples);
        assert_true(x.us == y.us && x.least_us == y.least_us);
        assert_int_equal(known_hopeless(&r, &here, call), known_hopeless(&walked, &here, call));
        assert_true(known_expect_us(&r, &here, call) == known_expect_us(&walked, &here, call));
        known += x.samples > 0;
    }
    assert_int_equal(known, 20 * 12);
    arena_free(a);
}

/* Any size, any launch, any call. */
TEST_CASE(questions_about_several_places)
{
    struct known_place any = at(NULL, 0);
    const struct known all = known_of(&results, &any, BENCH_DEFAULT, KNOWN_ANY);
    assert_int_equal(all.samples, 12);
    assert_int_equal(all.deaths, 1);
    assert_near(all.least_us, 10, 0);
    assert_int_equal(known_of(&results, &any, NULL, 2).samples, 3);
    any.bytes = 1024;
    assert_near(known_of(&results, &any, BENCH_DEFAULT, KNOWN_ANY).least_us, 40, 0);
}

TEST_CASES(test_known)
