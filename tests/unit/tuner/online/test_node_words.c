/* tuner/online/node.c: every word that a node sends, and when: the root, a node between, limits and times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/online_rank.h"
#include "tuner/online/node.h"

#define COMM 7

static struct online_node n;
static struct online_rank own, other;
static char sent[2048];

static void put(const char *name, int link, const struct online_entry *e)
{
    size_t used = strlen(sent);
    assert_true(e->comm == COMM && e->ranks == 4);
    snprintf(sent + used, sizeof sent - used, "%d:%s ranks %u+%u round %u plan %u from %u\n", link, name, e->rank,
             e->count, e->round, e->plan, (unsigned)e->from);
}

static void send_word(void *arg, int link, const struct online_entry *e)
{
    static const char *const names[] = {
        [ONLINE_PREPARE] = "prepare", [ONLINE_COMMIT] = "commit", [ONLINE_ABORT] = "abort",
        [ONLINE_PROMISE] = "promise", [ONLINE_REFUSE] = "refuse", [ONLINE_KNOW] = "know",
        [ONLINE_HERE] = "here",       [ONLINE_GONE] = "gone",     [ONLINE_ASK] = "ask",
        [ONLINE_MAY] = "may"};
    assert_ptr_equal(arg, &n);
    put(names[e->word], link, e);
}

/* What was sent since. */
static void expect(const char *words)
{
    assert_string_equal(sent, words);
    *sent = 0;
}

static int hear(int link, uint32_t word, uint32_t rank, uint32_t count, uint32_t round, uint64_t from)
{
    const struct online_entry e = {
        .comm = COMM, .from = from, .word = word, .round = round, .plan = 9, .rank = rank, .count = count, .ranks = 4};
    return online_node_hear(&n, link, &e);
}

static void open_node(int is_root)
{
    *sent = 0;
    assert_int_equal(online_node_open(&n, is_root, send_word, &n), 0);
}

static int close_node(void **state)
{
    (void)state;
    online_node_close(&n);
    return 0;
}

/* Rank 0 here, 1 behind link 3, 2 and 3 behind link 200. */
static void open_root(void)
{
    open_node(1);
    online_rank_make(&own, COMM, 0, 4);
    assert_int_equal(online_node_join(&n, &own.member), 0);
    assert_int_equal(hear(3, ONLINE_HERE, 1, 1, 0, 0), 0);
    assert_int_equal(online_node_tick(&n, 1000), 0); /* not all are there */
    assert_int_equal(hear(200, ONLINE_HERE, 2, 2, 0, 0), 0);
    assert_int_equal(own.asked, 0);
}

static void begin_round(uint64_t now, uint64_t from)
{
    own.from = from;
    own.plan = 5;
    assert_int_equal(online_node_tick(&n, now), 0); /* it has asked, and waits for words */
    assert_int_equal(n.rounds, 1);
}

static void a_round_at_the_root(void **state)
{
    (void)state;
    open_root();
    begin_round(1050, 20);
    expect("3:prepare ranks 0+0 round 1 plan 5 from 20\n200:prepare ranks 0+0 round 1 plan 5 from 20\n");
    assert_int_equal(online_node_tick(&n, 1051), 1); /* soon: there is a patience to end */
    assert_int_equal(hear(200, ONLINE_PROMISE, 2, 2, 1, 8), 0);
    expect("");
    assert_int_equal(hear(3, ONLINE_PROMISE, 1, 1, 1, 11), 0);
    expect("3:commit ranks 0+0 round 1 plan 5 from 20\n200:commit ranks 0+0 round 1 plan 5 from 20\n");
    assert_true(own.commits == 1 && own.aborts == 0 && own.agent.plan == 5 && own.agent.from == 20 && n.rounds == 0);
    assert_int_equal(own.asked, 1);
    hear(3, ONLINE_KNOW, 1, 1, 1, 12);
    hear(200, ONLINE_KNOW, 2, 1, 1, 9);
    assert_int_equal(online_node_tick(&n, 2000), 0);
    assert_int_equal(own.asked, 1); /* one does not know yet */
    hear(200, ONLINE_KNOW, 3, 1, 1, 10);
    assert_int_equal(online_node_tick(&n, 2000), 1); /* nothing was proposed: it is asked again soon */
    assert_true(own.asked == 2 && own.furthest == 12);
    online_node_tick(&n, 2049);
    assert_int_equal(own.asked, 2);
    online_node_tick(&n, 2050);
    assert_int_equal(own.asked, 3);
    expect("");
}

