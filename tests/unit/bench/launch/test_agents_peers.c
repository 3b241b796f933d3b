/* The set of agents with peers on pipes, which say what the test has them say: introductions, losses, last words, and
 * what comes of an order frame by frame. */
#include <signal.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

#define MOST 5

static struct agents set;
static struct connection peers[MOST];
static struct arena *arena;
static struct err e;

static int begin(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    arena = arena_new();
    memset(&e, 0, sizeof e);
    memset(peers, 0, sizeof peers);
    return 0;
}

static int end(void **state)
{
    for (int i = 0; i < MOST; i++)
        connection_close(&peers[i]);
    agents_close(&set);
    arena_free(arena);
    return 0;
}

/* So many agents, of which nothing is known yet. */
static void meet(int n)
{
    agents_none(&set, n);
    for (int i = 0; i < n; i++) {
        int to[2], from[2];
        assert_int_equal(pipe(to) | pipe(from), 0);
        assert_int_equal(agents_add(&set, from[0], to[1], &e), 0);
        assert_int_equal(connection_open(&peers[i], to[0], from[1]), 0);
    }
}

static void says(int peer, int message, int rank, const void *body, size_t bytes)
{
    assert_int_equal(connection_send(&peers[peer], message, rank, body, bytes), 0);
}

static void is_called(int peer, const char *name)
{
    struct agent_node node = {0};
    snprintf(node.host, sizeof node.host, "%s", name);
    snprintf(node.release, sizeof node.release, "%s", wire_release);
    says(peer, AGENT_NODE, AGENT_ALL, &node, sizeof node);
}

static void ends(int peer, int message, int rank, int status, const char *last)
{
    struct agent_ended ended = {.status = status};
    snprintf(ended.last, sizeof ended.last, "%s", last);
    says(peer, message, rank, &ended, sizeof ended);
}

static int gather(double patience_s)
{
    return agents_gather(&set, progress_now_s() + patience_s, NULL, &e);
}

/* Known by name, in the order of the names. */
static void meet_called(int n)
{
    meet(n);
    for (int i = 0; i < n; i++)
        is_called(i, arena_printf(arena, "node%d", i + 1));
    if (gather(60))
        fail_msg("%s", e.text);
}

/* ---- introductions ---- */

TEST_CASE(in_the_order_of_their_names)
{
    static const char *const names[] = {"node10", "node2", "node1.site"};
    meet(3);
    for (int i = 0; i < 3; i++)
        is_called(i, names[i]);
    assert_int_equal(gather(60), 0);
    assert_string_equal(set.items[0].host, "node1.site");
    assert_string_equal(set.items[1].host, "node2");
    assert_string_equal(set.items[2].host, "node10");
    assert_int_equal(agents_find(&set, "node1"), 0);
    assert_int_equal(agents_find(&set, "node1.site"), 0);
    assert_int_equal(agents_find(&set, "node1.other"), -1);
    assert_int_equal(agents_find(&set, "node2.site"), 1);
    assert_int_equal(agents_find(&set, "node10"), 2);
    assert_int_equal(agents_find(&set, "node"), -1);
    assert_int_equal(agents_find(&set, "node100"), -1);
    assert_int_equal(agents_find(&set, "node3"), -1);
}

/* Two clusters may call their nodes alike. */
TEST_CASE(the_whole_name_counts_first)
{
    meet(2);
    is_called(0, "node1.east");
    is_called(1, "node1.west");
    assert_int_equal(gather(60), 0);
    assert_int_equal(agents_find(&set, "node1.east"), 0);
    assert_int_equal(agents_find(&set, "node1.west"), 1);
    assert_int_equal(agents_find(&set, "node1"), 0);
}

