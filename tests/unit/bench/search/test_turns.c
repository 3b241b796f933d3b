/* Turns with the usual data and with other data: who takes part, how long it goes on, and what is made of it. */
#include "bench/search/turns.h"
#include "core/coll.h"
#include "tests/lib/search_world.h"
#include "tests/lib/unit.h"

#define KIND(a, p) ((const struct bench_setting[]){{"ALGO", (a)}, {"PROTO", (p)}, {"CHANNELS", "8"}})
#define CANDIDATE(name, list, n, what, us)                                                                \
    {                                                                                                     \
        .launch = {.label = BENCH_DEFAULT}, .call = {(name), (list), (n)}, .status = (what), .time_us = { \
            (us),                                                                                         \
            (us),                                                                                         \
            (us),                                                                                         \
            5                                                                                             \
        }                                                                                                 \
    }

static struct bench_options options;
static struct bench_measure_ops ops;
static const struct bench_engine engine = {.name = "e", .measures = &ops};
static volatile sig_atomic_t stop;
static struct bench_study study = {.options = &options, .engine = &engine, .stop = &stop};

static int begin(void **state)
{
    options = (struct bench_options){.margin = 0.03, .confidence = 0.95, .watchdog_s = 10};
    ops = (struct bench_measure_ops){.sampling = {2000, 5000, 5}};
    return 0;
}

/* "ring/ll" is the choice, as "ring/ll/8ch" promises less and is of the same kind; a dropped one may take
 * part, what failed or ran under another launch does not. */
static struct bench_candidate candidates[] = {
    CANDIDATE(BENCH_DEFAULT, NULL, 0, BENCH_OK, 100),
    CANDIDATE("nvls", KIND("nvls", "simple"), 2, BENCH_OK, 80),
    CANDIDATE("ring/ll", KIND("ring", "ll"), 2, BENCH_OK, 50),
    CANDIDATE("ring/ll/8ch", KIND("ring", "ll"), 3, BENCH_OK, 45),
    CANDIDATE("tree/simple", KIND("tree", "simple"), 2, BENCH_DROPPED, 70),
    CANDIDATE("tree/ll", KIND("tree", "ll"), 2, BENCH_OK, 60),
    CANDIDATE("failed", KIND("pat", "ll"), 2, BENCH_FAILED, 20),
    CANDIDATE("elsewhere", KIND("pat", "ll128"), 2, BENCH_OK, 20),
    CANDIDATE("far", KIND("pat", "simple"), 2, BENCH_OK, 150),
    CANDIDATE("unmeasured", KIND("chain", "simple"), 2, BENCH_OK, 1),
};
#define CANDIDATES ((int)(sizeof candidates / sizeof *candidates))
enum { DEFAULT, NVLS, RING, RING_8, TREE_SIMPLE, TREE, FAILED, ELSEWHERE, FAR, UNMEASURED };

static struct comparison picked(int n)
{
    struct bench_point p = {.candidates = candidates, .ncandidates = n};
    struct comparison c = {.study = &study};
    candidates[RING].promise = 2;
    candidates[RING_8].promise = 1.9;
    candidates[ELSEWHERE].launch.label = "other";
    candidates[UNMEASURED].time_us.n = 0;
    turns_pick(&c, &p);
    return c;
}

static void lanes_are(const struct comparison *c, int chosen, int n, const char *const *labels)
{
    assert_int_equal(c->nlanes, n);
    assert_int_equal(c->chosen, chosen);
    for (int i = 0; i < n; i++)
        assert_string_equal(c->lanes[i].knobs->label, labels[i]);
}

TEST_CASE(the_fastest_of_each_kind_take_part)
{
    static const char *const labels[] = {BENCH_DEFAULT, "ring/ll", "tree/ll", "tree/simple"};
    struct comparison c = picked(CANDIDATES);
    lanes_are(&c, 1, 4, labels);
    assert_near(c.rest_us, 80, 0);
    assert_near(c.lanes[2].before_us, 60, 0);
    candidates[NVLS].time_us.median = 150; /* three times the choice can never win */
    assert_true(isinf(picked(CANDIDATES).rest_us));
    candidates[NVLS].time_us.median = 149.9;
    assert_near(picked(CANDIDATES).rest_us, 149.9, 0);
    candidates[NVLS].time_us.median = 80;
    c = picked(3); /* default, nvls, ring/ll */
    lanes_are(&c, 1, 3, (const char *const[]){BENCH_DEFAULT, "ring/ll", "nvls"});
    assert_true(isinf(c.rest_us));
}

