/* NCCLTUNE_OBSERVE=1 over whole jobs: four ranks as processes of their own, in a directory with earlier jobs. */
#include <fcntl.h>

#include "tests/unit/tuner/capture/captured.h"

#define RANKS    4
#define LAUNCHES 600

/* What a rank is like; all of a job leave what they say in one file. */
struct job {
    const char *number;
    double slower;   /* its AllReduce of 64 MiB */
    int late;        /* rank that comes 3 ms late to it; -1: none */
    int late_node;   /* its ranks do; -1: none */
    int leaves_last; /* rank that ends behind the others, by half a second; -1: as they were started */
    int killed;      /* rank that does not end as programs do; -1: none */
    int close;       /* communicators are closed before the end */
};
static const struct job quiet = {"41", 1, -1, -1, -1, -1, 1};

static void use_observe(const struct job *j, int rank)
{
    char number[16];
    use_timed_capture();
    unsetenv("NCCLTUNE_PROFILE");
    setenv("NCCLTUNE_OBSERVE", "1", 1);
    setenv("SLURM_JOB_ID", j->number, 1);
    setenv("WORLD_SIZE", "4", 1);
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    snprintf(number, sizeof number, "%d", rank);
    setenv("RANK", number, 1);
}

static void be_rank(const struct job *j, int rank)
{
    char said[128];
    snprintf(said, sizeof said, "%s/said.%s", dir, j->number);
    int fd = open(said, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0 && dup2(fd, 2) == 2);
    use_observe(j, rank);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm world = {.id = strtoull(j->number, NULL, 10), .nodes = 2, .ranks = RANKS, .rank = rank},
                         node = {.id = 1000 + (uint64_t)rank / 2, .nodes = 1, .ranks = 2, .rank = rank % 2};
    CHECK(!profiled_open(&l, &world, NULL) && !profiled_open(&l, &node, NULL) && world.context && node.context);
    int is_late = rank == j->late || rank / 2 == j->late_node;
    uint64_t late = j->late >= 0 || j->late_node >= 0 ? 3000000 : 0;
    struct profiled_task gradients = {"AllReduce",  16 << 20, 7, ALGO_RING,
                                      PROTO_SIMPLE, 4,        0, (uint64_t)(4e6 * j->slower) + (is_late ? 0 : late)},
                         weights = {"AllGather", 1 << 16, 9, ALGO_RING, PROTO_LL128, 4, 0, 60000},
                         root = {"Reduce", 1 << 20, 7, ALGO_TREE, PROTO_LL, 4, 0, rank ? 9000 : 90000};
    launch(&world, gradients, LAUNCHES);
    launch(&world, root, LAUNCHES);
    launch(&node, weights, LAUNCHES);
    if (j->killed == rank)
        _exit(0);
    if (j->leaves_last == rank)
        usleep(500000);
    if (j->close)
        CHECK(!profiled_close(&node) && !profiled_close(&world));
    exit(0);
}

