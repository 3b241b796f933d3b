/* Whole jobs, simulated rank by rank, captured by the real profiler and judged by drift: which kinds of lateness each
 * mode of the capture finds, and that it accuses nobody else.
 *
 * A host enters a call, the GPU comes to it when its computation is done, and the kernel ends for all when the last
 * rank has come and the data has moved. So a late rank makes the others wait on their GPUs, while hosts wait only where
 * they have run ahead as far as they may. It judges figures: it does not run with sanitizers. */
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "advise/drift/drift.h"
#include "tests/lib/profiler_double.h"
#include "tests/lib/unit.h"

enum { NODES = 4, PER_NODE = 2, RANKS = NODES * PER_NODE, STEPS = 30, CALLS = 20 };
#define CALL_US    40000.0
#define COMPUTE_US 80000.0 /* between two calls */
#define HOST_US    20.0    /* to launch one */

enum kind { NOBODY, TENTH, THIRD, EVERY_20TH, FIRST_OF_STEP };
enum cause { LATE_HOST, SLOW_GPU };

struct scene {
    enum kind kind;
    enum cause cause;
    int ahead; /* calls that a host may be ahead of its GPU */
    int times; /* the capture has the GPUs' */
    unsigned seed;
};

/* ---- the machine that the profiler sees -------------------------------------------------------------------------- */

static double realtime_us, passed_us;
static int node;

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "n%d", node);
    return 0;
}

int adjtimex(struct timex *t)
{
    t->status = 0;
    t->esterror = 300;
    return TIME_OK;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    double us = clock == CLOCK_REALTIME ? realtime_us : passed_us;
    if (clock == CLOCK_REALTIME && us > 0)
        *t = (struct timespec){1700000000, 0};
    uint64_t ns = (uint64_t)t->tv_nsec + (uint64_t)(us * 1e3);
    t->tv_sec += (time_t)(ns / 1000000000);
    t->tv_nsec = (long)(ns % 1000000000);
    return rc;
}

/* ---- the simulation ---------------------------------------------------------------------------------------------- */

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state * UINT64_C(0x2545f4914f6cdd1d) >> 11) / 9007199254740992.0;
}

/* By how much the late ones are late to a call. */
static double lateness_us(enum kind kind, int call)
{
    switch (kind) {
    case TENTH:
        return 0.1 * CALL_US;
    case THIRD:
        return 0.3 * CALL_US;
    case EVERY_20TH:
        return call % 20 == 13 ? 10 * CALL_US : 0;
    case FIRST_OF_STEP:
        return call % CALLS == 0 ? 5 * CALL_US : 0;
    default:
        return 0;
    }
}

/* What happens in jobs in which nobody is late as a habit: jitter of hosts and GPUs, someone else each time, a rank
 * that compiles before the first call, one long pause. */
static double accident_us(const struct scene *s, int call, int rank)
{
    double us = 30 * uniform() + (uniform() < 0.01 ? 2000 * uniform() : 0) + 0.003 * COMPUTE_US * uniform();
    if (s->seed % 4 == 1 && !call && rank == 0)
        us += 30e6;
    if (s->seed % 4 == 2 && call == 300 && rank == (int)(s->seed % RANKS))
        us += 5e6;
    if (s->seed % 4 == 3 && (unsigned)(call * 7 + 3) % RANKS == (unsigned)rank)
        us += 0.2 * CALL_US;
    return us;
}

struct call {
    double entered_us[RANKS], arrived_us[RANKS], ended_us;
};

static void simulate(const struct scene *s, struct call *calls)
{
    double host_us[RANKS] = {0}, clock_us[NODES];
    int late = (int)(s->seed % NODES);
    state = 88172645463325252 + UINT64_C(7919) * s->seed;
    for (int i = 0; i < 50; i++)
        uniform();
    for (int i = 0; i < NODES; i++)
        clock_us[i] = 600 * uniform() - 300;
    for (int r = 0; r < RANKS; r++)
        host_us[r] = 1e6;
    for (int n = 0; n < STEPS * CALLS; n++) {
        struct call *c = &calls[n];
        double last_us = 0, before_us = n ? calls[n - 1].ended_us : 2e6;
        for (int r = 0; r < RANKS; r++) {
            int is_late = s->kind && r / PER_NODE == late;
            double delay_us = is_late ? lateness_us(s->kind, n) : 0, accident = accident_us(s, n, r);
            double free_us = n > s->ahead ? calls[n - s->ahead - 1].ended_us : 0;
            host_us[r] = (host_us[r] > free_us ? host_us[r] : free_us) + HOST_US;
            host_us[r] += s->cause == LATE_HOST ? delay_us + accident : 30 * uniform();
            double ready_us = before_us + COMPUTE_US * (s->ahead ? 1 : 0);
            ready_us += s->cause == SLOW_GPU ? delay_us + accident : 0;
            c->entered_us[r] = host_us[r] + clock_us[r / PER_NODE];
            c->arrived_us[r] = host_us[r] > ready_us ? host_us[r] : ready_us;
            last_us = c->arrived_us[r] > last_us ? c->arrived_us[r] : last_us;
        }
        c->ended_us = last_us + CALL_US * (1 + 0.03 * uniform());
    }
}

