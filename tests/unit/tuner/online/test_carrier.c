/* Jobs of real processes over loopback, each with the plugin's own thread: they agree while they launch, one is killed,
 * the coordinator is killed, one has another key, one another table, one never meets anybody. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/wire/tcp.h"
#include "tuner/online/carrier.h"

#define RANKS   5
#define CALLS   200000 /* at most */
#define LEAD    100    /* that a rank may be ahead of another, as launches are of kernels */
#define LIMIT_S 60     /* for all that a job does; nothing takes so long but a fault */

/* What the processes of a job share, in memory that they have in common. */
static struct shared {
    _Atomic uint64_t next[RANKS]; /* calls made; UINT64_MAX: out */
    _Atomic uint32_t plans[RANKS][CALLS];
    _Atomic int commits, refused, is_over;
} * shared;

enum { DONE, FAILED = 3, REFUSED = 4 };

/* ---- a rank's process -------------------------------------------------------------------------------------------- */

struct rank {
    pthread_mutex_t mutex;
    struct online_agent agent;
    struct online_member member;
    uint64_t margin;
    uint32_t plan;
};

static struct online_message hear(void *arg, const struct online_message *m)
{
    struct rank *r = arg;
    pthread_mutex_lock(&r->mutex);
    struct online_message answer = online_agent_hear(&r->agent, m);
    pthread_mutex_unlock(&r->mutex);
    return answer;
}

static void lose(void *arg)
{
    struct rank *r = arg;
    pthread_mutex_lock(&r->mutex);
    online_agent_lose(&r->agent);
    pthread_mutex_unlock(&r->mutex);
}

static int propose(void *arg, uint64_t furthest, uint64_t *from, uint32_t *plan)
{
    struct rank *r = arg;
    pthread_mutex_lock(&r->mutex);
    *from = (r->agent.next > furthest ? r->agent.next : furthest) + r->margin;
    pthread_mutex_unlock(&r->mutex);
    *plan = ++r->plan;
    return 1;
}

static void decided(void *arg, const struct online_message *said)
{
    struct rank *r = arg;
    r->margin = online_margin(r->margin, said->word == ONLINE_ABORT, r->margin / 2);
    atomic_fetch_add(&shared->commits, said->word == ONLINE_COMMIT);
}

static uint64_t slowest(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < RANKS; i++)
        least = atomic_load(&shared->next[i]) < least ? atomic_load(&shared->next[i]) : least;
    return least;
}

static int launch(struct rank *r, int rank)
{
    uint32_t plan = 0;
    pthread_mutex_lock(&r->mutex);
    uint64_t call = r->agent.next;
    enum online_turn turn = call > slowest() + LEAD ? ONLINE_WAIT : online_agent_call(&r->agent, &plan);
    pthread_mutex_unlock(&r->mutex);
    if (turn == ONLINE_GO && call < CALLS)
        atomic_store(&shared->plans[rank][call], plan + 1);
    if (turn == ONLINE_GO)
        atomic_store(&shared->next[rank], call + 1);
    return turn == ONLINE_FAIL ? FAILED : DONE;
}

static int run_rank(int rank)
{
    static struct rank r = {.mutex = PTHREAD_MUTEX_INITIALIZER, .margin = 8};
    char why[640];
    int rc = DONE, is_refused = 0;
    r.member = (struct online_member){0xabc, rank, RANKS, &r, hear, lose, rank ? NULL : propose, rank ? NULL : decided};
    if (online_join(&r.member, why, sizeof why))
        return 9;
    while (!atomic_load(&shared->is_over) && rc == DONE) {
        rc = launch(&r, rank);
        if (online_refusal() && !is_refused)
            atomic_fetch_add(&shared->refused, is_refused = 1);
        nanosleep(&(struct timespec){.tv_nsec = 100000 + rank * 10000}, NULL);
    }
    atomic_store(&shared->next[rank], UINT64_MAX);
    if (rc == DONE)
        online_leave(&r.member);
    return is_refused ? REFUSED : rc;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static pid_t pids[RANKS];
static char address[32];

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void start(int rank, const char *key, const char *table)
{
    char number[16];
    snprintf(number, sizeof number, "%d", rank);
    set("RANK", number);
    set("WORLD_SIZE", "5");
    set("NCCLTUNE_ONLINE", "tune");
    set("NCCLTUNE_ONLINE_ADDRESS", address);
    set("NCCLTUNE_KEY", key);
    fflush(stdout);
    pids[rank] = fork();
    if (pids[rank])
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (*table)
        online_table(table);
    exit(run_rank(rank));
}

static void prepare(void)
{
    uint16_t port = 0;
    close(wire_listen(&port));
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
}

static void start_all(void)
{
    prepare();
    for (int i = RANKS - 1; i >= 0; i--)
        start(i, "a key of many bytes", "");
}

static int until(int (*reached)(void))
{
    for (time_t end = time(NULL) + LIMIT_S; time(NULL) < end;) {
        if (reached())
            return 1;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return 0;
}

/* The end of all that are left; bits of those that ended with `code`. */
static int finish(int code)
{
    int bits = 0, status;
    atomic_store(&shared->is_over, 1);
    for (int i = 0; i < RANKS; i++)
        if (pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i])
            bits |= (WIFEXITED(status) && WEXITSTATUS(status) == code) << i;
    memset(pids, 0, sizeof pids);
    return bits;
}

static void kill_rank(int rank)
{
    kill(pids[rank], SIGKILL);
    waitpid(pids[rank], NULL, 0);
    pids[rank] = 0;
    atomic_store(&shared->next[rank], UINT64_MAX);
}

/* No call with two plans; how often the plan has changed. */
static int changes(void)
{
    uint32_t before = 1;
    int n = 0;
    for (int call = 0; call < CALLS; call++) {
        uint32_t plan = 0;
        for (int i = 0; i < RANKS; i++) {
            uint32_t had = atomic_load(&shared->plans[i][call]);
            if (had && plan)
                assert_int_equal(had, plan);
            plan = had ? had : plan;
        }
        n += plan && plan != before;
        before = plan ? plan : before;
    }
    munmap(shared, sizeof *shared);
    return n;
}

static int some_commits(void)
{
    return atomic_load(&shared->commits) >= 4;
}

static uint64_t goal;

static int has_gone_on(void)
{
    return slowest() >= goal;
}

static void ranks_agree_while_they_launch(void **state)
{
    (void)state;
    start_all();
    assert_true(until(some_commits));
    assert_int_equal(finish(DONE), 31);
    assert_true(changes() >= 3);
}

/* Whenever it happens, the others go on, and with one plan. */
static void a_rank_is_killed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        start_all();
        assert_true(until(some_commits));
        nanosleep(&(struct timespec){.tv_nsec = i * 700000}, NULL);
        kill_rank(1 + i % (RANKS - 1));
        goal = slowest() + 500;
        assert_true(until(has_gone_on));
        assert_int_equal(finish(DONE), 31 & ~(1 << (1 + i % (RANKS - 1))));
        assert_true(changes() >= 3);
    }
}

