/* tuner/explore/decide.c: one decision after another, at the very call, time
 * and quotient where it turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/explore/decide_internal.h"

#define KIND 5

static struct explore_decider *d;
static struct explore_seen seen;
static uint32_t plan;

static int make(void **state)
{
    (void)state;
    d = explore_decider_new(0.5);
    seen = (struct explore_seen){.bytes = 4096, .offered = 0x3f, .predicted_us = {9, 9, 9, 3, 9, 1}};
    seen.rule.cell = -1;
    return !d;
}

static int drop(void **state)
{
    (void)state;
    explore_decider_free(d);
    return 0;
}

static void look(void *arg, int kind, struct explore_seen *to)
{
    (void)kind;
    assert_ptr_equal(arg, &seen);
    *to = seen;
}

/* What is proposed when so many calls have been made. */
static const char *after(uint64_t calls)
{
    static char text[64];
    struct explore_plan p;
    seen.calls = calls;
    plan = explore_next(d, look, &seen);
    if (!plan)
        return "";
    assert_int_equal(explore_unpack(plan, &p), 0);
    snprintf(text, sizeof text, "%s %d", p.is_trial ? "tries" : "holds", p.cell.cell);
    if (p.cell.channels)
        snprintf(text + strlen(text), sizeof text - strlen(text), "/%u", p.cell.channels);
    if (p.is_trial)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %u of %u", explore_tried(&p), explore_span(&p));
    return text;
}

static void agreed(void)
{
    explore_decided(d, plan, 1);
}

static void times(enum explore_arm arm, int cell, double us, int n)
{
    const struct explore_sample s = {KIND, arm, cell / PROTO_COUNT, cell % PROTO_COUNT, 8, us};
    for (int i = 0; i < n; i++)
        explore_sampled(d, &s);
}

/* A trial's times, each beside one of calls as they are; it has ended, and so
 * have its stragglers. */
static void pairs(int cell, double us, double beside_us, int n)
{
    for (int i = 0; i < n; i++) {
        times(EXPLORE_HOLD, 3, beside_us, 1);
        times(EXPLORE_TRIED, cell, us, 1);
    }
    seen.trials++;
    seen.ended = seen.calls;
}

static struct topic topic(void)
{
    assert_non_null(explore_topic(d, 0));
    return *explore_topic(d, 0);
}

/* Medians as calls are without all this, and as they are now. */
static double default_us(void)
{
    return explore_median(explore_topic(d, 0)->defaults, explore_topic(d, 0)->ndefaults);
}

static double hold_us(void)
{
    return explore_median(explore_topic(d, 0)->holds, explore_topic(d, 0)->nholds);
}

/* ---- when a trial may begin -------------------------------------------------------------------------------------- */

static void a_few_times_come_first(void **state)
{
    (void)state;
    times(EXPLORE_HOLD, 3, 0, 9); /* no times */
    assert_null(explore_topic(d, 0));
    assert_string_equal(after(100000), "");
    times(EXPLORE_HOLD, 3, 100, 7);
    assert_string_equal(after(100000), "");
    times(EXPLORE_HOLD, 3, 100, 1);
    assert_string_equal(after(100000), "tries 5, 2 of 4");
    struct topic t = topic();
    assert_true(t.kind == KIND && t.bytes == 4096 && t.hold.cell == -1 && t.rule.cell == -1 && hold_us() == 100);
    assert_true(default_us() == 100 && t.ndefaults == 8 && t.spent_us == 0 && t.ncandidates == 2);
    assert_null(explore_topic(d, 1));
}

/* Two calls at twice the time are half of that of four. */
static void what_it_may_cost(void **state)
{
    (void)state;
    times(EXPLORE_HOLD, 3, 100, 8);
    assert_string_equal(after(3), "");
    assert_string_equal(after(4), "tries 5, 2 of 4");
}

/* What is feared of connecting counts for cells of an algorithm that nothing
 * has run with yet. */