/* What the job said; its text is the caller's. */
static char *run_job(const struct job *j)
{
    static char said[8192];
    char path[128];
    pid_t ranks[RANKS];
    fflush(NULL);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = fork();
        if (!ranks[i]) {
            alarm(60);
            be_rank(j, i);
        }
    }
    for (int i = 0, status; i < RANKS; i++)
        CHECK(waitpid(ranks[i], &status, 0) == ranks[i] && !status);
    snprintf(path, sizeof path, "%s/said.%s", dir, j->number);
    FILE *f = fopen(path, "r");
    CHECK(f);
    said[fread(said, 1, sizeof said - 1, f)] = 0;
    CHECK(!fclose(f));
    return said;
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static struct workload *record_of(const char *job)
{
    struct err e = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/%s.observed.json", dir, job);
    return workload_load(path, &e);
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

/* Also where communicators stay open to the end, as many programs leave them. */
static void says_nothing_of_a_quiet_job(int closes)
{
    struct job first = quiet, second = quiet;
    first.close = second.close = closes;
    second.number = "42";
    CHECK(!lines(run_job(&first)) && !lines(run_job(&second)));
    struct workload *w = record_of("42");
    CHECK(w && w->ranks == 4 && w->ranks_per_node == 2 && w->phases[0].ncalls == 3);
    const struct workload_call *gradients = find(w, COLL_ALLREDUCE, 64 * MIB);
    CHECK(gradients && gradients->count == LAUNCHES && is_about(gradients->time_us, 4000) &&
          gradients->algo == ALGO_RING && gradients->group_size == 4);
    workload_free(w);
}

static void names_the_rank_that_comes_last(int unused)
{
    (void)unused;
    struct job j = quiet;
    char host[65] = "", expected[256];
    j.late = 2;
    CHECK(!gethostname(host, sizeof host - 1));
    const char *said = run_job(&j);
    snprintf(expected, sizeof expected,
             "nccltune: job 41: rank 2 on %.60s comes last: the others waited 1800.0 ms, 42 %% of", host);
    CHECK(lines(said) == 1 && strstr(said, expected));
}

/* Last week's 64 MiB took half as long, and so did those of the week before. */
static void names_the_call_that_is_slower(int unused)
{
    (void)unused;
    struct job last_but_one = quiet, last = quiet, now = quiet;
    last_but_one.number = "9", last.number = "10", now.number = "11";
    last.slower = 1.02, now.slower = 2.1;
    CHECK(!lines(run_job(&last_but_one)) && !lines(run_job(&last)));
    const char *said = run_job(&now);
    CHECK(lines(said) == 1 &&
          strstr(said, "job 11: allreduce of 64 MiB among 4 ranks takes 2.1 times as long as in job 9: 8400 us instead "
                       "of 4000 us, by ring/simple both times"));
}

static void waits_for_ranks_that_end_later(int unused)
{
    (void)unused;
    struct job j = quiet;
    j.late = 2, j.leaves_last = 2;
    CHECK(strstr(run_job(&j), "rank 2 on"));
}

/* A rank that was killed has left nothing; the job's end is no later than it may be, and the others are judged. */
static void does_without_a_rank_that_was_killed(int unused)
{
    (void)unused;
    struct job j = quiet;
    j.late = 2, j.killed = 3;
    CHECK(strstr(run_job(&j), "rank 2 on"));
}

/* ---- when nothing is --------------------------------------------------------------------------------------------- */

static void off_beats_all(int unused)
{
    (void)unused;
    use_observe(&quiet, 0);
    setenv("NCCLTUNE", "off", 1);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm c = world(1);
    CHECK(!profiled_open(&l, &c, remember) && !c.context && !l.mask && !entries() && !logged.text[0]);
}

static void says_what_it_cannot_do(int which)
{
    static const struct {
        const char *observe, *capture, *words;
        int is_captured;
    } cases[] = {
        {"guess", NULL, "NCCLTUNE_OBSERVE=guess: expected 1 or 0", 1},
        {"1", "", "NCCLTUNE_OBSERVE=1 needs NCCLTUNE_CAPTURE=DIR", 0},
        {"1", "here", "not an absolute path", 0},
    };
    use_observe(&quiet, 0);
    setenv("NCCLTUNE_OBSERVE", cases[which].observe, 1);
    if (cases[which].capture)
        setenv("NCCLTUNE_CAPTURE", cases[which].capture, 1);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm c = world(1);
    CHECK(!profiled_open(&l, &c, remember) && !!c.context == cases[which].is_captured);
    CHECK(logged.warnings == 1 && strstr(logged.text, cases[which].words));
}

TEST(says_nothing_of_a_quiet_job, 0, 1)
TEST(names_the_rank_that_comes_last, 1, 1)
TEST(names_the_call_that_is_slower, 1, 1)
TEST(waits_for_ranks_that_end_later, 1, 1)
TEST(does_without_a_rank_that_was_killed, 1, 1)
TEST(off_beats_all, 1, 1)
TEST(says_what_it_cannot_do, 0, 2)

int test_observe(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(says_nothing_of_a_quiet_job),
        CAPTURE_TEST(names_the_rank_that_comes_last),
        CAPTURE_TEST(names_the_call_that_is_slower),
        CAPTURE_TEST(waits_for_ranks_that_end_later),
        CAPTURE_TEST(does_without_a_rank_that_was_killed),
        CAPTURE_TEST(off_beats_all),
        CAPTURE_TEST(says_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