/* Those that had promised may fail; nobody waits for ever, and nobody has a plan of its own. */
static void the_coordinator_is_killed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        start_all();
        assert_true(until(some_commits));
        nanosleep(&(struct timespec){.tv_nsec = i * 900000}, NULL);
        kill_rank(0);
        goal = slowest() == UINT64_MAX ? 0 : slowest() + 500;
        assert_true(until(has_gone_on)); /* or all have failed, which is far, too */
        atomic_store(&shared->is_over, 1);
        int left = 0, status;
        for (int k = 1; k < RANKS; k++) {
            assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
            assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == DONE || WEXITSTATUS(status) == FAILED));
            left += WEXITSTATUS(status) == DONE;
            pids[k] = 0;
        }
        printf("# %d of %d ranks went on without the coordinator\n", left, RANKS - 1);
        assert_true(changes() >= 3);
    }
}

static void one_with_another_key_leaves_the_job_as_it_is(void **state)
{
    (void)state;
    prepare();
    for (int i = 0; i < RANKS; i++)
        start(i, i == 3 ? "another key of many bytes" : "a key of many bytes", "");
    goal = 1000;
    assert_true(until(has_gone_on));
    assert_int_equal(finish(DONE), 31);
    assert_int_equal(changes(), 0);
}

static int all_refused(void)
{
    return atomic_load(&shared->refused) == RANKS;
}

static void tables_that_differ_end_the_job_at_once(void **state)
{
    (void)state;
    prepare();
    for (int i = 0; i < RANKS; i++)
        start(i, "a key of many bytes", i == 2 ? "NCCLTUNE_HASH asks for another table" : "sha256 1234");
    assert_true(until(all_refused));
    assert_int_equal(finish(REFUSED), 31);
    changes();
}

/* A process that meets nobody launches as ever, and ends. */
static void alone_with_a_key(void **state)
{
    (void)state;
    prepare();
    for (int i = 0; i < RANKS; i++)
        atomic_store(&shared->next[i], i == 2 ? 0 : UINT64_MAX);
    start(2, "a key of many bytes", "");
    goal = 1000;
    assert_true(until(has_gone_on));
    assert_int_equal(finish(DONE), 4);
    assert_int_equal(changes(), 0);
}

static void off_unless_asked_for(void **state)
{
    (void)state;
    struct rank r = {.margin = 1};
    char why[640] = "x";
    r.member = (struct online_member){1, 0, 2, &r, hear, lose, propose, decided};
    set("NCCLTUNE_ONLINE", "tune");
    set("NCCLTUNE", "off");
    pid_t pid = fork();
    if (!pid)
        _exit(online_join(&r.member, why, sizeof why) == -1 && !*why && !online_refusal() ? 0 : 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_while_they_launch),
        cmocka_unit_test(a_rank_is_killed),
        cmocka_unit_test(the_coordinator_is_killed),
        cmocka_unit_test(one_with_another_key_leaves_the_job_as_it_is),
        cmocka_unit_test(tables_that_differ_end_the_job_at_once),
        cmocka_unit_test(alone_with_a_key),
        cmocka_unit_test(off_unless_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