static void be_rank(const struct scene *s, const char *dir, const char *job, int rank)
{
    static struct call calls[STEPS * CALLS];
    char number[16];
    simulate(s, calls);
    node = rank / PER_NODE;
    snprintf(number, sizeof number, "%d", rank);
    setenv("NCCLTUNE_CAPTURE", dir, 1);
    setenv("NCCLTUNE_CAPTURE_TIMES", s->times ? "1" : "0", 1);
    setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
    setenv("SLURM_JOB_ID", job, 1);
    setenv("RANK", number, 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    unsetenv("NCCLTUNE");
    unsetenv("NCCLTUNE_OBSERVE");
    realtime_us = 1;
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm world = {.id = 7, .nodes = NODES, .ranks = RANKS, .rank = rank};
    if (profiled_open(&l, &world, NULL) || !world.context)
        _exit(1);
    for (int n = 0; n < STEPS * CALLS; n++) {
        struct profiled_task t = {"AllReduce", 16 << 20, 7, ALGO_RING, PROTO_SIMPLE, 2};
        t.ns = (uint64_t)((calls[n].ended_us - calls[n].arrived_us[rank]) * 1e3);
        realtime_us = calls[n].entered_us[rank];
        passed_us = calls[n].ended_us;
        profiled_launch(&world, &t, 1);
    }
    _exit(profiled_close(&world) != 0);
}

static void run_job(const struct scene *s, const char *dir, const char *job)
{
    pid_t ranks[RANKS];
    fflush(NULL);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = fork();
        if (!ranks[i]) {
            alarm(60);
            be_rank(s, dir, job, i);
        }
    }
    for (int i = 0, status; i < RANKS; i++)
        assert_true(waitpid(ranks[i], &status, 0) == ranks[i] && !status);
}

/* ---- what drift makes of it -------------------------------------------------------------------------------------- */

struct verdict {
    int found, wrong; /* jobs in which the late node was named; in which anybody else was */
};

static void judge_job(const struct drift_job *j, const struct scene *s, struct verdict *v)
{
    char host[8];
    int right = 0, wrong = 0;
    snprintf(host, sizeof host, "n%u", s->seed % NODES);
    for (size_t i = 0; i < j->nlate; i++) {
        int is_it = s->kind && !strcmp(j->late[i].host, host);
        right |= is_it;
        wrong |= !is_it;
        assert_true(j->late[i].by_hosts == !s->times);
    }
    v->found += right;
    v->wrong += wrong;
}

static struct verdict run_jobs(struct scene s, int count)
{
    char dir[64] = "/tmp/nccltune-lateness-XXXXXX", job[16], command[96];
    struct verdict v = {0, 0};
    struct err e = {0};
    struct arena *a = arena_new();
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < count; i++) {
        struct scene one = s;
        snprintf(job, sizeof job, "%d", i);
        one.seed = (unsigned)i;
        run_job(&one, dir, job);
    }
    const char *dirs[] = {dir};
    struct drift_fleet *f = drift_read(dirs, 1, a, &e);
    assert_true(f && f->njobs == (size_t)count);
    for (size_t i = 0; i < f->njobs; i++) {
        struct scene one = s;
        one.seed = (unsigned)strtoul(f->jobs[i]->seen.name, NULL, 10);
        assert_int_equal(f->jobs[i]->seen.nranks, RANKS);
        judge_job(f->jobs[i], &one, &v);
    }
    drift_free(f);
    arena_free(a);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    print_message("# kind %d, %s, %s: %d of %d found, %d wrong\n", s.kind,
                  s.cause == LATE_HOST ? "late host" : "slow GPU", s.times ? "times of GPUs" : "times of hosts",
                  v.found, count, v.wrong);
    return v;
}

/* With the GPUs' times all four kinds are found, whatever makes the node late. */
static void gpus_times_find_every_kind(void **unused)
{
    (void)unused;
    for (enum kind kind = TENTH; kind <= FIRST_OF_STEP; kind++) {
        struct verdict host = run_jobs((struct scene){kind, LATE_HOST, 0, 1, 0}, 8);
        struct verdict gpu = run_jobs((struct scene){kind, SLOW_GPU, 8, 1, 0}, 8);
        assert_true(host.found >= 7 && !host.wrong && gpu.found >= 7 && !gpu.wrong);
    }
}

/* With those of the hosts what is above the doubt of clocks is, where it is the host that is late. */
static void hosts_times_find_late_hosts(void **unused)
{
    (void)unused;
    for (enum kind kind = TENTH; kind <= FIRST_OF_STEP; kind++) {
        struct verdict host = run_jobs((struct scene){kind, LATE_HOST, 0, 0, 0}, 8);
        assert_true((kind == TENTH ? host.found == 0 : host.found >= 7) && !host.wrong);
        struct verdict gpu = run_jobs((struct scene){kind, SLOW_GPU, 8, 0, 0}, 4);
        assert_true(!gpu.found && !gpu.wrong);
    }
}

static void nobody_is_accused_of_accidents(void **unused)
{
    (void)unused;
    for (int times = 0; times <= 1; times++)
        for (int ahead = 0; ahead <= 8; ahead += 8) {
            struct verdict v = run_jobs((struct scene){NOBODY, ahead ? SLOW_GPU : LATE_HOST, ahead, times, 0}, 12);
            assert_int_equal(v.wrong, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_times_find_every_kind),
        cmocka_unit_test(hosts_times_find_late_hosts),
        cmocka_unit_test(nobody_is_accused_of_accidents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
