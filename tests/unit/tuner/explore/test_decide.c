/* tuner/explore/plan and decide: words and turns, and what is decided in jobs whose optimum is known
 * (tests/lib/online_world.h; tests/perf/perf_online.c has the figures). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/online_world.h"
#include "tuner/explore/decide.h"

#define LAWS 6

static void plans_are_words(void **state)
{
    (void)state;
    struct explore_plan p = {.kind = EXPLORE_KINDS - 1,
                             .cell = {5, 64, 15},
                             .is_trial = 1,
                             .windows = 7,
                             .gap = 3,
                             .block = 3},
                        q;
    assert_int_equal(explore_unpack(explore_pack(&p), &q), 0);
    assert_memory_equal(&p, &q, sizeof p);
    p = (struct explore_plan){.kind = 0, .cell = explore_nothing};
    assert_int_not_equal(explore_pack(&p), 0);
    assert_int_equal(explore_unpack(explore_pack(&p), &q), 0);
    assert_int_equal(q.cell.cell, -1);
    assert_int_equal(explore_unpack(0, &q), -1);
    p.kind = EXPLORE_KINDS;
    assert_int_equal(explore_unpack(explore_pack(&p), &q), -1);
    p = (struct explore_plan){.kind = 1, .cell = {2, 65}};
    assert_int_equal(explore_unpack(explore_pack(&p), &q), -1);
    p = (struct explore_plan){.kind = 1, .cell = {2, 64}, .is_trial = 1};
    assert_int_equal(explore_unpack(explore_pack(&p), &q), -1); /* in no gap */
    p = (struct explore_plan){.kind = 0, .cell = {-1, 0}};
    p.cell.channels = 3; /* of nothing */
    assert_int_equal(explore_unpack(explore_pack(&p), &q), -1);
    for (uint32_t word = 1; word;
         word = word * 3 < word ? 0 : word * 3) /* whatever comes is within its arrays, or refused */
        assert_true(explore_unpack(word, &q) ||
                    (q.kind >= 0 && q.kind < EXPLORE_KINDS && q.cell.cell <= EXPLORE_LIBRARY));
}

static void kinds_are_quarters_of_an_octave(void **state)
{
    (void)state;
    assert_int_equal(explore_kind(COLL_BROADCAST, 4096), -1);
    assert_int_equal(explore_kind(COLL_ALLREDUCE, 0), -1);
    assert_int_equal(explore_kind(COLL_ALLREDUCE, 4096), explore_kind(COLL_ALLREDUCE, 5119));
    assert_int_equal(explore_kind(COLL_ALLREDUCE, 4096) + 1, explore_kind(COLL_ALLREDUCE, 5120));
    assert_int_not_equal(explore_kind(COLL_ALLREDUCE, 4096), explore_kind(COLL_ALLGATHER, 4096));
    assert_int_equal(explore_coll(explore_kind(COLL_REDUCESCATTER, 1)), COLL_REDUCESCATTER);
    assert_int_equal(explore_kind(COLL_ALLREDUCE, UINT64_MAX), -1);
}

/* One block a window, never at its start, and not always at the same place. */
static void turns_are_one_block_a_window(void **state)
{
    (void)state;
    struct explore_plan p = {.is_trial = 1, .windows = 4, .gap = 2, .block = 1};
    unsigned tried = 0, first = 0, behind = 0, places = 0;
    assert_int_equal(explore_span(&p), 128);
    for (uint32_t call = 0; call < 128; call++) {
        enum explore_arm arm = explore_turn(&p, call);
        tried += arm == EXPLORE_TRIED;
        first += arm == EXPLORE_TRIED_FIRST;
        behind += arm == EXPLORE_HOLD_FIRST;
        places |= arm == EXPLORE_TRIED ? 1U << call / 2 % 4 : 0;
    }
    assert_int_equal(tried + first, explore_tried(&p));
    assert_int_equal(first, 16);
    assert_true(behind >= 15); /* the last one's is behind the end */
    assert_int_equal(places, 2 | 4 | 8);
}

