/* An agent on two pipes: what it answers to every order, word by word. */
#include "tests/unit/bench/nccltune-worker/talk.h"

#define WARNED "NCCL WARN it is so"

static struct agent_node node;
static struct agent_ended ended;

static void begin(void)
{
    const char *words[] = {"agent", "--as", "node7", NULL};
    talk_begin(words);
    expect(AGENT_NODE, AGENT_ALL, &node, sizeof node);
    assert_string_equal(node.host, "node7");
}

/* Orders a shell's script to be started; `frames` as in struct agent_start. */
static void order(const char *script, int first_rank, int copies, int frames)
{
    static char body[FRAME_BODY];
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    size_t bytes = agents_start_body(&(struct agents_order){argv, NULL, copies, frames}, first_rank, body);
    assert_true(bytes > 0);
    tell(AGENT_START, AGENT_ALL, body, bytes);
}

static void expect_ended(int message, int rank, int status, const char *last)
{
    expect(message, rank, &ended, sizeof ended);
    if (ended.status != status || strcmp(ended.last, last) != 0)
        fail_msg("status %d: '%s'", ended.status, ended.last);
}

static void expect_bytes(int message, int rank, const char *text)
{
    struct frame f;
    assert_true(hear(&f));
    if (f.head.message != message || f.head.rank != rank || f.head.bytes != strlen(text) ||
        memcmp(f.body, text, f.head.bytes) != 0)
        fail_msg("message %d of rank %d: %.*s", f.head.message, f.head.rank, (int)f.head.bytes, (const char *)f.body);
}

/* ---- orders ---- */

TEST_CASE(bytes_are_carried)
{
    begin();
    order("echo {rank}; cat || exit 9; echo worried >&2; exit $(({rank} + 1))", 4, 2, 0);
    for (int i = 0; i < 2; i++) {
        struct frame f;
        assert_true(hear(&f));
        assert_true(f.head.message == AGENT_OUTPUT && f.head.bytes == 2 &&
                    !memcmp(f.body, f.head.rank == 4 ? "4\n" : "5\n", 2));
    }
    for (int rank = 5; rank >= 4; rank--) {
        tell(AGENT_INPUT_END, rank, NULL, 0);
        expect_bytes(AGENT_ERRORS, rank, "worried\n");
        expect_ended(AGENT_ENDED, rank, (rank + 1) << 8, "worried");
    }
    tell(AGENT_KILL, AGENT_ALL, NULL, 0);
    expect_ended(AGENT_KILLED, AGENT_ALL, -1, "");
    assert_int_equal(talk_end(), 0);
}

/* The first words of those that run, unless another has a warning; what runs beside is not among them. */
TEST_CASE(those_that_run_are_killed)
{
    static const struct {
        const char *script, *last;
    } rows[] = {{"echo said {rank} >&2; echo up; exec sleep 60", "said 0"},
                {"[ {rank} = 1 ] && echo '" WARNED "' >&2 || echo other >&2; echo up; exec sleep 60", WARNED},
                {"echo up; exec sleep 60", ""}};
    begin();
    order("echo beside >&2; exec sleep 60", AGENT_BESIDE, 1, 0);
    expect_bytes(AGENT_ERRORS, AGENT_BESIDE, "beside\n");
    for (int i = 0; i < 3; i++) {
        order(rows[i].script, 0, 2, 0);
        for (int heard = 0; heard < (i < 2 ? 4 : 2); heard++) {
            struct frame f;
            assert_true(hear(&f));
            assert_true(f.head.message == AGENT_OUTPUT || f.head.message == AGENT_ERRORS);
        }
        tell(AGENT_KILL, AGENT_ALL, NULL, 0);
        expect_ended(AGENT_KILLED, AGENT_ALL, -1, rows[i].last);
    }
    /* Killed without a word when others take their place. */
    order("echo up; exec sleep 60", 0, 1, 0);
    expect_bytes(AGENT_OUTPUT, 0, "up\n");
    order("echo again", 0, 1, 0);
    expect_bytes(AGENT_OUTPUT, 0, "again\n");
    expect_ended(AGENT_ENDED, 0, 0, "");
    order("exit 3", AGENT_BESIDE, 1, 0);
    expect_ended(AGENT_ENDED, AGENT_BESIDE, 3 << 8, "");
    tell(AGENT_INPUT_END, AGENT_BESIDE, NULL, 0);
    expect_ended(AGENT_ENDED, AGENT_BESIDE, -1, "");
    assert_int_equal(talk_end(), 0);
}

/* What has been started on pipes and speaks frames is another agent. */
TEST_CASE(frames_are_carried)
{
    begin();
    order("exec '{self}' agent --as inner", 6, 1, 1);
    expect(AGENT_NODE, 6, &node, sizeof node);
    assert_string_equal(node.host, "inner");
    tell(AGENT_MESSAGES + 9, 6, "unknown", 7);
    tell(AGENT_MESSAGES + 9, 7, "not there", 9);
    tell(AGENT_INPUT_END, 6, NULL, 0);
    expect_ended(AGENT_ENDED, 6, 0, "");
    order("echo this is no frame at all, by any means; exec sleep 60", 6, 1, 1);
    expect(AGENT_ENDED, 6, &ended, sizeof ended);
    assert_true(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL);
    static const char words[] = "something else than nccltune-worker of version ";
    assert_memory_equal(ended.last, words, sizeof words - 1);
    assert_non_null(strstr(ended.last, " answered: this is no frame at all, by any means"));
    /* What they say on standard error is kept, not carried. */
    order("echo why >&2; exit 2", 0, 1, 1);
    expect_ended(AGENT_ENDED, 0, 2 << 8, "why");
    assert_int_equal(talk_end(), 0);
}