static void what_connecting_may_cost(void **state)
{
    (void)state;
    seen.offered = 0x0c; /* tree with simple, and what it runs with, on one channel */
    for (int i = 0; i < 8; i++)
        explore_sampled(d, &(struct explore_sample){KIND, EXPLORE_HOLD, ALGO_RING, PROTO_LL, 1, 100});
    /* 50 ms, and five calls' time more on each of two: three times what the other
     * is predicted */
    assert_string_equal(after(1019), "");
    assert_string_equal(after(1020), "tries 2, 2 of 4");
    explore_stalled(d, EXPLORE_BEGINNING, 1000);
    assert_string_equal(after(39), "");
    assert_string_equal(after(40), "tries 2, 2 of 4");
    explore_stalled(d, EXPLORE_CONNECTED, 999); /* paid; no more is feared for it */
    assert_string_equal(after(59), "");
    assert_string_equal(after(60), "tries 2, 2 of 4");
    explore_stalled(d, EXPLORE_CONNECTED, 2001);
    assert_string_equal(after(120), "");
    assert_string_equal(after(121), "tries 2, 2 of 4");
    explore_stalled(d, EXPLORE_WAITED, 100);
    assert_string_equal(after(122), "");
    assert_string_equal(after(123), "tries 2, 2 of 4");
    /* it is connected: nothing is feared any more */
    explore_sampled(d, &(struct explore_sample){KIND, EXPLORE_TRIED_FIRST, ALGO_TREE, PROTO_LL, 1, 100});
    assert_string_equal(after(82), "tries 2, 2 of 4");
    assert_string_equal(after(81), "");
}

/* ---- what trials cost -------------------------------------------------------------------------------------------- */

static void costs(int n, double us, int behind, double spent_us)
{
    make(NULL);
    times(EXPLORE_HOLD, 3, 100, 8);
    assert_string_equal(after(1000), "tries 5, 2 of 4");
    agreed();
    times(EXPLORE_TRIED_FIRST, 5, us, n);
    times(EXPLORE_HOLD_FIRST, 3, 150, behind);
    seen.trials = 1;
    seen.ended = 1000;
    after(1031);
    assert_true(topic().spent_us == 0); /* some times may be on their way */
    after(1032);
    assert_true(topic().spent_us > spent_us - 1e-6 && topic().spent_us < spent_us + 1e-6);
    drop(NULL);
}

static void what_was_paid(void **state)
{
    (void)state;
    drop(NULL);
    costs(2, 300, 0, 400);
    costs(2, 300, 2, 500);
    costs(1, 300, 0, 400); /* the other was as dear */
    costs(0, 300, 0, 200); /* or as was feared */
    costs(2, 50, 0, 0);    /* what is faster costs nothing, and pays for nothing else */
    costs(2, 50, 1, 50);
    costs(1, 50, 0, 0);
    costs(3, 110, 0, 30);
    make(NULL);
}

/* ---- who has won ------------------------------------------------------------------------------------------------- */

static void begin(void)
{
    times(EXPLORE_HOLD, 3, 100, 64);
    assert_string_equal(after(100000), "tries 5, 2 of 4");
    agreed();
}

/* One time in three times as long is a disaster; less may have been bad luck.
 */
static void one_bad_time(void **state)
{
    (void)state;
    begin();
    pairs(5, 300, 100, 1);
    assert_string_equal(after(100032), "tries 5, 16 of 64");
    assert_true(topic().candidates[1].fate == EXPLORE_RUNNING && topic().candidates[1].risk > 3.59 &&
                topic().candidates[1].risk < 3.61);
    drop(NULL);
    make(NULL);
    begin();
    pairs(5, 301, 100, 1);
    after(100032);
    assert_int_equal(topic().candidates[1].fate, EXPLORE_LOST);
}

/* Eight of them, of which all are three percent faster, and a bit; or are not.
 */
