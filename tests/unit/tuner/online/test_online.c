/* tuner/online: the two sides by themselves, and together over messages that take their time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/online/online.h"

static struct online_message word(enum online_word w, uint32_t round, uint64_t from, uint32_t plan)
{
    return (struct online_message){w, round, plan, from};
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static uint32_t make_call(struct online_agent *a)
{
    uint32_t plan = 99;
    assert_int_equal(online_agent_call(a, &plan), ONLINE_GO);
    return plan;
}

static enum online_word hear(struct online_agent *a, struct online_message m)
{
    return online_agent_hear(a, &m).word;
}

static void waits_at_the_call_that_it_promised(void **state)
{
    (void)state;
    struct online_agent a = {0};
    uint32_t plan;
    assert_int_equal(make_call(&a), 0);
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 1, 2, 7)), ONLINE_PROMISE);
    assert_int_equal(make_call(&a), 0);
    assert_int_equal(online_agent_call(&a, &plan), ONLINE_WAIT);
    assert_int_equal(online_agent_call(&a, &plan), ONLINE_WAIT);
    assert_int_equal(hear(&a, word(ONLINE_COMMIT, 1, 2, 7)), ONLINE_KNOW);
    assert_int_equal(make_call(&a), 7);
    assert_int_equal(a.next, 3);
}

static void keeps_its_plan_until_the_next_ones_call(void **state)
{
    (void)state;
    struct online_agent a = {0};
    hear(&a, word(ONLINE_PREPARE, 1, 2, 7));
    hear(&a, word(ONLINE_COMMIT, 1, 2, 7));
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 2, 9, 8)), ONLINE_REFUSE); /* the first is still to come */
    assert_int_equal(make_call(&a), 0);
    assert_int_equal(make_call(&a), 0);
    assert_int_equal(make_call(&a), 7);
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 3, 4, 0)), ONLINE_PROMISE);
    assert_int_equal(hear(&a, word(ONLINE_ABORT, 3, 4, 0)), ONLINE_KNOW);
    assert_int_equal(make_call(&a), 7);
    assert_int_equal(make_call(&a), 7);
}

static void refuses_what_is_too_near(void **state)
{
    (void)state;
    struct online_agent a = {.next = 5};
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 1, 5, 7)), ONLINE_REFUSE);
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 1, 50, 7)), ONLINE_NOTHING); /* it has said no */
    assert_int_equal(hear(&a, word(ONLINE_COMMIT, 2, 50, 7)), ONLINE_NOTHING);  /* it was not asked */
    assert_int_equal(hear(&a, word(ONLINE_ABORT, 3, 50, 7)), ONLINE_KNOW);
    assert_int_equal(hear(&a, word(ONLINE_PREPARE, 3, 50, 7)), ONLINE_NOTHING); /* late */
    assert_int_equal(make_call(&a), 0);
}