TEST_CASE(what_cannot_be_started_says_why)
{
    char body[sizeof(struct agent_start) + 64];
    static const struct {
        struct agent_start s;
        const char *strings;
        size_t bytes;
        const char *last;
    } rows[] = {
        {{0, 1, 0, 0, 0}, "", 0, "node7: invalid request to start 1 processes"},
        {{0, 1, 0, 2, 0}, "/bin/true", 10, "node7: invalid request to start 1 processes"},
        {{0, 1, 0, 1, 1}, "/bin/true", 10, "node7: invalid request to start 1 processes"},
        {{0, 1, 0, 1, 0}, "/bin/true", 9, "node7: invalid request to start 1 processes"},
        {{0, 0, 0, 1, 0}, "/bin/true", 10, "node7: invalid request to start 0 processes"},
        {{0, 65, 0, 1, 0}, "/bin/true", 10, "node7: invalid request to start 65 processes"},
        {{0, 1, 0, 1, 0}, "/no/such", 9, "node7: /no/such cannot be started: No such file or directory"},
    };
    begin();
    tell(AGENT_START, AGENT_ALL, body, sizeof(struct agent_start) - 1); /* no order at all */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(body, &rows[i].s, sizeof rows[i].s);
        memcpy(body + sizeof rows[i].s, rows[i].strings, rows[i].bytes);
        tell(AGENT_START, AGENT_ALL, body, sizeof rows[i].s + rows[i].bytes);
        expect_ended(AGENT_ENDED, 0, -1, rows[i].last);
    }
    assert_int_equal(talk_end(), 0);
}

TEST_CASE(as_many_as_there_may_be)
{
    int ends = 0;
    begin();
    order("exit {local}", 100, AGENT_MOST_PROCESSES, 0);
    for (int i = 0; i < AGENT_MOST_PROCESSES; i++) {
        struct frame f;
        assert_true(hear(&f));
        assert_int_equal(f.head.message, AGENT_ENDED);
        assert_int_equal(frame_body(&f, &ended, sizeof ended), 0);
        assert_int_equal(ended.status, (f.head.rank - 100) << 8);
        ends += f.head.rank;
    }
    assert_int_equal(ends, 64 * 100 + 63 * 32);
    assert_int_equal(talk_end(), 0);
}

/* Long output, which nobody takes for a while, comes whole. */
TEST_CASE(much_is_carried_whole)
{
    size_t came = 0;
    struct frame f;
    begin();
    order("head -c 3000000 /dev/zero | tr '\\0' x", 0, 1, 0);
    usleep(100000);
    while (came < 3000000) {
        assert_true(hear(&f));
        assert_int_equal(f.head.message, AGENT_OUTPUT);
        assert_int_equal(strspn(f.body, "x") < f.head.bytes, 0);
        came += f.head.bytes;
    }
    assert_int_equal(came, 3000000);
    expect_ended(AGENT_ENDED, 0, 0, "");
    assert_int_equal(talk_end(), 0);
}

/* ---- its end ---- */

TEST_CASE(it_ends_as_it_is_told)
{
    int32_t code = 77;
    struct frame f;
    begin();
    tell(AGENT_EXIT, AGENT_ALL, &code, sizeof code);
    tell(AGENT_KILL, AGENT_ALL, NULL, 0); /* too late */
    assert_false(hear(&f));
    assert_int_equal(talk_end(), 77);
    begin();
    tell(AGENT_EXIT, AGENT_ALL, NULL, 0);
    assert_false(hear(&f));
    assert_int_equal(talk_end(), ERR_FAILED);
    begin();
    assert_int_equal(write(talk.to, "this is not a frame, and long enough for one", 44), 44);
    assert_false(hear(&f));
    assert_int_equal(talk_end(), 0);
}

/* What an agent says that finds nobody; the secret is not the one of whoever listens. */
TEST_CASE(who_cannot_reach_the_conductor_says_so)
{
    struct err e;
    char text[512];
    const char *argv[] = {worker_path(), "agent", "--connect", "127.0.0.1:1", "--as", "node7", NULL};
    const char *env[] = {SECRET_VARIABLE "=short", NULL};
    assert_int_equal(proc_spawn(&worker, argv, env, &e), 0);
    assert_true(proc_ended(&worker, 60));
    ssize_t n = read(worker.err, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    assert_string_equal(text, "nccltune-worker: NCCLTUNE_SECRET is not set, or not a secret of nccltune\n");
    assert_int_equal(WEXITSTATUS(worker.status), ERR_FAILED);
    proc_stop(&worker, 1);
}

TEST_CASES(test_agent)