TEST_CASE(who_says_anything_else_is_dropped)
{
    struct agent_node nobody = {0}, somebody = {.host = "x"};
    meet(5);
    is_called(0, "node1");
    says(1, AGENT_OUTPUT, AGENT_ALL, &somebody, sizeof somebody);
    says(2, AGENT_NODE, AGENT_ALL, &somebody, sizeof somebody.host - 1);
    says(3, AGENT_NODE, AGENT_ALL, &nobody, sizeof nobody);
    connection_close(&peers[4]);
    assert_int_equal(gather(0.2), ERR_FAILED);
    assert_string_equal(e.text, "1 of 5 nodes have answered (node1): the others did not in time");
    assert_int_equal(set.count, 1);
}

/* A release before this one said its name alone. */
TEST_CASE(another_release_is_refused)
{
    struct agent_node other = {.host = "node2", .release = "0.0.9"};
    meet(2);
    is_called(0, "node1");
    says(1, AGENT_NODE, AGENT_ALL, &other, sizeof other);
    assert_int_equal(gather(60), ERR_FAILED);
    assert_string_equal(e.text, arena_printf(arena,
                                             "node2: its nccltune-worker is of release 0.0.9, this is %s: install the "
                                             "same on all nodes",
                                             wire_release));
    agents_close(&set);
    for (int i = 0; i < 2; i++)
        connection_close(&peers[i]);
    meet(1);
    says(0, AGENT_NODE, AGENT_ALL, &other, sizeof other.host);
    assert_int_equal(gather(60), ERR_FAILED);
    assert_non_null(strstr(e.text, "node2: its nccltune-worker is of an older release, this is "));
}

TEST_CASE(who_is_missing_is_said)
{
    volatile sig_atomic_t stop = 1;
    meet(2);
    assert_int_equal(gather(0.1), ERR_FAILED);
    assert_string_equal(e.text, "0 of 2 nodes have answered: the others did not in time");
    agents_close(&set);
    assert_int_equal(set.listener, -1);
    for (int i = 0; i < 2; i++)
        connection_close(&peers[i]);
    meet(4);
    for (int i = 0; i < 3; i++)
        is_called(i, arena_printf(arena, "%c23456789012345678901234567890123456789012345678901234567890", 'a' + i));
    assert_int_equal(gather(0.2), ERR_FAILED);
    assert_string_equal(
        e.text, "3 of 4 nodes have answered (a23456789012345678901234567890123456789012345678901234567890, "
                "b23456789012345678901234567890123456789012345678901234567890, "
                "c23456789012345678901234567890123456789012345678901234567890 and more): the others did not in time");
    agents_close(&set);
    for (int i = 0; i < 4; i++)
        connection_close(&peers[i]);
    meet(1);
    assert_int_equal(agents_gather(&set, progress_now_s() + 60, &stop, &e), ERR_FAILED);
    assert_string_equal(e.text, "interrupted");
}

/* ---- losses ---- */

static int hear_nothing(void *user, int agent, const struct frame *f)
{
    (void)user, (void)agent, (void)f;
    return 0;
}

TEST_CASE(every_loss_is_told_once)
{
    double deadline_s = progress_now_s() + 60;
    int lost = -1;
    meet_called(4);
    connection_close(&peers[2]);
    connection_close(&peers[0]);
    for (int i = 0; i <= 2; i += 2) {
        assert_int_equal(agents_wait(&set, &deadline_s, NULL, hear_nothing, NULL, &lost), AGENTS_LOST);
        assert_int_equal(lost, i);
        assert_int_equal(set.items[i].lost, 2);
    }
    deadline_s = progress_now_s() + 0.1;
    assert_int_equal(agents_wait(&set, &deadline_s, NULL, hear_nothing, NULL, &lost), AGENTS_LATE);
    assert_int_equal(lost, -1);
    assert_true(set.lost == 2 && set.reported == 2);
    agents_send(&set, 2, AGENT_KILL, AGENT_ALL, NULL, 0); /* nobody there */
    connection_close(&peers[3]);
    agents_send(&set, -1, AGENT_KILL, AGENT_ALL, NULL, 0);
    assert_int_equal(set.lost, 3);
    struct frame f;
    assert_int_equal(connection_wait(&peers[1], 10000), 1);
    assert_int_equal(connection_next(&peers[1], &f), 1);
    assert_int_equal(f.head.message, AGENT_KILL);
    assert_int_equal(connection_next(&peers[1], &f), 0); /* it was for another */
    agents_close(&set);
    assert_int_equal(connection_wait(&peers[1], 10000), 0); /* which ends it */
}