static const char *choice(void)
{
    struct bench_point p = {.candidates = candidates, .ncandidates = CANDIDATES};
    const struct bench_candidate *x = turns_choice(&study, &p);
    return x ? x->call.label : "none";
}

TEST_CASE(what_promises_most_is_the_choice)
{
    picked(CANDIDATES);
    assert_string_equal(choice(), "ring/ll");
    candidates[RING_8].promise = 0;
    candidates[RING].promise = 1.031;
    assert_string_equal(choice(), "ring/ll");
    candidates[RING].promise = 1.03;
    assert_string_equal(choice(), BENCH_DEFAULT);
    candidates[TREE].promise = candidates[NVLS].promise = 1.5;
    candidates[RING].promise = 2;
    candidates[RING].time_us.median = 90; /* as in a burst */
    assert_string_equal(choice(), "ring/ll");
    candidates[RING].time_us.median = 50;
    candidates[TREE_SIMPLE].promise = 3; /* what was left behind is no choice */
    assert_string_equal(choice(), "ring/ll");
    candidates[TREE].promise = candidates[NVLS].promise = candidates[TREE_SIMPLE].promise = 0;
    candidates[RING].promise = 0;
    struct bench_point p = {.candidates = candidates, .ncandidates = CANDIDATES};
    struct comparison c = {.study = &study};
    turns_pick(&c, &p);
    lanes_are(&c, 0, 4, (const char *const[]){BENCH_DEFAULT, "ring/ll/8ch", "tree/ll", "tree/simple"});
    candidates[DEFAULT].time_us.n = 0;
    assert_string_equal(choice(), "none");
    struct comparison none = {.study = &study};
    turns_pick(&none, &p);
    assert_int_equal(none.nlanes, 0);
    candidates[DEFAULT].time_us.n = 5;
}

/* Of libraries whose candidates have one setting or none. */
TEST_CASE(kinds_of_few_settings)
{
    struct bench_candidate few[] = {
        CANDIDATE(BENCH_DEFAULT, NULL, 0, BENCH_OK, 100), CANDIDATE("a", KIND("1", ""), 1, BENCH_OK, 90),
        CANDIDATE("b", KIND("1", ""), 1, BENCH_OK, 95),   CANDIDATE("c", KIND("2", ""), 1, BENCH_OK, 96),
        CANDIDATE("d", KIND("1", "1"), 2, BENCH_OK, 97),  CANDIDATE("e", NULL, 0, BENCH_OK, 98),
    };
    struct bench_point p = {.candidates = few, .ncandidates = 6};
    struct comparison c = {.study = &study};
    turns_pick(&c, &p);
    lanes_are(&c, 0, 4, (const char *const[]){BENCH_DEFAULT, "a", "c", "d"});
    assert_near(c.rest_us, 98, 0);
}

/* ---- what is made of it ---- */

static struct bench_knobs knobs[] = {{.label = BENCH_DEFAULT}, {.label = "chosen"}, {.label = "x"}, {.label = "y"}};

/* A comparison in which each lane took as long in every turn: {usual, other}. */
static struct comparison told(int turns, const double (*us)[2], int n)
{
    struct comparison c = {.study = &study, .nlanes = n, .chosen = 1, .turns = turns, .rest_us = INFINITY};
    for (int i = 0; i < n; i++) {
        c.lanes[i] = (struct lane){.knobs = &knobs[i], .before_us = us[i][0]};
        for (int t = 0; t < turns; t++)
            for (int half = 0; half < 2; half++)
                c.lanes[i].us[half][t] = us[i][half];
    }
    return c;
}

static int change(const double (*us)[2], int n)
{
    struct comparison c = told(TURNS_MOST, us, n);
    return turns_change(&c);
}

