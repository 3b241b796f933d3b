/* Agreement over a tree whose words take their time: 13 processes on three levels, neighbours' words joined or not,
 * margins of 1 to 1,000 calls, and at the end of each job a process that dies. NCCLTUNE_EXPLORE=long: a million rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/online_rank.h"
#include "tuner/online/node.h"

#define NODES     13
#define ARITY     3
#define UNDER_WAY 512
#define BUNDLE    8 /* few, so that lists are full at times */
#define KEPT      4096
#define LEAD      200
#define COMM      99

/* Words on the way from a node to its parent or back, in order. */
struct way {
    struct {
        uint64_t due;
        struct online_entry e;
    } words[UNDER_WAY];
    size_t first, count;
};

struct process {
    struct online_node node;
    struct online_rank rank;
    struct online_entry bundle[BUNDLE];
    size_t bundled;
    struct way up, down; /* to and from the parent */
    int is_dead, has_failed;
    unsigned speed;
};

static struct job {
    struct process p[NODES];
    uint32_t used[KEPT];
    uint64_t calls_of[KEPT]; /* whose plan it is, + 1 */
    uint64_t now, seed, slowest, waits;
    unsigned delay;
    int somebody_died;
} * job;

static uint64_t draw(uint64_t below)
{
    struct job *j = job;
    j->seed ^= j->seed << 13, j->seed ^= j->seed >> 7, j->seed ^= j->seed << 17;
    return j->seed % below;
}

static int parent_of(int i)
{
    return (i - 1) / ARITY;
}