static const char *heard;

static void keep_words(void *user, const char *last)
{
    assert_ptr_equal(user, &heard);
    heard = arena_printf(arena, "%s[%s]", heard, last);
}

TEST_CASE(last_words_are_heard)
{
    struct agent_ended long_ones = {.status = -1};
    meet_called(3);
    heard = "";
    ends(0, AGENT_ENDED, 4, 0, "before");
    says(0, AGENT_OUTPUT, 0, &long_ones, sizeof long_ones);
    says(0, AGENT_KILLED, AGENT_ALL, "short", 5);
    ends(0, AGENT_KILLED, AGENT_ALL, -1, "at the end");
    ends(1, AGENT_KILLED, AGENT_ALL, -1, "");
    memset(long_ones.last, 'x', sizeof long_ones.last);
    says(2, AGENT_KILLED, AGENT_ALL, &long_ones, sizeof long_ones);
    agents_kill(&set, 60, keep_words, &heard);
    char want[1024];
    snprintf(want, sizeof want, "[before][at the end][%0*d]", AGENT_TEXT - 1, 0);
    for (char *c = want; *c; c++)
        *c = (char)(*c == '0' ? 'x' : *c);
    assert_string_equal(heard, want);
    assert_int_equal(set.lost, 0);
    /* Who does not answer is given up, who is gone need not. */
    connection_close(&peers[0]);
    ends(1, AGENT_KILLED, AGENT_ALL, -1, "");
    agents_kill(&set, 0.1, NULL, NULL);
    assert_true(set.lost == 2 && set.items[0].lost && !set.items[1].lost && set.items[2].lost);
}

/* ---- orders ---- */

static const char *const program[] = {"/bin/prog", "a b", NULL};

static void expect_frame(int peer, int message, int rank, size_t bytes, struct frame *f)
{
    int got;
    double until_s = progress_now_s() + 60;
    while (!(got = connection_next(&peers[peer], f)) && progress_now_s() < until_s) {
        connection_flush(&set.items[peer].connection); /* what did not fit into a pipe */
        connection_wait(&peers[peer], 1000);
    }
    assert_true(got > 0 && f->head.message == message && f->head.rank == rank && f->head.bytes == bytes);
}

TEST_CASE(what_is_sent_for_an_order)
{
    static const char strings[] = "/bin/prog\0a b\0A=1\0B", *const settings[] = {"A=1", "B", NULL};
    static const int words = sizeof "/bin/prog\0a b";
    static char body[FRAME_BODY];
    struct agent_start head;
    struct frame f;
    meet_called(4);
    connection_close(&peers[0]); /* it is lost by the time of the order */
    double deadline_s = progress_now_s() + 20;
    int lost;
    assert_int_equal(agents_wait(&set, &deadline_s, NULL, hear_nothing, NULL, &lost), AGENTS_LOST);
    ends(1, AGENT_ENDED, 1, 0, "");
    ends(2, AGENT_ENDED, 2, 7 << 8, "");
    ends(3, AGENT_ENDED, 3, -1, "no such thing");
    struct agents_answer *a = agents_run(&set, program, progress_now_s() + 60, NULL, arena, &e);
    assert_non_null(a);
    for (int i = 0; i < 4; i++) {
        assert_true(a[i].lost == (i < 1) && !a[i].bytes);
        assert_int_equal(a[i].status, i == 1 ? 0 : i == 2 ? 7 << 8 : -1);
        assert_string_equal(a[i].errors, i == 3 ? "no such thing" : i ? "" : "its agent has ended");
        assert_string_equal(a[i].output, "");
    }
    for (int i = 1; i < 4; i++) {
        expect_frame(i, AGENT_START, AGENT_ALL, sizeof head + words, &f);
        memcpy(&head, f.body, sizeof head);
        assert_true(head.first_rank == i && head.count == 1 && !head.frames && head.words == 2 && !head.settings);
        assert_memory_equal((const char *)f.body + sizeof head, strings, words);
        expect_frame(i, AGENT_INPUT_END, AGENT_ALL, 0, &f);
        assert_int_equal(connection_next(&peers[i], &f), 0);
    }
    struct agents_order o = {.argv = program, .settings = settings, .copies = 3, .frames = 1};
    assert_int_equal(agents_start_body(&o, 6, body), sizeof head + sizeof strings);
    memcpy(&head, body, sizeof head);
    assert_true(head.first_rank == 6 && head.count == 3 && head.frames == 1 && head.words == 2 && head.settings == 2);
    assert_memory_equal(body + sizeof head, strings, sizeof strings);
}