TEST_CASE(a_choice_changes_where_another_becomes_better)
{
    assert_int_equal(change((const double[][2]){{100, 100}, {50, 100}, {60, 60}}, 3), 2);
    assert_int_equal(change((const double[][2]){{100, 50}, {50, 100}, {60, 60}}, 3), 0); /* by most: the default */
    assert_int_equal(change((const double[][2]){{100, 70}, {50, 100}, {60, 60}, {70, 65}}, 4), 2);
    assert_int_equal(change((const double[][2]){{100, 200}, {50, 100}, {60, 120}}, 3), -1); /* all alike */
    assert_int_equal(change((const double[][2]){{100, 100}, {50, 60}, {60, 59}}, 3), -1); /* by less than the margin */
    assert_int_equal(change((const double[][2]){{100, 100}, {50, 60}, {60, 58.2}}, 3), 2);
    assert_int_equal(change((const double[][2]){{100, 100}, {60, 60}, {50, 50}}, 3), -1);    /* so it is anyhow */
    assert_int_equal(change((const double[][2]){{100, 100}, {51.5, 60}, {50.1, 50}}, 3), 2); /* hardly so anyhow */
}

/* Gains that come and go: where it has ended undecided, whoever seems to be better by the margin is the change. */
TEST_CASE(undecided_at_the_end)
{
    static const double all[][2] = {{100, 100}, {50, 100}, {60, 95}};
    struct comparison c = told(TURNS_MOST, all, 3);
    for (int t = 0; t < 7; t++)
        c.lanes[2].us[1][t] = 105;
    assert_int_equal(turns_change(&c), 2); /* 8 of 15 gain 5 % */
    for (int t = 7; t < TURNS_MOST; t++)
        c.lanes[2].us[1][t] = 98;
    assert_int_equal(turns_change(&c), -1); /* of 2 %: as much as nothing, and a third says so */
    c = told(6, all, 3);
    assert_int_equal(turns_change(&c), 2); /* too few to say */
    c.lanes[0].us[1][0] = 1;
    assert_int_equal(turns_change(&c), 2);
}

/* A call that took no part may be the better one where the choice loses what others do not. */
TEST_CASE(one_that_took_no_part)
{
    static const double all[][2] = {{300, 300}, {50, 100}, {150, 150}};
    struct comparison c = told(TURNS_MOST, all, 3);
    assert_int_equal(turns_change(&c), -1);
    c.rest_us = 97; /* by 3 % and more below 100 */
    assert_int_equal(turns_change(&c), 3);
    c.rest_us = 97.1;
    assert_int_equal(turns_change(&c), -1);
    for (int t = 0; t < TURNS_MOST; t++) /* others lose, too: 97 would be 116 */
        c.lanes[0].us[1][t] = 400, c.lanes[2].us[1][t] = 180;
    c.rest_us = 97;
    assert_int_equal(turns_change(&c), -1);
    c.rest_us = 80.8;
    assert_int_equal(turns_change(&c), 3);
}

TEST_CASE(gains_and_factors)
{
    static const double all[][2] = {{90, 120}, {50, 100}, {60, 80}};
    struct comparison c = told(7, all, 3);
    assert_near(turns_gain(&c, 2, 0).median, 50 / 60.0, 1e-12);
    assert_near(turns_gain(&c, 2, 1).median, 100 / 80.0, 1e-12);
    assert_near(turns_gain(&c, 1, 1).median, 1, 1e-12);
    assert_int_equal(turns_gain(&c, 0, 1).n, 7);
    assert_near(turns_factor(&c, 0).median, 120 / 90.0, 1e-12);
    assert_near(turns_factor(&c, 1).median, 2, 1e-12);
    /* Samples of 90, 50 and 60 us: as many calls as make 2 ms. */
    assert_near(turns_sample_us(&c), 23 * 90 + 40 * 50 + 34 * 60, 1e-9);
}

/* ---- turns ---- */

static struct {
    const double (*us)[2];
    int halves, checks, fails_at, fails; /* the half, and the lane */
    enum bench_status status;
    enum bench_outcome outcome;
    double half_s;
    const char *detail;
} scene;

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b,
                                  volatile sig_atomic_t *told_stop, bench_sample_fn *tell, void *user,
                                  char detail[BENCH_DETAIL])
{
    int half = scene.halves % 2, fails = scene.halves == scene.fails_at;
    assert_true(s == NULL && told_stop == &stop);
    assert_int_equal(b->coll, COLL_ALLREDUCE);
    assert_int_equal(b->bytes, 4096);
    assert_int_equal(b->samples, 1);
    assert_int_equal(b->check, scene.halves == 1);
    assert_int_equal(b->buffers, half ? BENCH_BFLOAT16 : BENCH_USUAL);
    assert_true(bench_shape_same(&b->shape, &(struct bench_shape){2, 16, 3, 1}));
    world_pass(scene.half_s);
    scene.halves++;
    for (int i = 0; i < b->nshots; i++) {
        assert_ptr_equal(b->shots[i].knobs, &knobs[i]);
        assert_int_equal(b->shots[i].iterations, bench_sample_calls(&ops.sampling, scene.us[i][0]));
        assert_near(b->shots[i].patience_s, 10 + 1e-5 * bench_sample_us(&ops.sampling, scene.us[i][0]), 1e-9);
        if (fails && i == scene.fails && scene.outcome != BENCH_ANSWERED) {
            snprintf(detail, BENCH_DETAIL, "it is gone");
            return scene.outcome;
        }
        enum bench_status status = fails && i >= scene.fails ? scene.status : BENCH_OK;
        tell(user, i, status, scene.us[i][half], status ? scene.detail : NULL);
    }
    return BENCH_ANSWERED;
}