static void fails_only_where_it_has_promised(void **state)
{
    (void)state;
    struct online_agent promised = {0}, free = {0};
    uint32_t plan;
    hear(&promised, word(ONLINE_PREPARE, 1, 1, 7));
    online_agent_lose(&promised);
    online_agent_lose(&free);
    assert_int_equal(make_call(&promised), 0);
    assert_int_equal(online_agent_call(&promised, &plan), ONLINE_FAIL);
    assert_int_equal(hear(&promised, word(ONLINE_COMMIT, 1, 1, 7)), ONLINE_NOTHING);
    assert_int_equal(hear(&free, word(ONLINE_PREPARE, 1, 1, 7)), ONLINE_NOTHING);
    for (int i = 0; i < 10; i++)
        assert_int_equal(make_call(&free), 0);
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

static void decides_once(void **state)
{
    (void)state;
    uint8_t bits[2] = {0};
    struct online_coordinator c = {.ranks = bits, .size = 2};
    struct online_message yes = word(ONLINE_PROMISE, 1, 3, 0), no = word(ONLINE_REFUSE, 1, 9, 0),
                          know = word(ONLINE_KNOW, 1, 4, 0);
    assert_true(online_may_propose(&c));
    online_propose(&c, 20, 5);
    assert_false(online_may_propose(&c));
    assert_int_equal(online_hear(&c, 0, &yes), 0);
    assert_int_equal(online_hear(&c, 0, &yes), 0); /* one rank is one promise */
    assert_int_equal(online_hear(&c, 7, &yes), 0); /* nobody */
    assert_int_equal(online_hear(&c, 1, &yes), 1);
    assert_int_equal(c.said.word, ONLINE_COMMIT);
    assert_int_equal(online_hear(&c, 1, &no), 0);
    online_impatient(&c);
    assert_int_equal(online_lose(&c, 0), 0);
    assert_int_equal(c.said.word, ONLINE_COMMIT);
    assert_int_equal(c.furthest, 9);
    c.lost = 0;
    bits[0] = 0;
    online_hear(&c, 0, &know);
    assert_true(online_may_propose(&c)); /* the one that refused knows, too */
    online_propose(&c, 30, 6);
    assert_int_equal(online_hear(&c, 0, &yes), 0); /* of the last round */
    assert_int_equal(c.promised, 0);
    assert_int_equal(online_lose(&c, 1), 1);
    assert_int_equal(c.said.word, ONLINE_ABORT);
    c.knowing = c.size;
    assert_false(online_may_propose(&c)); /* somebody is gone for good */
}

static void margins_follow_the_job(void **state)
{
    (void)state;
    assert_int_equal(online_margin(8, 0, 0), 8);
    assert_int_equal(online_margin(8, 1, 0), 16);
    assert_int_equal(online_margin(100, 1, 40), 200);
    assert_int_equal(online_margin(100, 0, 40), 60);
    assert_int_equal(online_margin(100, 0, 400), 600);
    assert_int_equal(online_margin(900000, 1, 40), 1000000);
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

#define RANKS     6
#define UNDER_WAY 256
#define KEPT      4096 /* calls whose plan is remembered */
#define LEAD      200  /* calls that a rank is ahead of another at most, as launches are of kernels */

struct sent {
    uint64_t due; /* 0: free */
    int rank, is_up;
    struct online_message m;
};

struct job {
    struct online_agent agents[RANKS];
    int failed[RANKS];
    struct online_coordinator c;
    uint8_t bits[RANKS];
    struct sent under_way[UNDER_WAY];
    uint32_t used[KEPT];
    uint64_t calls_of[KEPT]; /* whose plan it is, + 1 */
    uint64_t now, patience, seed, slowest, waits;
    unsigned delay, speed[RANKS];
    int is_dead, dies;
    size_t commits, aborts;
};

static uint64_t draw(struct job *j, uint64_t below)
{
    j->seed ^= j->seed << 13, j->seed ^= j->seed >> 7, j->seed ^= j->seed << 17;
    return j->seed % below;
}

/* One in fifty is lost. */
static void send_word(struct job *j, int rank, int is_up, const struct online_message *m)
{
    if (!m->word || !draw(j, 50))
        return;
    for (int i = 0; i < UNDER_WAY; i++)
        if (!j->under_way[i].due) {
            j->under_way[i] = (struct sent){j->now + 1 + draw(j, j->delay), rank, is_up, *m};
            return;
        }
}

static void tell_all(struct job *j)
{
    for (int i = 0; i < RANKS; i++)
        if (!(j->bits[i] & ONLINE_KNOWS))
            send_word(j, i, 0, &j->c.said);
}

static void arrive(struct job *j, struct sent *s)
{
    struct sent here = *s;
    s->due = 0;
    if (here.is_up && !j->is_dead && online_hear(&j->c, (uint32_t)here.rank, &here.m))
        tell_all(j);
    if (here.is_up)
        return;
    struct online_message answer = online_agent_hear(&j->agents[here.rank], &here.m);
    send_word(j, here.rank, 1, &answer);
}

/* All ranks have the same plan for a call. */
static void note(struct job *j, uint64_t call, uint32_t plan)
{
    size_t at = call % KEPT;
    if (j->calls_of[at] != call + 1)
        j->used[at] = plan;
    j->calls_of[at] = call + 1;
    assert_int_equal(j->used[at], plan);
}

static void launch(struct job *j, int rank)
{
    struct online_agent *a = &j->agents[rank];
    uint32_t plan = 0;
    uint64_t call = a->next;
    if (j->failed[rank] || call > j->slowest + LEAD || draw(j, 16) >= j->speed[rank])
        return;
    enum online_turn turn = online_agent_call(a, &plan);
    j->waits += turn == ONLINE_WAIT;
    j->failed[rank] = turn == ONLINE_FAIL;
    assert_true(turn != ONLINE_FAIL || j->is_dead);
    if (turn == ONLINE_GO)
        note(j, call, plan);
}

static void tick(struct job *j)
{
    j->now++;
    for (int i = 0; i < UNDER_WAY; i++)
        if (j->under_way[i].due && j->under_way[i].due <= j->now)
            arrive(j, &j->under_way[i]);
    j->slowest = UINT64_MAX;
    for (int i = 0; i < RANKS; i++)
        if (!j->failed[i] && j->agents[i].next < j->slowest)
            j->slowest = j->agents[i].next;
    for (int i = 0; i < RANKS; i++)
        launch(j, i);
    if (j->now < j->patience || j->is_dead)
        return;
    online_impatient(&j->c);
    tell_all(j);
    j->patience = j->now + 4 * j->delay;
}

static void one_round(struct job *j, uint64_t margin)
{
    uint64_t furthest = 0;
    while (j->c.said.word == ONLINE_COMMIT && j->slowest < j->c.said.from)
        tick(j);
    for (int i = 0; i < RANKS; i++)
        furthest = j->agents[i].next > furthest ? j->agents[i].next : furthest;
    online_propose(&j->c, furthest + draw(j, 2 * margin), 1 + (uint32_t)draw(j, 1000));
    tell_all(j);
    j->patience = j->now + 4 * j->delay;
    for (int i = 0; !online_may_propose(&j->c); i++) {
        assert_true(i < 1000000); /* or it takes for ever */
        tick(j);
    }
    j->commits += j->c.said.word == ONLINE_COMMIT;
    j->aborts += j->c.said.word == ONLINE_ABORT;
}

/* The coordinator dies in the middle of a round, and ranks notice when they like: all end, with one plan or with an
 * error. */
static void last_round(struct job *j)
{
    uint64_t end = j->slowest + 3000;
    online_propose(&j->c, j->slowest + 20 + draw(j, 400), 5);
    tell_all(j);
    for (uint64_t n = draw(j, 4 * j->delay); n > 0; n--)
        tick(j);
    j->is_dead = 1;
    for (int i = 0, left = RANKS; left; i++) {
        assert_true(i < 1000000);
        tick(j);
        if (i >= 500 && i % 50 == 0)
            online_agent_lose(&j->agents[i / 50 % RANKS]);
        left = 0;
        for (int k = 0; k < RANKS; k++)
            left += !j->failed[k] && j->agents[k].next < end;
    }
}

/* `rounds` of jobs of up to a hundred, with margins of 1 to 1,000 calls. */
static void run_jobs(size_t rounds)
{
    static struct job j;
    size_t commits = 0, aborts = 0, failures = 0, jobs = 0, waits = 0;
    uint64_t seed = 88172645463325252;
    for (size_t done = 0; done < rounds; jobs++) {
        j = (struct job){.seed = seed + jobs * UINT64_C(0x9e3779b97f4a7c15), .c = {.size = RANKS}};
        j.c.ranks = j.bits;
        j.delay = 2 + (unsigned)draw(&j, 40);
        for (int i = 0; i < RANKS; i++)
            j.speed[i] = 4 + (unsigned)draw(&j, 12);
        for (size_t n = 0; n < 100 && done < rounds; n++, done++)
            one_round(&j, UINT64_C(1) << draw(&j, 11));
        last_round(&j);
        commits += j.commits, aborts += j.aborts, waits += j.waits > 0;
        for (int i = 0; i < RANKS; i++)
            failures += (size_t)j.failed[i];
    }
    printf("# %zu rounds in %zu jobs: %zu committed, %zu aborted; %zu ranks of %zu failed when the coordinator died\n",
           rounds, jobs, commits, aborts, failures, jobs * RANKS);
    assert_true(commits > rounds / 10 && aborts > rounds / 20 && waits > 0);
}

static void agrees_whatever_the_delays(void **state)
{
    (void)state;
    const char *wanted = getenv("NCCLTUNE_EXPLORE");
    run_jobs(wanted && !strcmp(wanted, "long") ? 1000000 : 5000);
}

/* Every rank of a large job, one after another and without a network: how many words a change costs. */
static void ten_thousand_ranks_take_four_words_each(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    static struct online_agent agents[MANY];
    static uint8_t bits[MANY];
    struct online_coordinator c = {.ranks = bits, .size = MANY};
    size_t words = 0;
    online_propose(&c, 100, 3);
    for (int pass = 0; pass < 2; pass++) {
        struct online_message said = c.said;
        for (uint32_t i = 0; i < MANY; i++) {
            struct online_message answer = online_agent_hear(&agents[i], &said);
            words += 1 + (answer.word != ONLINE_NOTHING);
            online_hear(&c, i, &answer);
        }
    }
    assert_true(c.said.word == ONLINE_COMMIT && online_may_propose(&c));
    assert_int_equal(words, 4 * MANY);
    for (int i = 0; i < MANY; i++) {
        agents[i].next = 100;
        assert_int_equal(make_call(&agents[i]), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_at_the_call_that_it_promised),
        cmocka_unit_test(keeps_its_plan_until_the_next_ones_call),
        cmocka_unit_test(refuses_what_is_too_near),
        cmocka_unit_test(fails_only_where_it_has_promised),
        cmocka_unit_test(decides_once),
        cmocka_unit_test(margins_follow_the_job),
        cmocka_unit_test(agrees_whatever_the_delays),
        cmocka_unit_test(ten_thousand_ranks_take_four_words_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