/* Only what is about an agent's own program, which still runs. */
TEST_CASE(what_is_taken_as_an_answer)
{
    char *much = arena_alloc(arena, 6000);
    for (int i = 0; i < 6000; i++)
        much[i] = (char)('a' + i % 26);
    meet_called(4);
    for (int rank = -3; rank <= 4; rank++)
        if (rank != 0)
            says(0, AGENT_OUTPUT, rank, "?", 1);
    says(1, AGENT_OUTPUT, 0, "?", 1);
    says(1, AGENT_OUTPUT, 2, "?", 1);
    says(0, AGENT_OUTPUT, 0, "abc", 3);
    says(0, AGENT_OUTPUT, 0, "def", 3);
    says(0, AGENT_ENDED, 0, "short", 5);
    says(0, AGENT_KILLED, 0, &(struct agent_ended){0}, sizeof(struct agent_ended));
    says(0, AGENT_ERRORS, 0, much, 4095);
    ends(0, AGENT_ENDED, 0, 5, "not kept");
    says(0, AGENT_OUTPUT, 0, "late", 4);
    ends(0, AGENT_ENDED, 0, 6, "late");
    says(1, AGENT_OUTPUT, 1, "abcdefg", 7);
    says(1, AGENT_ERRORS, 1, much, 6000);
    says(1, AGENT_ERRORS, 1, "tail", 4);
    ends(1, AGENT_ENDED, 1, 0, "");
    says(2, AGENT_OUTPUT, 2, "abcd", 4);
    says(2, AGENT_OUTPUT, 2, "efgh", 4);
    says(2, AGENT_OUTPUT, 2, "i", 1);
    ends(2, AGENT_ENDED, 2, 0, "");
    ends(3, AGENT_ENDED, 3, -1, "cannot be started");
    struct agents_answer *a = agents_run(&set, program, progress_now_s() + 60, NULL, arena, &e);
    assert_non_null(a);
    static const char *const outputs[] = {"abcdef", "abcdefg", "abcdefghi", ""};
    static const int status[] = {5, 0, 0, -1};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(a[i].output, outputs[i]);
        assert_int_equal(a[i].bytes, strlen(outputs[i]));
        assert_true(a[i].status == status[i] && !a[i].lost);
    }
    assert_int_equal(strlen(a[0].errors), 4095);
    assert_memory_equal(a[0].errors, much, 4095);
    assert_int_equal(strlen(a[1].errors), 4095);
    assert_memory_equal(a[1].errors, much + 6000 - 4091, 4091);
    assert_string_equal(a[1].errors + 4091, "tail");
    assert_string_equal(a[3].errors, "cannot be started");
    /* Piece by piece, with more room each time. */
    for (int i = 0; i < 40; i++)
        says(0, AGENT_OUTPUT, 0, much + i * 7, 7);
    for (int i = 0; i < 4; i++)
        ends(i, AGENT_ENDED, i, 0, "");
    a = agents_run(&set, program, progress_now_s() + 60, NULL, arena, &e);
    assert_non_null(a);
    assert_int_equal(a[0].bytes, 280);
    assert_int_equal(strlen(a[0].output), 280);
    assert_memory_equal(a[0].output, much, 280);
}