static struct comparison turn(const double (*us)[2], double until_s, enum bench_outcome expected)
{
    struct comparison c = told(0, us, 3);
    for (int i = 0; i < 3; i++)
        c.lanes[i].before_us = us[i][0];
    c.at =
        (struct history_place){.coll = COLL_ALLREDUCE, .bytes = 4096, .nodes = 2, .ranks = 16, .others = 3, .load = 1};
    c.other = BENCH_BFLOAT16;
    c.until_s = until_s;
    ops.measure = measure;
    scene.us = us;
    scene.halves = 0;
    world_pass(100 - world_now_s());
    assert_int_equal(turns_run(&c), expected);
    return c;
}

static const double clear[][2] = {{100, 100}, {50, 100}, {60, 60}}, same[][2] = {{100, 100}, {50, 60}, {60, 57.5}};

TEST_CASE(it_ends_when_all_is_clear)
{
    scene.fails_at = -1;
    scene.half_s = 1;
    struct comparison c = turn(clear, 200, BENCH_ANSWERED);
    assert_int_equal(c.turns, TURNS_LEAST);
    assert_int_equal(turns_change(&c), 2);
    assert_int_equal(turn(same, 200, BENCH_ANSWERED).turns, TURNS_LEAST);
    assert_int_equal(turn(clear, 114, BENCH_ANSWERED).turns, 7);
    assert_int_equal(turn(clear, 113.9, BENCH_ANSWERED).turns, 1); /* seven will not do any more */
    assert_int_equal(turn(clear, 99, BENCH_ANSWERED).turns, 0);
    options.confidence = 0.9999; /* so many never prove it */
    assert_int_equal(turn(clear, 200, BENCH_ANSWERED).turns, TURNS_MOST);
    assert_int_equal(turn(clear, 118, BENCH_ANSWERED).turns, 9);
    assert_int_equal(turn(clear, 117.9, BENCH_ANSWERED).turns, 8);
}

TEST_CASE(what_goes_wrong_ends_it)
{
    static const struct {
        int half, lane;
        enum bench_status status;
        enum bench_outcome outcome;
        enum bench_status told;
        const char *detail, *why;
    } cases[] = {
        {1, 2, BENCH_WRONG, BENCH_ANSWERED, BENCH_WRONG, "5 is 6", "5 is 6"},
        {0, 1, BENCH_FAILED, BENCH_ANSWERED, BENCH_FAILED, NULL, ""},
        {3, 0, BENCH_OK, BENCH_DIED, BENCH_CRASHED, NULL, "it is gone"},
        {4, 2, BENCH_OK, BENCH_SILENT, BENCH_HUNG, NULL, "it is gone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene.fails_at = cases[i].half;
        scene.fails = cases[i].lane;
        scene.status = cases[i].status;
        scene.outcome = cases[i].outcome;
        scene.detail = cases[i].detail;
        struct comparison c = turn(clear, 200, cases[i].outcome);
        assert_int_equal(c.status, cases[i].told);
        assert_int_equal(c.failed, cases[i].lane);
        assert_int_equal(c.turns, cases[i].half / 2);
        assert_int_equal(c.half, cases[i].half % 2);
        assert_string_equal(c.why, cases[i].why);
        assert_int_equal(scene.halves, cases[i].half + 1);
    }
    scene.outcome = BENCH_STOPPED;
    assert_int_equal(turn(clear, 200, BENCH_STOPPED).status, BENCH_OK);
    scene.outcome = BENCH_LOST;
    assert_int_equal(turn(clear, 200, BENCH_LOST).status, BENCH_OK);
}

TEST_CASES_EACH(main, begin, NULL)