/* To the millisecond; over connections, which lose nothing, an outcome is said once. */
static void patience_ends(void **state)
{
    (void)state;
    open_root();
    begin_round(5000, 20);
    *sent = 0;
    hear(3, ONLINE_PROMISE, 1, 1, 1, 0);
    online_node_tick(&n, 5000 + ONLINE_PATIENCE_MS - 1);
    expect("");
    assert_int_equal(own.aborts, 0);
    online_node_tick(&n, 5000 + ONLINE_PATIENCE_MS);
    expect("3:abort ranks 0+0 round 1 plan 5 from 20\n200:abort ranks 0+0 round 1 plan 5 from 20\n");
    assert_true(own.aborts == 1 && own.commits == 0 && n.rounds == 0 && own.agent.from == 0);
    online_node_tick(&n, 5000 + 3 * ONLINE_PATIENCE_MS);
    expect("");
    hear(200, ONLINE_PROMISE, 2, 2, 1, 0); /* late */
    expect("");
    assert_int_equal(own.agent.plan, 0);
}

static void one_refuses(void **state)
{
    (void)state;
    open_root();
    begin_round(1000, 20);
    *sent = 0;
    hear(200, ONLINE_REFUSE, 3, 1, 1, 30);
    expect("3:abort ranks 0+0 round 1 plan 5 from 20\n200:abort ranks 0+0 round 1 plan 5 from 20\n");
    hear(3, ONLINE_KNOW, 1, 1, 1, 5);
    hear(200, ONLINE_KNOW, 2, 1, 1, 5); /* the one that has refused knows */
    online_node_tick(&n, 1050);
    assert_true(own.asked == 2 && own.furthest == 30 && own.aborts == 1);
}

/* Whoever leaves in a round aborts it, and there is no other. */
static void one_leaves(void **state)
{
    (void)state;
    open_root();
    begin_round(1000, 20);
    *sent = 0;
    hear(3, ONLINE_GONE, 1, 1, 0, 0);
    expect("3:abort ranks 0+0 round 1 plan 5 from 20\n200:abort ranks 0+0 round 1 plan 5 from 20\n");
    hear(3, ONLINE_KNOW, 1, 1, 1, 0);
    hear(200, ONLINE_KNOW, 2, 2, 1, 0);
    hear(3, ONLINE_HERE, 1, 1, 0, 0);
    hear(3, ONLINE_ASK, 1, 1, 0, 50);
    online_node_tick(&n, 3000);
    assert_int_equal(own.asked, 1);
    expect("");
    hear(200, ONLINE_GONE, 2, 2, 0, 0);
    hear(3, ONLINE_GONE, 1, 1, 0, 0);
    assert_true(n.count == 1 && n.ranks == 4);
    online_node_leave(&n, &own.member);
    assert_true(n.count == 0 && n.ranks == 0);
}

static void the_program_ends(void **state)
{
    (void)state;
    open_root();
    online_node_stop(&n);
    expect("");
    own.from = 20;
    online_node_tick(&n, 1000);
    assert_int_equal(n.rounds, 0); /* nothing begins any more */
    close_node(NULL);
    open_root();
    begin_round(1000, 20);
    *sent = 0;
    online_node_stop(&n);
    expect("3:abort ranks 0+0 round 1 plan 5 from 20\n200:abort ranks 0+0 round 1 plan 5 from 20\n");
    assert_int_equal(own.aborts, 1);
}

/* Nobody has to ask who was not told that a round can begin. */
static void rounds_are_begun_when_they_can(void **state)
{
    (void)state;
    open_root();
    for (uint32_t word = ONLINE_PROMISE; word <= ONLINE_KNOW; word++)
        hear(3, word, 1, 1, 0, 0);
    begin_round(1000, 20);
    *sent = 0;
    hear(3, ONLINE_ASK, 0, 1, 0, 70); /* a second time */
    expect("");
    assert_int_equal(n.rounds, 1);
}

/* ---- a node between ---------------------------------------------------------------------------------------------- */