TEST_CASE(what_runs_beside_answers_under_its_own_number)
{
    struct frame f;
    struct agent_start head;
    meet_called(2);
    assert_int_equal(agents_begin_beside(&set, program, &e), 0);
    says(0, AGENT_OUTPUT, 0, "?", 1);
    says(0, AGENT_OUTPUT, AGENT_BESIDE + 1, "?", 1);
    says(0, AGENT_OUTPUT, AGENT_BESIDE - 1, "?", 1);
    for (int i = 0; i < 2; i++) {
        says(i, AGENT_OUTPUT, AGENT_BESIDE, i ? "one" : "nil", 3);
        ends(i, AGENT_ENDED, AGENT_BESIDE, i, "");
    }
    struct agents_answer *a = agents_end_beside(&set, progress_now_s() + 60, arena, &e);
    assert_non_null(a);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(a[i].output, i ? "one" : "nil");
        assert_true(a[i].status == i && !a[i].lost);
        expect_frame(i, AGENT_START, AGENT_ALL, sizeof head + 14, &f);
        memcpy(&head, f.body, sizeof head);
        assert_true(head.first_rank == AGENT_BESIDE && head.count == 1 && head.words == 2 && !head.settings);
        expect_frame(i, AGENT_INPUT_END, AGENT_BESIDE, 0, &f);
    }
}

TEST_CASE(orders_that_do_not_fit)
{
    static const char *many[AGENT_MOST_STRINGS + 2];
    static char long_word[FRAME_BODY], body[FRAME_BODY];
    const char *words[] = {long_word, NULL};
    struct agents_order o = {.argv = words, .frames = 1};
    volatile sig_atomic_t stop = 1;
    memset(long_word, 'x', FRAME_BODY - sizeof(struct agent_start) - 1);
    assert_int_equal(agents_start_body(&o, 0, body), FRAME_BODY);
    long_word[FRAME_BODY - sizeof(struct agent_start) - 1] = 'x';
    assert_int_equal(agents_start_body(&o, 0, body), 0);
    meet_called(1);
    assert_null(agents_run(&set, words, progress_now_s() + 60, NULL, arena, &e));
    assert_memory_equal(e.text, "xxx", 3);
    assert_int_equal(agents_begin_beside(&set, words, &e), ERR_FAILED);
    for (int i = 0; i < AGENT_MOST_STRINGS; i++)
        many[i] = "w";
    o.argv = many;
    assert_int_equal(agents_start_body(&o, 0, body), sizeof(struct agent_start) + 2 * AGENT_MOST_STRINGS);
    assert_true(((struct agent_start *)(void *)body)->frames == 1 && ((struct agent_start *)(void *)body)->count == 1);
    many[AGENT_MOST_STRINGS] = "w";
    assert_int_equal(agents_start_body(&o, 0, body), 0);
    assert_null(agents_run(&set, many, progress_now_s() + 60, NULL, arena, &e));
    assert_string_equal(e.text, "w: its command line is too long");
    assert_int_equal(agents_begin_beside(&set, many, &e), ERR_FAILED);
    assert_string_equal(e.text, "w: its command line is too long");
    struct frame f;
    assert_int_equal(connection_wait(&peers[0], 0), -1); /* nothing of it was sent */
    assert_int_equal(connection_next(&peers[0], &f), 0);
    ends(0, AGENT_KILLED, AGENT_ALL, -1, "");
    assert_null(agents_run(&set, program, progress_now_s() + 60, &stop, arena, &e));
    assert_string_equal(e.text, "interrupted");
}

TEST_CASES_EACH(test_agents_peers, begin, end)
