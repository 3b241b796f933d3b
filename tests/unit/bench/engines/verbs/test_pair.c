/* bench/engines/verbs/port.c, bench/engines/verbs/pair.c, bench/engines/verbs/measure.c on real verbs devices: those of
 * the VM tests' guest (tests/vm), with four HCAs rxe0 to rxe3 on rail0 to rail3. Two processes, one a side. Skipped
 * elsewhere. */
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/engines/verbs/verbs.h"
#include "core/progress.h"
#include "tests/lib/socket_swap.h"
#include "tests/lib/unit.h"

enum { HCAS = 4 };

/* One connection and what is measured over it; both processes hold the same. Index 0 is the lead's side. */
struct job {
    int hca[2];
    struct verbs_shot shots[4];
    int nshots, qps;
    enum verbs_gid_kind only; /* VERBS_GID_NO_KIND: the best that both have */
    const char *before;       /* a command that the lead runs when connected */
};

struct outcome {
    int code;
    char text[sizeof(((struct err *)0)->text)];
    double GBps[4], time_us[4];
};

static void need_guest(void)
{
    if (!getenv("NCCLTUNE_VM_NODE"))
        skip_because("runs in a virtual machine with RDMA devices: tests/vm");
}

static void shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

/* After every test: all interfaces as the guest's start left them. */
static int mend(void **state)
{
    if (!getenv("NCCLTUNE_VM_NODE"))
        return 0;
    return system("for r in 0 1 2 3; do tc qdisc del dev rail$r root 2>/dev/null; ip link set rail$r up; "
                  "echo 0 >/proc/sys/net/ipv6/conf/rail$r/disable_ipv6; "
                  "ip addr replace 10.78.0.$((r+1))/24 dev rail$r; "
                  "ip route replace table 10$r local 10.78.0.$((r+1)) dev rail$r; "
                  "ip route replace table 10$r 10.78.0.0/24 dev rail$r || exit 1; done");
}

/* Both sides read both ports' GIDs: here they are one machine. */
static int pick_gid(const struct job *j, const struct verbs_port *const ports[2], int lead)
{
    int index[2];
    for (enum verbs_gid_kind k = 0; k < VERBS_GID_KIND_COUNT; k++)
        if ((j->only == VERBS_GID_NO_KIND || j->only == k) &&
            verbs_gid_match(&ports[0]->gids, &ports[1]->gids, k, &index[0], &index[1]))
            return index[!lead];
    return -1;
}

/* This process's side of the job that is running. */
static struct verbs_pair side_pair;

static int run_job(const struct job *j, const struct verbs_channel *c, int lead, struct outcome *o, struct err *e)
{
    struct arena *a = arena_new();
    struct verbs_port *ports[2] = {0};
    int code = 0;
    for (int side = 0; side < 2 && !code; side++) {
        char hca[16];
        snprintf(hca, sizeof hca, "rxe%d", j->hca[side]);
        ports[side] = verbs_port_open(a, "node0", hca, 1, e);
        code = ports[side] ? 0 : e->code;
    }
    if (code)
        goto out;
    struct verbs_pair_setup setup = {.port = ports[!lead],
                                     .gid = pick_gid(j, (const struct verbs_port *const *)ports, lead),
                                     .qps = j->qps,
                                     .max_bytes = 1 << 20};
    code = verbs_pair_connect(&side_pair, &setup, c, e);
    if (!code && lead && j->before && system(j->before))
        code = err_set(e, ERR_FAILED, "%s failed", j->before);
    for (int i = 0; i < j->nshots && !code; i++) {
        struct verbs_figures f;
        code = verbs_measure(&side_pair, &j->shots[i], lead, &f, e);
        if (!code) {
            o->GBps[i] = f.GBps;
            o->time_us[i] = f.time_us.median;
        }
    }
out:
    verbs_pair_close(&side_pair);
    for (int side = 0; side < 2; side++)
        verbs_port_close(ports[side]);
    arena_free(a);
    return code;
}

static void run_side(const struct job *jobs, int n, int fd, int lead, struct outcome *outcomes)
{
    for (int i = 0; i < n; i++) {
        struct err e = {0};
        char me[16], peer[16];
        snprintf(me, sizeof me, "rxe%d:1", jobs[i].hca[!lead]);
        snprintf(peer, sizeof peer, "rxe%d:1", jobs[i].hca[lead]);
        struct verbs_channel c = {socket_swap, &fd, me, peer};
        outcomes[i].code = run_job(&jobs[i], &c, lead, &outcomes[i], &e);
        memcpy(outcomes[i].text, e.text, sizeof e.text);
    }
}

/* Runs the jobs with a child as the other side; both sides must have come to the same verdicts. */
static void run_jobs(const struct job *jobs, int n, struct outcome *outcomes)
{
    int fds[2], status;
    struct outcome *theirs = calloc((size_t)n, sizeof *theirs);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    memset(outcomes, 0, (size_t)n * sizeof *outcomes);
    if (!child) {
        close(fds[0]);
        run_side(jobs, n, fds[1], 0, outcomes);
        ssize_t wrote = write(fds[1], outcomes, (size_t)n * sizeof *outcomes);
        _exit(wrote == (ssize_t)((size_t)n * sizeof *outcomes) ? 0 : 1);
    }
    close(fds[1]);
    run_side(jobs, n, fds[0], 1, outcomes);
    assert_int_equal(recv(fds[0], theirs, (size_t)n * sizeof *theirs, MSG_WAITALL),
                     (ssize_t)((size_t)n * sizeof *theirs));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fds[0]);
    for (int i = 0; i < n; i++) {
        assert_int_equal(outcomes[i].code, theirs[i].code);
        assert_string_equal(outcomes[i].text, theirs[i].text);
    }
    free(theirs);
}