static void words_pass_a_node(void **state)
{
    (void)state;
    open_node(0);
    online_rank_make(&own, COMM, 3, 4);
    online_rank_make(&other, COMM, 2, 4);
    assert_int_equal(online_node_join(&n, &own.member), 0);
    assert_int_equal(online_node_join(&n, &other.member), 0);
    hear(64, ONLINE_HERE, 0, 2, 0, 0);
    expect("-1:here ranks 3+1 round 0 plan 0 from 0\n-1:here ranks 2+1 round 0 plan 0 from 0\n"
           "-1:here ranks 0+2 round 0 plan 9 from 0\n");
    hear(ONLINE_UP, ONLINE_MAY, 0, 0, 0, 33);
    expect("64:may ranks 0+0 round 0 plan 9 from 33\n");
    hear(64, ONLINE_ASK, 0, 1, 0, 40);
    expect("-1:ask ranks 0+1 round 0 plan 9 from 40\n");
    own.agent.next = 6, other.agent.next = 40;
    hear(ONLINE_UP, ONLINE_PREPARE, 0, 0, 1, 40);
    expect("64:prepare ranks 0+0 round 1 plan 9 from 40\n-1:refuse ranks 2+1 round 1 plan 0 from 40\n"
           "-1:promise ranks 3+1 round 1 plan 0 from 6\n");
    assert_int_equal(n.rounds, 1);
    assert_int_equal(online_node_tick(&n, 100), 0); /* the root alone is impatient */
    assert_int_equal(online_node_tick(&n, 100000), 0);
    expect("");
    hear(ONLINE_UP, ONLINE_ABORT, 0, 0, 1, 40);
    expect("64:abort ranks 0+0 round 1 plan 9 from 40\n-1:know ranks 2+1 round 1 plan 0 from 40\n"
           "-1:know ranks 3+1 round 1 plan 0 from 6\n");
    assert_int_equal(n.rounds, 0);
    online_node_leave(&n, &other.member);
    online_node_leave(&n, &other.member); /* once */
    expect("-1:gone ranks 2+1 round 0 plan 0 from 0\n");
    online_node_lose(&n, 63);
    expect("");
    online_node_lose(&n, 64);
    expect("-1:gone ranks 0+0 round 0 plan 0 from 0\n");
    hear(ONLINE_UP, ONLINE_MAY, 0, 0, 0, 33); /* for nobody here */
    hear(ONLINE_UP, ONLINE_COMMIT, 0, 0, 9, 33);
    expect("");
    online_node_stop(&n);
    expect("");
    hear(ONLINE_UP, ONLINE_PREPARE, 0, 0, 2, 90);
    assert_int_equal(n.rounds, 1);
    online_node_lose(&n, ONLINE_UP);
    assert_int_equal(n.rounds, 0);
    assert_true(own.is_lost && !other.is_lost && n.count == 0 && n.ranks == 0);
}

/* The first rank below asks as its process would. */
static void rank_0_is_asked_where_it_is(void **state)
{
    (void)state;
    open_node(0);
    online_rank_make(&own, COMM, 0, 4);
    online_node_join(&n, &own.member);
    *sent = 0;
    assert_int_equal(online_node_tick(&n, 1000), 0);
    hear(ONLINE_UP, ONLINE_MAY, 0, 0, 0, 33);
    expect("");
    assert_int_equal(online_node_tick(&n, 1000), 1);
    assert_true(own.asked == 1 && own.furthest == 33);
    own.from = 60, own.plan = 4;
    assert_int_equal(online_node_tick(&n, 1049), 1);
    assert_int_equal(online_node_tick(&n, 1050), 0);
    expect("-1:ask ranks 0+1 round 0 plan 4 from 60\n");
    assert_int_equal(online_node_tick(&n, 1200), 0);
    assert_int_equal(own.asked, 2);
}