static struct online_score add(const struct online_options *o, int at)
{
    struct online_score sum = {0}, s[ONLINE_PLACES];
    for (size_t law = 0; law < LAWS; law++) {
        struct online_options with = *o;
        with.law = with.seed = law;
        online_run(&with, at + 1, s);
        for (int i = 0; i <= at; i++) {
            assert_true(s[i].regret <= 1.2 * o->regret);
            assert_true(s[i].slower <= 1.2 * o->regret);
        }
        sum.gained += s[at].gained;
        sum.possible += s[at].possible;
        sum.worse += s[at].worse;
    }
    return sum;
}

static void gains_within_the_bound(void **state)
{
    (void)state;
    for (int r = 0; r < ONLINE_REGIMES; r++) {
        struct online_options o = {.regime = (enum online_regime)r, .regret = 0.01, .connect_us = 10000};
        struct online_score s = add(&o, 2);
        assert_true(s.gained > 0.5 * s.possible);
        assert_int_equal(s.worse, 0);
    }
    struct online_score tight = add(&(struct online_options){.regret = 0.0001}, 1);
    assert_true(tight.gained == 0);
}

/* The host's time for connecting another algorithm is paid for, too: where it is dear the job has to be long. */
static void connecting_is_within_the_bound(void **state)
{
    (void)state;
    struct online_score s = add(&(struct online_options){.regret = 0.01, .connect_us = 300000}, 3);
    printf("# %.2f of %.2f\n", s.gained, s.possible);
    assert_true(s.gained > 0.2 * s.possible);
}

/* What a job has found the next one has soon, and for less. */
static void the_next_job_begins_with_it(void **state)
{
    (void)state;
    struct online_options o = {.regime = ONLINE_TAIL, .regret = 0.01};
    struct online_score first = add(&o, 0);
    o.again = 1;
    struct online_score again = add(&o, 1);
    printf("# %.2f, then %.2f of %.2f after 1,000 calls\n", first.gained, again.gained, again.possible);
    assert_true(again.gained > 0.6 * again.possible && !again.worse);
}

/* One time in eight does not come. */
static void times_may_be_missing(void **state)
{
    (void)state;
    struct online_score s = add(&(struct online_options){.regret = 0.01, .dropped = 8}, 2);
    printf("# %.2f of %.2f, %u worse\n", s.gained, s.possible, s.worse);
    assert_true(s.gained > 0.3 * s.possible && !s.worse);
}

static void what_is_alike_stays(void **state)
{
    (void)state;
    struct online_score s = add(&(struct online_options){.regime = ONLINE_TAIL, .regret = 0.01, .alike = 1}, 2);
    assert_true(s.gained == 0);
}

/* What was best becomes the worst: back to what the job would run with, or to something better. */
static void what_turns_bad_goes_back(void **state)
{
    (void)state;
    struct online_options o = {.regret = 0.01, .turns = 9995};
    struct online_score s[ONLINE_PLACES];
    unsigned turned = 0;
    for (o.law = 0; o.law < LAWS; o.law++) {
        online_run(&o, ONLINE_PLACES, s);
        turned += s[2].worse;
        assert_int_equal(s[3].worse, 0);
    }
    printf("# %u turned\n", turned);
    assert_true(turned >= LAWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_words),
        cmocka_unit_test(kinds_are_quarters_of_an_octave),
        cmocka_unit_test(turns_are_one_block_a_window),
        cmocka_unit_test(gains_within_the_bound),
        cmocka_unit_test(connecting_is_within_the_bound),
        cmocka_unit_test(the_next_job_begins_with_it),
        cmocka_unit_test(times_may_be_missing),
        cmocka_unit_test(what_is_alike_stays),
        cmocka_unit_test(what_turns_bad_goes_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
