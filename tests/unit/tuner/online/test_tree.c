/* Trees of many processes in one: real sockets over loopback, real proofs, a clock of the test's own. Who hangs below
 * whom, agreement through three levels, other keys, other tables, strangers that say nonsense or nothing, processes
 * that are gone, stopped or do not read. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/online_rank.h"
#include "tuner/online/tree_internal.h"

#define MOST 1100
#define COMM 0xc0ffee

static struct online_tree *trees[MOST];
static struct online_rank ranks[MOST];
static int is_stopped[MOST]; /* as by SIGSTOP */
static int n;
static uint64_t now;
static char said[8192];

static void say(const char *text)
{
    assert_true(strlen(said) + strlen(text) < sizeof said);
    strcat(said, text);
}

/* ---- interfaces -------------------------------------------------------------------------------------------------- */

static const char *other; /* of this machine, beside a network of containers; NULL: the system does not tell */

int getifaddrs(struct ifaddrs **list)
{
    static const char *const names[] = {"docker0", "zz0"};
    static struct sockaddr_in at[2];
    static struct ifaddrs all[2];
    *list = other ? all : NULL;
    for (int i = 0; i < 2 && other; i++) {
        at[i].sin_family = AF_INET;
        inet_pton(AF_INET, i ? other : "127.0.0.1", &at[i].sin_addr);
        all[i] = (struct ifaddrs){.ifa_name = (char *)(uintptr_t)names[i],
                                  .ifa_flags = IFF_RUNNING,
                                  .ifa_addr = (struct sockaddr *)(void *)&at[i],
                                  .ifa_next = i ? NULL : &all[1]};
    }
    return other ? 0 : -1;
}