/* What goes up does not come down, and ranks are those of their communicator. */
static void words_have_a_direction(void **state)
{
    (void)state;
    static const int goes_down[20] = {[ONLINE_PREPARE] = 1, [ONLINE_COMMIT] = 1, [ONLINE_ABORT] = 1, [ONLINE_MAY] = 1},
                     goes_up[20] = {[ONLINE_PROMISE] = 1, [ONLINE_REFUSE] = 1, [ONLINE_KNOW] = 1,
                                    [ONLINE_HERE] = 1,    [ONLINE_GONE] = 1,   [ONLINE_ASK] = 1};
    open_node(0);
    for (uint32_t word = 0; word < 20; word++) {
        assert_int_equal(hear(ONLINE_UP, word, 0, 0, 0, 0), goes_down[word] ? 0 : -1);
        assert_int_equal(hear(2, word, 0, 1, 0, 0), goes_up[word] ? 0 : -1);
    }
    assert_int_equal(hear(2, ONLINE_HERE, 0, 4, 0, 0), 0);
    assert_int_equal(hear(2, ONLINE_HERE, 0, 5, 0, 0), -1);
    assert_int_equal(hear(2, ONLINE_HERE, 3, 1, 0, 0), 0);
    assert_int_equal(hear(2, ONLINE_HERE, 3, 2, 0, 0), -1);
    assert_int_equal(hear(2, ONLINE_HERE, 4, 0, 0, 0), 0);
    assert_int_equal(hear(2, ONLINE_HERE, 4, 1, 0, 0), -1);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static void ignore(void *arg, int link, const struct online_entry *e)
{
    (void)arg, (void)link, (void)e;
}

/* Those beyond stay as they are. */
static void as_many_as_a_node_knows(void **state)
{
    (void)state;
    struct online_entry e = {.word = ONLINE_HERE, .count = 1, .ranks = 2};
    assert_int_equal(online_node_open(&n, 0, ignore, NULL), 0);
    for (e.comm = 1; e.comm <= ONLINE_COMMS + 2; e.comm++)
        assert_int_equal(online_node_hear(&n, 1, &e), 0);
    assert_true(n.count == ONLINE_COMMS && n.ranks == 2 * (size_t)ONLINE_COMMS);
    online_rank_make(&own, ONLINE_COMMS + 5, 0, 2);
    assert_int_equal(online_node_join(&n, &own.member), -1);
    online_rank_make(&own, ONLINE_COMMS, 0, 2);
    assert_int_equal(online_node_join(&n, &own.member), 0);
    online_node_close(&n);
    assert_int_equal(online_node_open(&n, 0, ignore, NULL), 0);
    e.ranks = ONLINE_RANKS;
    for (e.comm = 1; e.comm <= 600; e.comm++)
        assert_int_equal(online_node_hear(&n, 1, &e), 0);
    assert_int_equal(n.count, 512);
    online_rank_make(&own, 1000, 0, 0);
    assert_int_equal(online_node_join(&n, &own.member), -1);
    own.member.ranks = (int)ONLINE_RANKS + 1;
    assert_int_equal(online_node_join(&n, &own.member), -1);
}

/* Joined with the latest 63 at most, on either side, and with the same word alone. */
static void words_that_say_the_same_are_one(void **state)
{
    (void)state;
    static struct online_entry list[100];
    struct online_entry e = {.comm = 1, .word = ONLINE_KNOW, .round = 4, .count = 2, .ranks = 999, .from = 5};
    size_t count = 0;
    e.rank = 10;
    assert_int_equal(online_merge(list, &count, 100, &e), 1);
    for (int i = 0; i < 8; i++) {
        struct online_entry x = e;
        x.rank = 12;
        x.comm += i == 0, x.word += i == 1, x.round += i == 2, x.plan += i == 3, x.ranks += i == 4;
        x.count = i == 5 ? 0 : 2, x.rank += i == 6;
        x.rank -= i == 7 ? 3 : 0; /* it overlaps */
        assert_int_equal(online_merge(list, &count, 100, &x), 1);
        assert_int_equal(count, (size_t)i + 2);
    }
    count = 1;
    e.rank = 12, e.count = 1, e.from = 4;
    online_merge(list, &count, 100, &e);
    assert_true(count == 1 && list[0].rank == 10 && list[0].count == 3 && list[0].from == 5);
    e.rank = 7, e.count = 3, e.from = 6;
    online_merge(list, &count, 1, &e);
    assert_true(count == 1 && list[0].rank == 7 && list[0].count == 6 && list[0].from == 6);
    for (uint32_t others = 62; others <= 64; others++) {
        count = 1;
        e.rank = 20, e.count = 1;
        list[0] = e;
        for (uint32_t i = 0; i < others; i++) {
            e.rank = 100 + 2 * i;
            online_merge(list, &count, 100, &e);
        }
        assert_int_equal(count, 1 + others);
        e.rank = 21;
        online_merge(list, &count, 100, &e);
        assert_int_equal(count, 1 + others + (others > 63));
    }
}

#define NODE(name) cmocka_unit_test_teardown(name, close_node)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NODE(a_round_at_the_root),
        NODE(patience_ends),
        NODE(one_refuses),
        NODE(one_leaves),
        NODE(the_program_ends),
        NODE(rounds_are_begun_when_they_can),
        NODE(words_pass_a_node),
        NODE(rank_0_is_asked_where_it_is),
        NODE(words_have_a_direction),
        NODE(as_many_as_a_node_knows),
        cmocka_unit_test(words_that_say_the_same_are_one),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
