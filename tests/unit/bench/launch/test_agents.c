/* The set of agents, with real agents over TCP on this machine, and with everybody else who finds the port: silent,
 * talking nonsense, with a wrong secret, with an old conversation, by the hundred; more than 1,024 agents; agents that
 * are killed, stopped and lose their conductor. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "bench/launch/launch_internal.h"
#include "core/wire/wire.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/launch/real_agents.h"

/* A stranger's connection; with SOCK_NONBLOCK it need not be one yet. */
static int knock(int flags)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(set.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof to);
    assert_true(!rc || (flags && errno == EINPROGRESS));
    return fd;
}

static int visit(void)
{
    return knock(0);
}

static int is_running(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

static int ends_within(pid_t pid, double s)
{
    double until = progress_now_s() + s;
    while (progress_now_s() < until) {
        if (!is_running(pid))
            return 1;
        usleep(10000);
    }
    return 0;
}

TEST_CASE(an_agent_ends_with_what_it_is_told)
{
    int32_t code = 77;
    int status;
    want(1);
    start_honest(1);
    assert_int_equal(gather(20), 0);
    agents_send(&set, 0, AGENT_EXIT, AGENT_ALL, &code, sizeof code);
    assert_int_equal(waitpid(started[0], &status, 0), started[0]);
    assert_int_equal(WEXITSTATUS(status), 77);
}

/* ---- those who are lost ---- */

static int hear_nothing(void *user, int agent, const struct frame *f)
{
    (void)user, (void)agent, (void)f;
    return 0;
}

TEST_CASE(a_killed_agent_is_noticed_and_the_others_go_on)
{
    want(3);
    start_honest(3);
    assert_int_equal(gather(20), 0);
    const char *argv[] = {"/bin/sh", "-c", "echo {rank}; [ {rank} = 9 ] || exec sleep 60", NULL};
    kill(started[1], SIGKILL);
    double began = progress_now_s(), deadline = began + 20;
    int lost = -1;
    assert_int_equal(agents_wait(&set, &deadline, NULL, hear_nothing, NULL, &lost), AGENTS_LOST);
    assert_true(progress_now_s() - began < 2);
    argv[2] = "echo {rank}";
    struct agents_answer *a = agents_run(&set, argv, progress_now_s() + 20, NULL, arena, &e);
    for (int i = 0; i < 3; i++)
        assert_int_equal(a[i].lost, i == lost);
}

TEST_CASE(a_stopped_agent_holds_up_nobody)
{
    want(2);
    start_honest(2);
    assert_int_equal(gather(20), 0);
    static char body[FRAME_BODY];
    kill(started[0], SIGSTOP);
    kill(started[1], SIGSTOP);
    double began = progress_now_s();
    for (int i = 0; i < 100; i++)
        agents_send(&set, -1, AGENT_INPUT_END, AGENT_ALL, body, sizeof body);
    assert_true(progress_now_s() - began < 2);
    volatile sig_atomic_t stop = 1;
    double deadline = progress_now_s() + 20;
    int lost;
    assert_int_equal(agents_wait(&set, &deadline, &stop, hear_nothing, NULL, &lost), AGENTS_STOPPED);
    agents_kill(&set, 0.5, NULL, NULL);
    assert_int_equal(set.lost, 2);
    assert_true(progress_now_s() - began < 4);
}

TEST_CASE(agents_and_what_they_run_end_with_the_conductor)
{
    want(1);
    start_honest(1);
    assert_int_equal(gather(20), 0);
    const char *argv[] = {"/bin/sh", "-c", "trap '' TERM HUP INT; sleep 60 & sleep 60", NULL};
    struct agents_order o = {.argv = argv, .copies = 3};
    char *body = arena_alloc(arena, FRAME_BODY);
    size_t bytes = agents_start_body(&o, 0, body);
    agents_send(&set, 0, AGENT_START, AGENT_ALL, body, bytes);
    usleep(300000);
    agents_close(&set);
    assert_true(ends_within(started[0], 2));
}

/* ---- strangers ---- */

/* Two silent ones, half a message, nonsense and a proof without the secret: nobody counts as an agent. */
TEST_CASE(strangers_are_not_counted)
{
    want(2);
    int fds[5];
    for (int i = 0; i < 5; i++)
        fds[i] = visit();
    assert_int_equal(write(fds[2], "\x6b", 1), 1);
    assert_int_equal(write(fds[3], "GET / HTTP/1.1\r\nHost: here\r\nAccept: everything\r\n\r\n", 49), 49);
    struct proof guess;
    struct secret wrong;
    assert_int_equal(secret_make(&wrong), 0);
    assert_int_equal(proof_begin(&guess, &wrong, 1), 0);
    assert_int_equal(proof_go_on(&guess, fds[4]), 0);
    start_honest(2);
    if (gather(20))
        fail_msg("%s", e.text);
    assert_int_equal(set.count, 2);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

/* An agent that has the secret of another run is turned away, and told so. */
TEST_CASE(the_wrong_secret_gets_nobody_in)
{
    struct secret wrong;
    char hex[SECRET_HEX];
    want(1);
    assert_int_equal(secret_make(&wrong), 0);
    secret_hex(&wrong, hex);
    start_agent(agents_places(&set, arena), arena_printf(arena, SECRET_VARIABLE "=%s", hex));
    assert_int_equal(gather(1), ERR_FAILED);
    assert_non_null(strstr(e.text, "0 of 1 nodes have answered"));
}

static void flood(int flags)
{
    started[nstarted] = fork();
    if (started[nstarted++])
        return;
    int held[900] = {0};
    for (int i = 0;; i = (i + 1) % 900) {
        if (held[i])
            close(held[i]);
        held[i] = knock(flags);
    }
}

/* Silent connections by the hundred, more than there is room for, for ever: such as wait their turn in the queue of the
 * listener, and such as do not wait, which keep that queue full. */
TEST_CASE(a_flood_keeps_nobody_out)
{
    want(3);
    flood(0);
    flood(SOCK_NONBLOCK);
    usleep(300000);
    start_honest(3);
    int rc = gather(60);
    kill(started[0], SIGKILL);
    kill(started[1], SIGKILL);
    if (rc)
        fail_msg("%s", e.text);
}

/* More silent ones than there is room for, in front of an honest one: he need not wait until their time is over. */
TEST_CASE(a_full_house_makes_room)
{
    int held[AGENTS_GUESTS + 20];
    want(1);
    for (int i = 0; i < AGENTS_GUESTS + 20; i++)
        held[i] = knock(SOCK_NONBLOCK);
    start_honest(1);
    int rc = gather(AGENTS_PROOF_S - 1);
    for (int i = 0; i < AGENTS_GUESTS + 20; i++)
        close(held[i]);
    if (rc)
        fail_msg("%s", e.text);
}

/* A guest is given AGENTS_PROOF_S, and no more, while honest ones are still waited for. */
TEST_CASE(the_silent_are_sent_away)
{
    char byte;
    int status;
    want(1);
    pid_t guest = fork();
    if (!guest) {
        double began = progress_now_s();
        for (int i = 0; i < AGENTS_GUESTS + 50; i++)
            knock(SOCK_NONBLOCK);
        ssize_t n = read(visit(), &byte, 1);
        _exit(n != 0 || progress_now_s() - began > AGENTS_PROOF_S + 1);
    }
    assert_int_equal(gather(AGENTS_PROOF_S + 3), ERR_FAILED);
    assert_int_equal(waitpid(guest, &status, 0), guest);
    assert_int_equal(status, 0);
}

/* Somebody else listens where the agent goes, and answers with noise and an order: he gets its opening, and no more. */
TEST_CASE(an_agent_obeys_no_stranger)
{
    uint16_t port;
    char stack[WIRE_STACK], seen[4096], marker[] = "/tmp/test_agents_XXXXXX";
    struct secret ours;
    char hex[SECRET_HEX];
    int theirs = wire_listen(&port), fd = -1;
    close(mkstemp(marker));
    const char *argv[] = {"/bin/rm", marker, NULL};
    struct agents_order o = {.argv = argv};
    char *body = arena_alloc(arena, FRAME_BODY);
    size_t bytes = agents_start_body(&o, 0, body);
    wire_stack(stack);
    assert_int_equal(secret_make(&ours), 0);
    secret_hex(&ours, hex);
    start_agent(arena_printf(arena, "%s/127.0.0.1:%u", stack, port), arena_printf(arena, SECRET_VARIABLE "=%s", hex));
    for (int i = 0; i < 500 && fd < 0; i++) {
        fd = accept4(theirs, NULL, NULL, SOCK_CLOEXEC);
        usleep(10000);
    }
    assert_true(fd >= 0);
    struct proof_answer noise = {{1}, {2}};
    struct connection c;
    assert_int_equal(write(fd, &noise, sizeof noise), sizeof noise);
    assert_int_equal(connection_open(&c, dup(fd), dup(fd)), 0);
    connection_send(&c, AGENT_START, AGENT_ALL, body, bytes);
    size_t got = 0;
    for (ssize_t n; got < sizeof seen && (n = recv(fd, seen + got, sizeof seen - got, 0)) > 0;)
        got += (size_t)n;
    assert_true(got <= sizeof(struct proof_opening));
    assert_null(memmem(seen, got, ours.bytes, 8));
    assert_int_equal(access(marker, F_OK), 0);
    unlink(marker);
    connection_close(&c);
    close(fd);
    close(theirs);
}

/* ---- what came at once ---- */

static int count_and_stop(void *user, int agent, const struct frame *f)
{
    (void)agent;
    (void)f;
    ++*(int *)user;
    return 1;
}

/* An answer, and behind it the end of a process: whoever waits next hears of it, though nothing more comes. */
TEST_CASE(what_nobody_had_asked_for_yet_is_kept)
{
    int to[2], from[2], heard = 0, lost;
    assert_int_equal(pipe(to) | pipe(from), 0);
    agents_none(&set, 1);
    assert_int_equal(agents_add(&set, from[0], to[1], &e), 0);
    struct connection theirs = {0};
    assert_int_equal(connection_open(&theirs, to[0], from[1]), 0);
    connection_send(&theirs, AGENT_KILLED, AGENT_ALL, NULL, 0);
    connection_send(&theirs, AGENT_ENDED, 0, NULL, 0);
    for (int i = 1; i <= 2; i++) {
        double deadline_s = progress_now_s() + 1;
        assert_int_equal(agents_wait(&set, &deadline_s, NULL, count_and_stop, &heard, &lost), AGENTS_ENOUGH);
        assert_int_equal(heard, i);
    }
    connection_close(&theirs);
}

/* ---- beyond 1,024 ---- */

/* Plays `n` agents in one process: each proves itself and says its name. */
static void play_agents(int n, const char *places, const struct secret *s)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    (void)places;
    for (int i = 0; i < n; i++) {
        struct proof p;
        struct connection c;
        struct agent_node node = {0};
        int fd = visit();
        if (proof_begin(&p, s, 1) || proof_wait(&p, fd, 20000) || connection_open(&c, fd, fd))
            _exit(1);
        proof_seal(&p, &c);
        snprintf(node.host, sizeof node.host, "n%d", i);
        snprintf(node.release, sizeof node.release, "%s", wire_release);
        connection_send(&c, AGENT_NODE, AGENT_ALL, &node, sizeof node);
    }
    pause();
    _exit(0);
}

TEST_CASE(beyond_1024_agents)
{
    struct rlimit before, low;
    getrlimit(RLIMIT_NOFILE, &before);
    if (before.rlim_max < 2 * MANY + 400)
        skip_because("needs more open files: ulimit -Hn");
    low = before;
    low.rlim_cur = 1024;
    setrlimit(RLIMIT_NOFILE, &low);
    want(MANY);
    pid_t players = fork();
    if (!players)
        play_agents(MANY, "", &set.secret);
    started[nstarted++] = players;
    if (gather(60))
        fail_msg("%s", e.text);
    assert_int_equal(set.count, MANY);
    assert_true(set.items[MANY - 1].connection.from > 1024);
    assert_string_equal(set.items[MANY - 1].host, "n1099");
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE(too_low_a_hard_limit_is_said)
{
    pid_t pid = fork();
    if (!pid) {
        struct rlimit low = {400, 400};
        setrlimit(RLIMIT_NOFILE, &low);
        int rc = agents_begin(&set, 1000, &e);
        _exit(rc == ERR_LACKS && strstr(e.text, "1000 nodes need") && strstr(e.text, "ulimit -Hn") ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

TEST_GROUP(test_agents, begin, end, begin_doubles, end_doubles)
