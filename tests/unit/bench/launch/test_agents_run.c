/* What agents are told to run: programs on every node and beside them, their input and output, their ends. */
#include "tests/unit/bench/launch/real_agents.h"

TEST_CASE(a_program_runs_on_every_node)
{
    want(2);
    start_honest(2);
    if (gather(20))
        fail_msg("%s", e.text);
    const char *argv[] = {"/bin/sh", "-c", "cat; echo {rank} {local} {host}; echo oops >&2; exit $(({rank} + 3))",
                          NULL};
    struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 20, NULL, arena, &e);
    assert_non_null(a);
    for (int i = 0; i < 2; i++) {
        assert_false(a[i].lost);
        assert_string_equal(a[i].output, arena_printf(arena, "%d 0 %s\n", i, set.items[i].host));
        assert_string_equal(a[i].errors, "oops\n");
        assert_int_equal(WEXITSTATUS(a[i].status), i + 3);
    }
}

/* What runs beside stays while others are started and killed, and ends with its input. */
TEST_CASE(one_program_stays_beside_the_others)
{
    const char *const beside[] = {"/bin/sh", "-c", "read x; echo beside on {host}; echo worried >&2; exit 5", NULL};
    const char *const broken[] = {"/nosuchdirectory/nosuchprogram", NULL};
    const char *const other[] = {"/bin/sh", "-c", "echo other", NULL};
    const char *const endless[] = {"/bin/sh", "-c", "sleep 100", NULL};
    want(2);
    start_honest(2);
    assert_int_equal(gather(20), 0);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(agents_begin_beside(&set, beside, &e), 0);
        struct agents_answer *a = agents_run(&set, other, progress_now_s() + 20, NULL, arena, &e);
        for (int i = 0; i < 2; i++)
            assert_string_equal(a[i].output, "other\n");
        a = agents_run(&set, endless, progress_now_s() + 0.1, NULL, arena, &e);
        assert_true(a[0].lost && a[1].lost);
        agents_kill(&set, 20, NULL, NULL);
        a = agents_end_beside(&set, progress_now_s() + 20, arena, &e);
        for (int i = 0; i < 2; i++) {
            assert_false(a[i].lost);
            assert_string_equal(a[i].output, arena_printf(arena, "beside on %s\n", set.items[i].host));
            assert_string_equal(a[i].errors, "worried\n");
            assert_int_equal(WEXITSTATUS(a[i].status), 5);
        }
    }
    assert_int_equal(agents_begin_beside(&set, broken, &e), 0);
    struct agents_answer *a = agents_end_beside(&set, progress_now_s() + 20, arena, &e);
    assert_true(!a[0].lost && a[0].status == -1 && !*a[0].output);
    assert_non_null(strstr(a[0].errors, "/nosuchdirectory/nosuchprogram cannot be started: No such file"));
}

/* An agent starts workers for days. */
TEST_CASE(an_agent_closes_what_it_has_opened)
{
    static const char *const argv[] = {"/bin/true", NULL};
    want(1);
    most_files = 32;
    start_honest(1);
    most_files = 0;
    assert_int_equal(gather(20), 0);
    for (int i = 0; i < 40; i++) {
        struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 20, NULL, arena, &e);
        if (!a || a[0].lost || a[0].status)
            fail_msg("turn %d: %s", i, a ? a[0].errors : e.text);
    }
}

TEST_CASE(output_is_bounded_and_long_output_whole)
{
    want(1);
    start_honest(1);
    assert_int_equal(gather(20), 0);
    const char *argv[] = {"/bin/sh", "-c",
                          "head -c 3000000 /dev/zero | tr '\\0' x; head -c 9000 /dev/zero | tr '\\0' y >&2", NULL};
    struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 20, NULL, arena, &e);
    assert_non_null(a);
    assert_int_equal(a[0].bytes, 3000000);
    assert_int_equal(strspn(a[0].output, "x"), 3000000);
    assert_int_equal(strlen(a[0].errors), 4095);
    argv[2] = "head -c 17000000 /dev/zero | tr '\\0' x; exit 3";
    a = agents_run(&set, argv, progress_now_s() + 60, NULL, arena, &e);
    assert_int_equal(a[0].bytes, 16 << 20);
    assert_int_equal(strspn(a[0].output, "x"), 16 << 20);
    assert_int_equal(WEXITSTATUS(a[0].status), 3);
}

static int hear_end(void *ended, int agent, const struct frame *f)
{
    (void)agent;
    return f->head.message == AGENT_ENDED && !frame_body(f, ended, sizeof(struct agent_ended));
}

/* Nobody, more than one beside; and one whose name is as long as names can be. */
TEST_CASE(what_makes_no_sense_is_not_started)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const int rows[][2] = {{0, 0}, {0, AGENT_MOST_PROCESSES + 1}, {AGENT_BESIDE, 2}};
    want(1);
    setenv("SLURMD_NODENAME", "a234567890b234567890c234567890d234567890e234567890f234567890123", 1);
    start_honest(1);
    unsetenv("SLURMD_NODENAME");
    assert_int_equal(gather(20), 0);
    assert_int_equal(strlen(set.items[0].host), 63);
    for (int i = 0; i < 3; i++) {
        char *body = arena_alloc(arena, FRAME_BODY);
        size_t bytes = agents_start_body(&(struct agents_order){.argv = argv}, rows[i][0], body);
        ((struct agent_start *)body)->count = rows[i][1];
        double deadline_s = progress_now_s() + 20;
        struct agent_ended ended;
        int lost;
        agents_send(&set, 0, AGENT_START, AGENT_ALL, body, bytes);
        assert_int_equal(agents_wait(&set, &deadline_s, NULL, hear_end, &ended, &lost), AGENTS_ENOUGH);
        if (!strstr(ended.last, "invalid request to start"))
            fail_msg("%s", ended.last);
    }
}

TEST_CASE(what_cannot_be_started_says_so)
{
    want(1);
    start_honest(1);
    assert_int_equal(gather(20), 0);
    const char *argv[] = {"{bin}/no-such-program", NULL};
    struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 20, NULL, arena, &e);
    assert_int_equal(a[0].status, -1);
    assert_false(a[0].lost);
    assert_non_null(strstr(a[0].errors, "cannot be started: No such file"));
}

TEST_CASE(what_does_not_end_is_killed_at_the_deadline)
{
    want(1);
    start_honest(1);
    assert_int_equal(gather(20), 0);
    const char *argv[] = {"/bin/sh", "-c", "echo $$; sleep 60", NULL};
    double began = progress_now_s();
    struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 0.5, NULL, arena, &e);
    assert_true(progress_now_s() - began < 3);
    assert_true(a[0].lost);
    assert_int_equal(kill((pid_t)strtol(a[0].output, NULL, 10), 0), -1);
    assert_int_equal(set.lost, 0); /* the agent itself is fine */
    const char *again[] = {"/bin/echo", "again", NULL};
    a = agents_run(&set, again, progress_now_s() + 20, NULL, arena, &e);
    assert_string_equal(a[0].output, "again\n");
}

TEST_GROUP(test_agents_run, begin, end, begin_doubles, end_doubles)