static void eight_good_times(void **state)
{
    (void)state;
    static const struct {
        double us;
        const char *next;
        enum explore_fate fate;
    } cases[] = {{96, "holds 5", EXPLORE_WON}, {98, "", EXPLORE_LOST}};
    for (size_t i = 0; i < 2; i++) {
        drop(NULL);
        make(NULL);
        begin();
        pairs(5, cases[i].us, 100, 1);
        assert_string_equal(after(100032), "tries 5, 16 of 64");
        agreed();
        pairs(5, cases[i].us, 100, 6);
        const char *next = after(100064);
        assert_string_equal(next, "tries 5, 32 of 128"); /* seven are none */
        agreed();
        pairs(5, cases[i].us, 100, 1);
        next = after(100096);
        assert_int_equal(topic().candidates[1].fate, cases[i].fate);
        if (*cases[i].next)
            assert_string_equal(next, cases[i].next);
        assert_true(topic().candidates[1].pairs == 8 && topic().candidates[1].beside_default);
    }
}

/* The range of twenty holds their median but for one on either side. */
static void the_interval_of_a_median(void **state)
{
    (void)state;
    begin();
    pairs(5, 100, 100, 1);
    after(100032), agreed();
    for (int i = 0; i < 19; i++)
        pairs(5, i < 3 ? 150 : 90, 100, 1);
    assert_string_equal(after(100064), "holds 5"); /* four of twenty are slower */
    drop(NULL);
    make(NULL);
    begin();
    pairs(5, 100, 100, 1);
    after(100032), agreed();
    for (int i = 0; i < 19; i++)
        pairs(5, i < 4 ? 150 : 90, 100, 1);
    assert_string_equal(after(100064), "tries 5, 32 of 128");
}