static int link_of(int i)
{
    return (i - 1) % ARITY;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static void put(struct way *w, const struct online_entry *e)
{
    assert_true(w->count < UNDER_WAY);
    size_t at = (w->first + w->count) % UNDER_WAY, before = (at + UNDER_WAY - 1) % UNDER_WAY;
    uint64_t due = job->now + 1 + draw(job->delay);
    w->words[at].due = w->count && w->words[before].due > due ? w->words[before].due : due;
    w->words[at].e = *e;
    w->count++;
}

static void flush(struct process *p)
{
    for (size_t i = 0; i < p->bundled; i++)
        put(&p->up, &p->bundle[i]);
    p->bundled = 0;
}

static void send_word(void *arg, int link, const struct online_entry *e)
{
    struct process *p = arg;
    if (link != ONLINE_UP) {
        put(&job->p[(int)(p - job->p) * ARITY + 1 + link].down, e);
    } else if (!online_merge(p->bundle, &p->bundled, BUNDLE, e)) {
        flush(p);
        assert_int_equal(online_merge(p->bundle, &p->bundled, BUNDLE, e), 1);
    }
}

static void deliver(struct way *w, struct process *to, int link)
{
    while (w->count && w->words[w->first].due <= job->now) {
        struct online_entry e = w->words[w->first].e;
        w->first = (w->first + 1) % UNDER_WAY;
        w->count--;
        if (!to->is_dead)
            assert_int_equal(online_node_hear(&to->node, link, &e), 0);
    }
}

static void lose_parent(int i)
{
    struct process *p = &job->p[i];
    p->up.count = p->down.count = 0;
    if (p->is_dead)
        return;
    online_node_lose(&p->node, ONLINE_UP);
    for (int k = i * ARITY + 1; k <= i * ARITY + ARITY && k < NODES; k++)
        lose_parent(k);
}

static void die(int i)
{
    job->somebody_died = 1;
    for (int k = i * ARITY + 1; k <= i * ARITY + ARITY && k < NODES; k++)
        lose_parent(k);
    job->p[i].is_dead = 1;
    if (i) {
        job->p[i].up.count = job->p[i].down.count = 0;
        online_node_lose(&job->p[parent_of(i)].node, link_of(i));
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void note(uint64_t call, uint32_t plan)
{
    size_t at = call % KEPT;
    if (job->calls_of[at] != call + 1)
        job->used[at] = plan;
    job->calls_of[at] = call + 1;
    assert_int_equal(job->used[at], plan);
}

static void launch(struct process *p)
{
    struct online_agent *a = &p->rank.agent;
    uint32_t plan = 0;
    uint64_t call = a->next;
    if (p->is_dead || p->has_failed || call > job->slowest + LEAD || draw(16) >= p->speed)
        return;
    enum online_turn turn = online_agent_call(a, &plan);
    job->waits += turn == ONLINE_WAIT;
    p->has_failed = turn == ONLINE_FAIL;
    assert_true(turn != ONLINE_FAIL || (job->somebody_died && p->rank.is_lost));
    if (turn == ONLINE_GO)
        note(call, plan);
}

static void tick(void)
{
    job->now++;
    for (int i = 1; i < NODES; i++) {
        if (job->p[i].bundled && !draw(3))
            flush(&job->p[i]);
        deliver(&job->p[i].up, &job->p[parent_of(i)], link_of(i));
        deliver(&job->p[i].down, &job->p[i], ONLINE_UP);
    }
    job->slowest = UINT64_MAX;
    for (int i = 0; i < NODES; i++)
        if (!job->p[i].is_dead && !job->p[i].has_failed && job->p[i].rank.agent.next < job->slowest)
            job->slowest = job->p[i].rank.agent.next;
    for (int i = 0; i < NODES; i++)
        launch(&job->p[i]);
    for (int i = 0; i < NODES && job->now % 25 == 0; i++)
        if (!job->p[i].is_dead)
            online_node_tick(&job->p[i].node, job->now);
}

static void start_job(uint64_t seed)
{
    *job = (struct job){.seed = seed, .delay = 2};
    job->delay += (unsigned)draw(40);
    for (int i = 0; i < NODES; i++) {
        struct process *p = &job->p[i];
        p->speed = 4 + (unsigned)draw(12);
        online_rank_make(&p->rank, COMM, i, NODES);
        assert_int_equal(online_node_open(&p->node, i == 0, send_word, p), 0);
    }
    for (int i = NODES - 1; i >= 0; i--)
        assert_int_equal(online_node_join(&job->p[i].node, &job->p[i].rank.member), 0);
}

static void end_job(void)
{
    for (int i = 0; i < NODES; i++)
        online_node_close(&job->p[i].node);
}

/* Until rank 0 has been asked for the next round. */
static void one_round(uint64_t margin)
{
    struct online_rank *r = &job->p[0].rank;
    int asked = r->asked;
    for (int i = 0; r->asked == asked; i++) {
        assert_true(i < 1000000); /* or it takes for ever */
        tick();
    }
    while (r->agent.next < r->agent.from)
        tick();
    r->from = (r->agent.next > r->furthest ? r->agent.next : r->furthest) + 60 * draw(3) + draw(2 * margin);
    r->plan = 1 + (uint32_t)draw(1000);
    unsigned before = r->commits + r->aborts;
    for (int i = 0; r->commits + r->aborts == before; i++) {
        assert_true(i < 1000000);
        tick();
    }
}

/* Somebody dies in the middle of a round: all end, with one plan or with an error. */
static void last_round(void)
{
    struct online_rank *r = &job->p[0].rank;
    uint64_t end = job->slowest + 3000;
    r->from = job->slowest + 20 + draw(400);
    r->plan = 5;
    for (uint64_t n = draw(400); n > 0; n--)
        tick();
    die((int)draw(NODES));
    for (int i = 0, left = NODES; left; i++) {
        assert_true(i < 1000000);
        tick();
        left = 0;
        for (int k = 0; k < NODES; k++)
            left += !job->p[k].is_dead && !job->p[k].has_failed && job->p[k].rank.agent.next < end;
    }
}

static void agrees_over_a_tree(void **state)
{
    (void)state;
    const char *wanted = getenv("NCCLTUNE_EXPLORE");
    size_t rounds = wanted && !strcmp(wanted, "long") ? 1000000 : 3000, jobs = 0, commits = 0, aborts = 0, failed = 0;
    uint64_t waits = 0;
    for (size_t done = 0; done < rounds; jobs++) {
        start_job(88172645463325252 + jobs * UINT64_C(0x9e3779b97f4a7c15));
        for (size_t n = 0; n < 50 && done < rounds; n++, done++)
            one_round(UINT64_C(1) << draw(11));
        last_round();
        commits += job->p[0].rank.commits, aborts += job->p[0].rank.aborts, waits += job->waits > 0;
        for (int i = 0; i < NODES; i++)
            failed += (size_t)job->p[i].has_failed;
        end_job();
    }
    printf(
        "# %zu rounds in %zu jobs of %d processes: %zu committed, %zu aborted; %zu of %zu ranks failed when one died\n",
        rounds, jobs, NODES, commits, aborts, failed, jobs * NODES);
    assert_true(commits > rounds / 10 && aborts > rounds / 20 && waits > 0);
}

/* ---- words of neighbours ----------------------------------------------------------------------------------------- */

static void neighbours_that_say_the_same_are_one(void **state)
{
    (void)state;
    struct online_entry list[2], e = {.comm = 1, .word = ONLINE_PROMISE, .round = 4, .count = 1, .ranks = 9, .from = 5};
    size_t count = 0;
    static const uint32_t order[] = {3, 5, 4};
    for (int i = 0; i < 3; i++) {
        e.rank = order[i];
        e.from++;
        assert_int_equal(online_merge(list, &count, 2, &e), 1);
    }
    assert_int_equal(count, 2); /* 3 and 4, 5: once made, two are not joined */
    assert_int_equal(list[0].count + list[1].count, 3);
    assert_true(list[0].from == 8 || list[1].from == 8);
    e.round = 5;
    assert_int_equal(online_merge(list, &count, 2, &e), 0);
}

static void ignore(void *arg, int link, const struct online_entry *e)
{
    (void)arg, (void)link, (void)e;
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct online_node n;
    struct online_rank r;
    const struct online_entry good = {.comm = 7, .word = ONLINE_HERE, .rank = 1, .count = 2, .ranks = 3};
    struct online_entry bad[6];
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].word = ONLINE_MAY, bad[1].ranks = 0, bad[2].ranks = ONLINE_RANKS + 1, bad[3].count = 3,
    bad[4].rank = UINT32_MAX, bad[5].ranks = 9; /* another size than it had */
    assert_int_equal(online_node_open(&n, 1, ignore, NULL), 0);
    assert_int_equal(online_node_hear(&n, 0, &good), 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(online_node_hear(&n, 0, &bad[i]), -1);
    online_rank_make(&r, 7, 3, 3);
    assert_int_equal(online_node_join(&n, &r.member), -1);
    online_rank_make(&r, 7, 0, 4);
    assert_int_equal(online_node_join(&n, &r.member), -1);
    online_rank_make(&r, 7, 0, 3);
    assert_int_equal(online_node_join(&n, &r.member), 0);
    online_node_tick(&n, 1000);
    assert_int_equal(r.asked, 1); /* all are there */
    online_node_leave(&n, &r.member);
    assert_int_equal(n.count, 1);
    struct online_entry gone = good;
    gone.word = ONLINE_GONE;
    assert_int_equal(online_node_hear(&n, 0, &gone), 0);
    assert_true(n.count == 0 && n.ranks == 0); /* nothing is kept of what has ended */
    online_node_close(&n);
}

static int may_begin;

static void count_may(void *arg, int link, const struct online_entry *e)
{
    (void)arg;
    may_begin += e->word == ONLINE_MAY && link == 63;
}

/* All ranks have come, but one through a link that is lost: nothing begins. */
static void who_is_lost_is_not_there(void **state)
{
    (void)state;
    for (int lost = -1; lost < 2; lost++) { /* none, that of another, its own */
        struct online_node n;
        struct online_entry e = {.comm = 5, .word = ONLINE_HERE, .rank = 0, .count = 1, .ranks = 2};
        may_begin = 0;
        assert_int_equal(online_node_open(&n, 1, count_may, NULL), 0);
        assert_int_equal(online_node_hear(&n, 63, &e), 0);
        if (lost >= 0)
            online_node_lose(&n, lost ? 63 : 127);
        e.rank = 1;
        assert_int_equal(online_node_hear(&n, 64, &e), 0);
        assert_int_equal(may_begin, lost < 1);
        online_node_close(&n);
    }
}

/* What goes through a link that is lost goes, and nothing else; ranks that are told of twice are no more for it. */
static void a_link_takes_its_own(void **state)
{
    (void)state;
    struct online_node n;
    struct online_entry e = {.word = ONLINE_HERE, .rank = 0, .count = 2, .ranks = 2};
    assert_int_equal(online_node_open(&n, 1, ignore, NULL), 0);
    for (int link = 0; link < ONLINE_LINKS; link += 61) {
        e.comm = 100 + (uint64_t)link;
        assert_int_equal(online_node_hear(&n, link, &e), 0);
    }
    size_t count = n.count;
    assert_int_equal(n.ranks, 2 * count);
    for (int link = 0; link < ONLINE_LINKS; link += 61) {
        online_node_lose(&n, link + 1 < ONLINE_LINKS ? link + 1 : 1);
        assert_int_equal(n.count, count);
        online_node_lose(&n, link);
        assert_int_equal(n.count, count); /* as it has not said that its ranks are gone, a late word finds it */
        e = (struct online_entry){.comm = 100 + (uint64_t)link, .word = ONLINE_GONE, .count = 2, .ranks = 2};
        assert_int_equal(online_node_hear(&n, link, &e), 0);
        assert_int_equal(n.count, --count);
        online_node_lose(&n, link);
    }
    assert_int_equal(n.ranks, 0);
    online_node_close(&n);
}

static int make(void **state)
{
    (void)state;
    job = malloc(sizeof *job);
    return !job;
}

static int drop(void **state)
{
    (void)state;
    free(job);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agrees_over_a_tree, make, drop),
        cmocka_unit_test(neighbours_that_say_the_same_are_one),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(a_link_takes_its_own),
        cmocka_unit_test(who_is_lost_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