void freeifaddrs(struct ifaddrs *list)
{
    (void)list;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static void start(int rank, int node, const char *key, const char *table)
{
    struct online_hello self = {.rank = rank};
    struct online_place root = {.ip = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};
    snprintf(self.stack, sizeof self.stack, "stack-%d", node % 10000);
    snprintf(self.host, sizeof self.host, "n%d", node % 1000);
    memcpy(self.table, table, strlen(table));
    struct online_tree *t = trees[rank] = malloc(sizeof *t);
    assert_int_equal(online_tree_open(t, &self, say), 0);
    snprintf((char *)t->secret.bytes, sizeof t->secret.bytes, "%s", key);
    assert_int_equal(online_tree_listen(t, 0), 0);
    root.port = trees[0]->self.at.port;
    if (rank)
        online_tree_find(t, &root, 1);
    online_rank_make(&ranks[rank], COMM, rank, n);
    assert_int_equal(online_node_join(&t->node, &ranks[rank].member), 0);
}

static void start_job(int processes, int a_node)
{
    n = processes;
    now = 1000;
    *said = 0;
    memset(is_stopped, 0, sizeof is_stopped);
    for (int i = 0; i < n; i++)
        start(i, i / a_node, "the key", "");
}

static void end(int rank)
{
    if (trees[rank])
        online_tree_close(trees[rank]);
    free(trees[rank]);
    trees[rank] = NULL;
}

static int end_job(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        end(i);
    return 0;
}

static void turn(int ms)
{
    struct pollfd fds[ONLINE_FDS];
    int timeout;
    now += (uint64_t)ms;
    for (int i = 0; i < n; i++)
        if (trees[i] && !is_stopped[i]) {
            poll(fds, online_tree_wants(trees[i], fds, &timeout), 0);
            online_tree_turn(trees[i], fds, now);
        }
}

/* Turns until `done` says so. */
static void turn_until(int (*done)(void))
{
    for (int i = 0; !done() && i < 20000; i++)
        turn(2);
    assert_true(done());
}

static int is_complete(void)
{
    return ranks[0].asked > 0;
}

static int has_decided(void)
{
    return ranks[0].commits + ranks[0].aborts > 0;
}

static void propose(uint64_t from, uint32_t plan)
{
    ranks[0].from = from;
    ranks[0].plan = plan;
    ranks[0].commits = ranks[0].aborts = 0;
}

static void agree(uint64_t from, uint32_t plan)
{
    propose(from, plan);
    turn_until(has_decided);
    assert_int_equal(ranks[0].commits, 1);
    ranks[0].asked = 0;
    turn_until(is_complete); /* all know: another may begin */
    for (int i = 0; i < n; i++) {
        assert_int_equal(ranks[i].agent.plan, plan);
        assert_int_equal(ranks[i].agent.from, from);
    }
}

static int children_of(int rank)
{
    int count = 0;
    for (int i = 0; i < ONLINE_LINKS; i++)
        count += trees[rank]->children[i].stage == ONLINE_LINKED;
    return count;
}

/* Whether the root owes somebody something. */
static int is_busy(void)
{
    return online_tree_is_busy(trees[0]);
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

static void all_agree(void **state)
{
    (void)state;
    start_job(9, 3);
    turn_until(is_complete);
    assert_int_equal(children_of(0), 4); /* two of its own node, and two leaders */
    assert_false(is_busy());
    propose(10, 7);
    for (int i = 0; !is_busy() && i < 20000; i++)
        turn(2);
    assert_true(is_busy()); /* until all know the outcome, nobody ends */
    agree(10, 7);
    assert_false(is_busy());
    for (int i = 0; i < n; i++)
        ranks[i].agent.next = 10 + (uint64_t)i;
    agree(100, 8);
    propose(12, 9); /* some have gone past it */
    turn_until(has_decided);
    assert_int_equal(ranks[0].aborts, 1);
    ranks[0].asked = 0;
    turn_until(is_complete);
    assert_true(ranks[0].furthest >= 18); /* as they have said on the way */
    for (int i = 0; i < n; i++) {
        ranks[i].agent.next = 100;
        assert_int_equal(ranks[i].agent.plan, 8);
        assert_int_equal(ranks[i].agent.promise.word, ONLINE_NOTHING);
    }
    assert_string_equal(said, "");
}

static void three_levels(void **state)
{
    (void)state;
    start_job(1 + ONLINE_ARITY + 40, 1);
    turn_until(is_complete);
    assert_int_equal(children_of(0), ONLINE_ARITY);
    agree(10, 7);
    ranks[0].agent.next = 11;
    for (int i = 1; i < n; i++)
        ranks[i].agent.next = 11;
    agree(30, 8);
}

static void several_communicators(void **state)
{
    (void)state;
    static struct online_rank others[4];
    start_job(8, 2);
    for (int i = 0; i < 4; i++) { /* of the even ranks */
        online_rank_make(&others[i], 77, i, 4);
        assert_int_equal(online_node_join(&trees[2 * i]->node, &others[i].member), 0);
    }
    others[0].from = 5;
    others[0].plan = 3;
    turn_until(is_complete);
    agree(10, 7);
    for (int i = 0; i < 4; i++)
        assert_int_equal(others[i].agent.plan, 3);
    online_node_leave(&trees[2]->node, &others[1].member);
    others[0].from = 50;
    for (int i = 0; i < n; i++)
        ranks[i].agent.next = 11;
    agree(30, 8);
    assert_int_equal(others[0].commits, 1); /* somebody has left: nothing more */
    assert_int_equal(others[0].aborts, 0);
    assert_int_equal(others[0].agent.plan, 3);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* Killed in the middle of a round: the others keep what all have. */
static void a_process_dies(void **state)
{
    (void)state;
    start_job(9, 3);
    turn_until(is_complete);
    agree(10, 7);
    int leader = 0; /* of the second node: whoever of it has come first */
    for (int i = 3; i < 6; i++)
        leader = children_of(i) ? i : leader;
    assert_int_equal(children_of(leader), 2);
    is_stopped[leader] = 1;
    for (int i = 0; i < n; i++)
        ranks[i].agent.next = 11;
    propose(30, 8);
    for (int i = 0; i < 20; i++)
        turn(50);
    assert_int_equal(ranks[0].agent.promise.word, ONLINE_PREPARE);
    end(leader);
    uint64_t began = now;
    turn_until(has_decided);
    assert_int_equal(ranks[0].aborts, 1);
    assert_true(now - began < 500); /* at once, and not when patience ends */
    for (int i = 0; i < 200; i++)
        turn(50);
    for (int i = 0; i < n; i++) {
        if (i / 3 != 1)
            assert_int_equal(ranks[i].agent.promise.word, ONLINE_NOTHING);
        assert_int_equal(ranks[i].agent.plan, 7);
        assert_int_equal(ranks[i].is_lost, i / 3 == 1 && i != leader);
    }
    ranks[0].asked = 0;
    for (int i = 0; i < 100; i++)
        turn(50);
    assert_int_equal(ranks[0].asked, 0); /* nothing more on this communicator */
}

/* One that is stopped: patience ends first, and after that its connection. */
static void a_process_is_stopped(void **state)
{
    (void)state;
    start_job(4, 1);
    turn_until(is_complete);
    is_stopped[2] = 1;
    propose(30, 8);
    uint64_t began = now;
    turn_until(has_decided);
    assert_int_equal(ranks[0].aborts, 1);
    assert_true(now - began >= ONLINE_PATIENCE_MS && now - began < ONLINE_PATIENCE_MS + 500);
    for (int i = 0; i < 300; i++)
        turn(50);
    assert_int_equal(children_of(0), 2);
}

static int all_others_lost(void)
{
    for (int i = 1; i < n; i++)
        if (!ranks[i].is_lost)
            return 0;
    return 1;
}

static void the_coordinator_dies(void **state)
{
    (void)state;
    start_job(6, 1);
    turn_until(is_complete);
    agree(10, 7);
    end(0);
    uint64_t began = now;
    turn_until(all_others_lost);
    assert_true(now - began < 500); /* at once: its connections are closed */
    for (int i = 1; i < n; i++)
        assert_int_equal(ranks[i].agent.plan, 7);
}

static void the_coordinator_is_silent(void **state)
{
    (void)state;
    start_job(3, 1);
    turn_until(is_complete);
    is_stopped[0] = 1;
    uint64_t began = now;
    for (int i = 0; i < 1000 && !all_others_lost(); i++)
        turn(50);
    assert_true(all_others_lost());
    assert_true(now - began >= ONLINE_SILENCE_MS - ONLINE_ALIVE_MS && now - began <= ONLINE_SILENCE_MS + 200);
}

static void another_key(void **state)
{
    (void)state;
    start_job(3, 1);
    end(2);
    start(2, 2, "another", "");
    for (int i = 0; i < 1400; i++)
        turn(50);
    assert_int_equal(children_of(0), 1);
    assert_int_equal(ranks[0].asked, 0);
    assert_true(ranks[2].is_lost); /* it has given up, and said so */
    assert_string_equal(said,
                        "somebody who has not this job's key has come to its coordinator: a rank with another key "
                        "file, or a strangerrank 2 on n2 has not reached the job's coordinator within 60 s (no way "
                        "there, another key, another version, or it has ended): the job runs without tuning itself");
}

static int has_refused(void)
{
    int all = 1;
    for (int i = 0; i < n; i++)
        all &= trees[i]->refusal[0] != 0;
    if (trees[3]->parent.stage == ONLINE_LINKED) /* it is the one: it knows before it may begin */
        assert_true(trees[3]->refusal[0]);
    return all;
}

static void tables_differ(void **state)
{
    (void)state;
    start_job(1, 1);
    end(0);
    n = 6;
    for (int i = 0; i < n; i++)
        start(i, i / 2, "the key", i == 3 ? "sha256 1111" : i < 2 ? "sha256 2222" : "");
    turn_until(has_refused);
    assert_non_null(strstr(said, "rank 3 on n1 has sha256 1111, rank 0 on n0 has sha256 2222"));
    assert_null(strstr(said, "rank 2")); /* who says nothing is not compared */
    assert_string_equal(trees[5]->refusal, trees[0]->refusal);
    online_tree_refuse(trees[5], "another"); /* the first stands; what comes over the wire is shown as text */
    assert_string_equal(trees[5]->refusal, trees[0]->refusal);
    trees[5]->refusal[0] = 0;
    online_tree_refuse(trees[5], "a\nb\177~ c");
    assert_string_equal(trees[5]->refusal, "a?b?~ c");
}

/* ---- the way to the parent --------------------------------------------------------------------------------------- */

static struct online_place loopback(unsigned char last, uint16_t port)
{
    return (struct online_place){
        .ip = {[10] = 0xff, [11] = 0xff, 127, last == 255 ? 255 : 0, last == 255 ? 255 : 0, last}, .port = port};
}

/* The root tells who comes over a network of containers to come by the other one; who cannot is taken as it comes. */
static void by_the_better_network(void **state)
{
    (void)state;
    static const struct {
        const char *other;
        uint32_t peer, failures;
    } cases[] = {{"127.0.0.2", 0x7f000002, 0}, {"127.255.255.255", 0x7f000001, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_in peer;
        socklen_t bytes = sizeof peer;
        other = cases[i].other;
        start_job(2, 1);
        turn_until(is_complete);
        assert_int_equal(getpeername(trees[1]->parent.c.from, (struct sockaddr *)(void *)&peer, &bytes), 0);
        assert_int_equal(ntohl(peer.sin_addr.s_addr), cases[i].peer);
        assert_int_equal(trees[1]->self.failures, cases[i].failures);
        end(0), end(1);
    }
    other = NULL;
}

/* Where the root has several addresses the next is tried. */
static void by_any_of_its_addresses(void **state)
{
    (void)state;
    start_job(2, 1);
    struct online_place to[] = {loopback(255, trees[0]->self.at.port), loopback(1, trees[0]->self.at.port)};
    online_tree_find(trees[1], to, 2);
    turn_until(is_complete);
    assert_int_equal(trees[1]->tries, 1);
}

static int first_is_in(void)
{
    return children_of(0) == 1;
}

/* After three tries the root takes those itself that do not get to their leader. */
static void a_leader_that_cannot_be_reached(void **state)
{
    (void)state;
    start_job(2, 1);
    for (int i = 0; i < 2; i++)
        end(i);
    n = 3;
    start(0, 0, "the key", "");
    start(1, 1, "the key", "");
    turn_until(first_is_in);
    close(trees[1]->listener);
    trees[1]->listener = -1;
    start(2, 1, "the key", "");
    turn_until(is_complete);
    assert_int_equal(children_of(0), 2);
    assert_int_equal(trees[2]->self.failures, 3);
    assert_string_equal(said, "");
}

static int all_know(void)
{
    for (int i = 0; i < n; i++)
        if (!trees[i]->refusal[0])
            return 0;
    return 1;
}

/* Where all have another the first eight are told of. */
static void every_node_has_another_table(void **state)
{
    (void)state;
    start_job(1, 1);
    end(0);
    n = 12;
    for (int i = 0; i < n; i++) {
        char table[32];
        snprintf(table, sizeof table, "sha256 %d", i);
        start(i, i, "the key", table);
    }
    turn_until(all_know);
    int count = 0;
    for (const char *at = said;
         (at = strstr(at, "the nodes of this job do not choose by the same table, and ranks that "
                          "choose differently hang: rank "));
         at++)
        count++;
    assert_int_equal(count, 8);
}

/* ---- strangers --------------------------------------------------------------------------------------------------- */

static int knock(void)
{
    return online_connect(
        &(struct online_place){.ip = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}, .port = trees[0]->self.at.port});
}

static int guests_of_root(void)
{
    int count = 0;
    for (int i = 0; i < ONLINE_LINKS; i++)
        count += trees[0]->children[i].stage != ONLINE_AWAY && trees[0]->children[i].stage != ONLINE_LINKED;
    return count;
}

static void strangers(void **state)
{
    (void)state;
    int fds[2 * ONLINE_GUESTS];
    char junk[3000];
    memset(junk, 'x', sizeof junk);
    start_job(2, 1);
    end(1);
    for (int i = 0; i < 2 * ONLINE_GUESTS; i++)
        fds[i] = knock(); /* half of them has to wait outside */
    turn(1);
    assert_int_equal(guests_of_root(), ONLINE_GUESTS);
    turn(1);
    assert_int_equal(guests_of_root(), ONLINE_GUESTS);
    for (int i = 0; i < 10; i++) /* some talk, most say nothing */
        assert_true(write(fds[i], junk, sizeof junk) > 0);
    turn(1);
    start(1, 1, "the key", "");
    for (int i = 0; i < 1500; i++)
        turn(20);
    assert_int_equal(children_of(0), 1); /* it has come in all the same */
    assert_non_null(strstr(said, "has not this job's key"));
    for (int i = 0; i < 2 * ONLINE_GUESTS; i++)
        close(fds[i]);
}

/* What a child with the key may send, and what it costs it. */
static void a_child_talks_nonsense(void **state)
{
    (void)state;
    struct online_entry e = {.comm = COMM, .word = ONLINE_COMMIT, .ranks = 3, .rank = 1, .count = 1};
    start_job(3, 1);
    turn_until(is_complete);
    connection_send(&trees[1]->parent.c, ONLINE_WORDS, 0, &e, sizeof e); /* the coordinator's word, on the way up */
    turn(1);
    turn(1);
    assert_int_equal(children_of(0), 1);
    connection_send(&trees[2]->parent.c, ONLINE_WORDS, 0, &e, sizeof e - 1);
    turn(1);
    turn(1);
    assert_int_equal(children_of(0), 0);
    assert_int_equal(ranks[0].agent.plan, 0);
}

static void who_does_not_read(void **state)
{
    (void)state;
    static struct online_rank many[2];
    start_job(3, 1);
    turn_until(is_complete);
    is_stopped[2] = 1;
    for (int i = 0; i < 2; i++) {
        online_rank_make(&many[i], 5, i, 2);
        assert_int_equal(online_node_join(&trees[i]->node, &many[i].member), 0);
    }
    many[0].from = 9;
    many[0].plan = 4;
    for (int i = 0; i < 100; i++)
        turn(2);
    assert_int_equal(many[1].agent.plan, 4); /* nobody waits for it */
}

static int has_all(void)
{
    return trees[0]->node.count == 2001;
}

/* More than fit a frame go in several. */
static void many_words_at_once(void **state)
{
    (void)state;
    static struct online_rank many[2000];
    start_job(2, 1);
    turn_until(is_complete);
    assert_true(ONLINE_BUNDLE < 2000);
    for (int i = 0; i < 2000; i++) {
        online_rank_make(&many[i], 1000 + (uint64_t)i, 1, 2);
        assert_int_equal(online_node_join(&trees[1]->node, &many[i].member), 0);
    }
    turn_until(has_all);
}

static int somebody_gives_up(void)
{
    return ranks[1].is_lost || ranks[2].is_lost;
}

/* 320; who comes behind them stays out. */
static void as_many_links_as_there_may_be(void **state)
{
    (void)state;
    start_job(1, 1);
    end(0);
    n = 3;
    start(0, 0, "the key", "");
    for (int i = 0; i < 319; i++) {
        struct online_peer *p = &trees[0]->children[i];
        p->stage = ONLINE_LINKED;
        p->c.from = p->c.to = -1;
        p->heard_ms = now;
    }
    start(1, 1, "the key", "");
    start(2, 2, "the key", "");
    for (int i = 0; i < 1500 && !somebody_gives_up(); i++) {
        turn(50);
        for (int k = 0; k < 319; k++)
            trees[0]->children[k].is_broken = 0, trees[0]->children[k].heard_ms = now; /* as if somebody was there */
    }
    assert_int_equal(children_of(0), 320);
    assert_int_equal(ranks[1].is_lost + ranks[2].is_lost, 1);
    for (int i = 0; i < 319; i++)
        trees[0]->children[i].stage = ONLINE_AWAY;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_agree, end_job),
        cmocka_unit_test_teardown(three_levels, end_job),
        cmocka_unit_test_teardown(several_communicators, end_job),
        cmocka_unit_test_teardown(a_process_dies, end_job),
        cmocka_unit_test_teardown(a_process_is_stopped, end_job),
        cmocka_unit_test_teardown(the_coordinator_dies, end_job),
        cmocka_unit_test_teardown(the_coordinator_is_silent, end_job),
        cmocka_unit_test_teardown(another_key, end_job),
        cmocka_unit_test_teardown(tables_differ, end_job),
        cmocka_unit_test_teardown(by_the_better_network, end_job),
        cmocka_unit_test_teardown(by_any_of_its_addresses, end_job),
        cmocka_unit_test_teardown(a_leader_that_cannot_be_reached, end_job),
        cmocka_unit_test_teardown(every_node_has_another_table, end_job),
        cmocka_unit_test_teardown(strangers, end_job),
        cmocka_unit_test_teardown(a_child_talks_nonsense, end_job),
        cmocka_unit_test_teardown(who_does_not_read, end_job),
        cmocka_unit_test_teardown(many_words_at_once, end_job),
        cmocka_unit_test_teardown(as_many_links_as_there_may_be, end_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