/* NCCL ran something else: it is lost, whatever that took. */
static void what_runs_otherwise_is_lost(void **state)
{
    (void)state;
    static const struct {
        int cell, channels, unlike;
    } cases[] = {{5, 8, 0}, {4, 8, 1}, {2, 8, 1}, {9, 8, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop(NULL);
        make(NULL);
        begin();
        times(EXPLORE_HOLD, 3, 100, 1);
        times(EXPLORE_TRIED, cases[i].cell, 50, 1);
        seen.trials = 1, seen.ended = 100000;
        after(100032);
        assert_int_equal(topic().candidates[1].unlike, cases[i].unlike);
        assert_int_equal(topic().candidates[1].fate, cases[i].unlike ? EXPLORE_LOST : EXPLORE_RUNNING);
        assert_int_equal(topic().candidates[1].pairs, !cases[i].unlike);
    }
}

/* Without a time beside it, or as the first behind a change, a time is no pair;
 * without any the second trial loses. */
static void times_without_one_beside(void **state)
{
    (void)state;
    begin();
    times(EXPLORE_TRIED, 5, 50, 1); /* nothing was before it in this trial */
    times(EXPLORE_HOLD, 3, 100, 1);
    times(EXPLORE_TRIED_FIRST, 5, 50, 1);
    seen.trials = 1, seen.ended = 100000;
    assert_string_equal(after(100032), "tries 5, 16 of 64");
    assert_true(topic().candidates[1].pairs == 0 && topic().candidates[1].risk == 2);
    agreed();
    seen.trials = 2, seen.ended = 100032;
    after(100064);
    assert_int_equal(topic().candidates[1].fate, EXPLORE_LOST);
}

/* ---- what was won ------------------------------------------------------------------------------------------------ */

static void win(double us)
{
    begin();
    pairs(5, us, 100, 8);
    assert_string_equal(after(100032), "holds 5");
    explore_decided(d, plan, 0); /* aborted: it is proposed again */
    assert_string_equal(after(100033), "holds 5");
    agreed();
    assert_true(topic().hold.cell == 5 && default_us() == 100 && topic().candidates[1].fate == EXPLORE_LOST);
    for (int i = 0; i < 64; i++)
        times(EXPLORE_HOLD, 5, us, 1);
    assert_true(hold_us() == us && default_us() == 100);
}

static void recheck(double other_us, double beside_us, int n)
{
    agreed();
    for (int i = 0; i < n; i++) {
        times(EXPLORE_HOLD, 5, beside_us, 1);
        times(EXPLORE_TRIED, 3, other_us, 1);
    }
    seen.trials++;
    seen.ended = seen.calls;
}

/* After 512 calls, then after twice as many each time, it is held against what
 * the job would run with. */
static void what_was_won_is_looked_at_again(void **state)
{
    (void)state;
    win(90);
    seen.offered = 0x20; /* nothing else is to be tried, but channels */
    const char *next = after(100033 + 511);
    assert_true(strcmp(next, "tries -1, 32 of 128") != 0);
    assert_string_equal(after(100033 + 512), "tries -1, 32 of 128");
    recheck(100, 90, 8);
    next = after(100545 + 32);
    assert_true(strcmp(next, "tries -1, 32 of 128") != 0 && topic().hold.cell == 5);
    assert_string_equal(after(100577 + 1023) + 0, after(100577 + 1023));
    assert_string_equal(after(100577 + 1024), "tries -1, 32 of 128");
    recheck(89, 90, 7); /* of seven nothing follows */
    next = after(101601 + 32);
    assert_int_equal(topic().hold.cell, 5);
    assert_string_equal(after(101633 + 2048), "tries -1, 32 of 128");
    recheck(89, 90, 8); /* it is the faster one again, by however little */
    assert_string_equal(after(103681 + 32), "holds -1");
    agreed();
    struct topic t = topic();
    assert_int_equal(t.hold.cell, -1);
    assert_int_equal(t.candidates[0].fate, EXPLORE_UNTRIED);
    for (int i = 1; i < t.ncandidates; i++)
        assert_int_equal(t.candidates[i].fate, EXPLORE_LOST);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Whichever cell it is, its times are not those of the default. */
static void the_first_cell_can_win(void **state)
{
    (void)state;
    seen.offered = 0x09;
    seen.predicted_us[0] = 1;
    times(EXPLORE_HOLD, 3, 100, 8);
    times(EXPLORE_TRIED_FIRST, 0, 100, 1);
    assert_string_equal(after(100000), "tries 0, 2 of 4");
    agreed();
    pairs(0, 50, 100, 8);
    assert_string_equal(after(100032), "holds 0");
    agreed();
    times(EXPLORE_HOLD, 0, 50, 9);
    struct topic t = topic();
    assert_true(t.hold.cell == 0 && default_us() == 100 && t.ndefaults == 16 && hold_us() == 50);
}

static void as_many_kinds_as_are_known(void **state)
{
    (void)state;
    for (int kind = 0; kind < EXPLORE_KNOWN + 5; kind++)
        explore_sampled(d, &(struct explore_sample){kind, EXPLORE_HOLD, 1, 0, 8, 10});
    assert_int_equal(explore_topic(d, EXPLORE_KNOWN - 1)->kind, EXPLORE_KNOWN - 1);
    assert_null(explore_topic(d, EXPLORE_KNOWN));
    explore_decided(d, 1, 1);                                                    /* nothing was asked for */
    explore_sampled(d, &(struct explore_sample){3, EXPLORE_TRIED, 1, 0, 8, 10}); /* of no trial */
    const struct topic *t = explore_topic(d, 3);
    assert_true(t->ncandidates == 0 && t->ndefaults == 1);
}

static void the_middle_of_times(void **state)
{
    (void)state;
    static const float values[70] = {5, 1, 4, 2, 3, 9};
    assert_true(explore_median(values, 0) == 0 && explore_median(values, 1) == 5 && explore_median(values, 2) == 5);
    assert_true(explore_median(values, 5) == 3 && explore_median(values, 6) == 4);
    assert_true(explore_median(values, 64) == 0 && explore_median(values, 70) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_few_times_come_first),
        TEST(what_it_may_cost),
        TEST(what_connecting_may_cost),
        TEST(what_was_paid),
        TEST(one_bad_time),
        TEST(eight_good_times),
        TEST(the_interval_of_a_median),
        TEST(what_runs_otherwise_is_lost),
        TEST(times_without_one_beside),
        TEST(what_was_won_is_looked_at_again),
        TEST(the_first_cell_can_win),
        TEST(as_many_kinds_as_are_known),
        TEST(the_middle_of_times),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