static int all_pairs(struct job jobs[HCAS * HCAS], const struct job *like)
{
    int n = 0;
    for (int a = 0; a < HCAS; a++)
        for (int b = 0; b < HCAS; b++)
            if (a != b) {
                jobs[n] = *like;
                jobs[n].hca[0] = a;
                jobs[n++].hca[1] = b;
            }
    return n;
}

static const struct verbs_shot write_64k = {VERBS_WRITE, 65536, 5, 0.05};

TEST_CASE(every_pair)
{
    need_guest();
    struct job jobs[HCAS * HCAS];
    struct outcome o[HCAS * HCAS];
    const struct job like = {
        .qps = 2,
        .only = VERBS_GID_NO_KIND,
        .shots = {write_64k, {VERBS_BOTH, 65536, 3, 0.05}, {VERBS_PING, 8, 3, 0.05}, {VERBS_WRITE, 8, 3, 0.05}},
        .nshots = 4};
    int n = all_pairs(jobs, &like);
    double began_s = progress_now_s();
    run_jobs(jobs, n, o);
    print_message("# twelve ordered pairs in %.1f s\n", progress_now_s() - began_s);
    for (int i = 0; i < n; i++) {
        print_message("# rxe%d > rxe%d: %.1f MB/s, both ways %.1f MB/s, write latency %.0f us, %.0f messages/s%s\n",
                      jobs[i].hca[0], jobs[i].hca[1], o[i].GBps[0] * 1e3, o[i].GBps[1] * 1e3, o[i].time_us[2],
                      1e6 / o[i].time_us[3], o[i].text);
        assert_int_equal(o[i].code, 0);
        for (int k = 0; k < 4; k++)
            assert_true(o[i].time_us[k] > 0);
        /* A message of 64 KiB takes longer than one of 8 bytes, and the rate of those is above that of pings. */
        assert_true(o[i].time_us[0] > o[i].time_us[3]);
        assert_true(o[i].time_us[2] > o[i].time_us[3]);
    }
}

static struct outcome run_one(struct job j)
{
    struct outcome o;
    run_jobs(&j, 1, &o);
    print_message("# %s\n", o.text);
    return o;
}

static const struct job rxe0_to_rxe2 = {
    .hca = {0, 2}, .qps = 1, .only = VERBS_GID_NO_KIND, .shots = {{VERBS_WRITE, 4096, 2, 0.01}}, .nshots = 1};

/* A port that is down is named by either side, and works again afterwards. */
TEST_CASE(a_link_that_is_down)
{
    need_guest();
    shell("ip link set rail2 down");
    struct outcome o = run_one(rxe0_to_rxe2);
    assert_int_equal(o.code, ERR_FAILED);
    assert_string_equal(o.text, "rxe2:1: opening the port failed: its link is down");
    mend(state);
    assert_int_equal(run_one(rxe0_to_rxe2).code, 0);
}

/* Everything is connected, then nothing arrives any more. */
TEST_CASE(a_link_that_goes_dark)
{
    need_guest();
    struct job j = rxe0_to_rxe2;
    j.before = "tc qdisc add dev rail0 root netem loss 100%";
    struct outcome o = run_one(j);
    assert_int_equal(o.code, ERR_FAILED);
    assert_non_null(strstr(o.text, "rxe0:1: transport retry counter exceeded (completion status 12"));
    assert_non_null(strstr(o.text, "the other end does not acknowledge"));
}

/* Without an address a port has its link-local GID only; with IPv6 off nobody can be reached through it. */
TEST_CASE(a_port_without_a_usable_gid)
{
    need_guest();
    shell("ip addr flush dev rail2; echo 1 >/proc/sys/net/ipv6/conf/rail2/disable_ipv6");
    struct outcome o = run_one(rxe0_to_rxe2);
    assert_int_equal(o.code, ERR_FAILED);
    assert_non_null(strstr(o.text, "connecting (RTR) failed"));
}

/* The follower's memory is changed behind the device's back, once the sample has arrived. */
static struct verbs_pair *victim;
static int tampering_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    int error = socket_swap(user, mine, theirs, bytes, deadline_s);
    const struct verbs_report *report = mine;
    if (victim && victim->target && bytes == sizeof *report && report->time_us > 0)
        victim->target[100] ^= 1;
    return error;
}

TEST_CASE(wrong_data_are_noticed)
{
    need_guest();
    int fds[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    struct err e = {0};
    struct outcome o;
    if (!child) {
        struct verbs_channel c = {tampering_swap, &fds[1], "rxe2:1", "rxe0:1"};
        victim = &side_pair;
        _exit(run_job(&rxe0_to_rxe2, &c, 0, &o, &e) == ERR_FAILED ? 0 : 1);
    }
    struct verbs_channel c = {socket_swap, &fds[0], "rxe0:1", "rxe2:1"};
    assert_int_equal(run_job(&rxe0_to_rxe2, &c, 1, &o, &e), ERR_FAILED);
    print_message("# %s\n", e.text);
    assert_non_null(strstr(e.text, "rxe2:1: verifying the payload failed: byte 96 or one of the 7 behind it, of 4096"));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fds[0]);
    close(fds[1]);
}

TEST_CASES_EACH(test_pair, NULL, mend)
