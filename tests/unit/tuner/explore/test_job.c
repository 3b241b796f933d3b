/* NCCLTUNE_ONLINE=tune over whole jobs: four ranks as processes of their own, the plugin as NCCL loads it, over TCP. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "bench/results/results.h"
#include "tests/unit/tuner/capture/captured.h"

#define RANKS    4
#define LEAD     40      /* calls that a rank is ahead of another at most */
#define KEPT     4096    /* calls whose choice is remembered */
#define SETTLED  300     /* calls with the best: it is found */
#define FEW      6000    /* calls of a job that is to find nothing */
#define MOST     4000000 /* as good as for ever: the limit is the alarm's */
#define THE_BEST ((ALGO_RING * PROTO_COUNT + PROTO_SIMPLE + 1) << 8)

struct job {
    const char *mode;  /* of NCCLTUNE_ONLINE */
    int off;           /* rank where NCCLTUNE=off; -1: none */
    int release;       /* of NCCL: 2.x */
    int simulates;     /* rank that asks what calls would take; -1 */
    unsigned most;     /* calls */
    const char *table; /* NULL: none */
};

struct shared {
    _Atomic uint32_t at[RANKS];
    _Atomic uint64_t used[KEPT]; /* the call and 1, and what it ran with */
    _Atomic uint32_t stop, tried, disagreed, told;
};
static struct shared *shared;

/* What a call takes: NCCL believes in Ring with LL, which is not the best. */
static uint64_t law_ns(int algo, int proto)
{
    static const uint64_t us[2][PROTO_COUNT] = {{1400, 1300, 1200}, {1000, 1100, 600}};
    return algo < 2 ? us[algo][proto] * 1000 : 5000000;
}

static void use_job(const struct job *j, int rank)
{
    char number[16], key[128];
    clear_environment();
    use_capture();
    snprintf(number, sizeof number, "%d", rank);
    snprintf(key, sizeof key, "%s/key", dir);
    setenv("NCCLTUNE_ONLINE", j->mode, 1);
    setenv("NCCLTUNE_ONLINE_REGRET", "10", 1);
    setenv("NCCLTUNE_ONLINE_KEY_FILE", key, 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", strrchr(dir, '-'), 1); /* a job of its own */
    setenv("WORLD_SIZE", "4", 1);
    setenv("LOCAL_WORLD_SIZE", "4", 1);
    setenv("RANK", number, 1);
    if (rank == j->off)
        setenv("NCCLTUNE", "off", 1);
    if (j->table) {
        snprintf(key, sizeof key, "%s/table", dir);
        setenv("NCCL_TUNER_CONFIG_FILE", key, 1);
    }
}

/* As far as launches run ahead of kernels. */
static void keep_pace(uint32_t call)
{
    for (;;) {
        uint32_t slowest = UINT32_MAX;
        for (int i = 0; i < RANKS; i++)
            slowest = shared->at[i] < slowest ? shared->at[i] : slowest;
        if (call <= slowest + LEAD)
            return;
        usleep(50);
    }
}

static void note(uint32_t call, uint32_t choice)
{
    _Atomic uint64_t *place = &shared->used[call % KEPT];
    uint64_t mine = (uint64_t)(call + 1) << 32 | choice, have = *place;
    while (have >> 32 < call + 1)
        if (atomic_compare_exchange_strong(place, &have, mine))
            have = mine;
    shared->disagreed += have != mine;
}

static uint32_t ask_for(const struct loader *l, struct profiled_comm *c, struct profiled_task *t)
{
    struct question q = question(COLL_ALLREDUCE, 1 << 20);
    for (int algo = ALGO_COLLNET_DIRECT; algo < ALGO_COUNT; algo++)
        for (int p = 0; p < PROTO_COUNT; p++)
            q.cost[algo][p] = -1;
    profiled_say(c, t);
    CHECK(!ask(l, &q));
    t->algo = q.algo;
    t->proto = q.proto;
    t->channels = q.channels ? q.channels : 4;
    t->ns = law_ns(q.algo, q.proto) * (uint64_t)(16 - q.channels % 16) / 16;
    return (uint32_t)(q.algo * PROTO_COUNT + q.proto + 1) << 8 | (uint32_t)q.channels;
}

static void make_calls(const struct job *j, const struct loader *l, struct profiled_comm *c)
{
    unsigned settled = 0;
    for (uint32_t call = 0; call < j->most && call < shared->stop; call++) {
        struct profiled_task task = {.func = "AllReduce", .count = 1 << 18, .dtype = 7};
        keep_pace(call);
        if (j->simulates == c->rank && call > 2000 && call % 5 == 0)
            ask_for(l, c, &task);
        uint32_t choice = ask_for(l, c, &task);
        note(call, choice);
        profiled_launch(c, &task, 1);
        shared->tried += task.algo != ALGO_RING || task.proto != PROTO_LL;
        settled = choice >> 8 == THE_BEST >> 8 ? settled + 1 : 0;
        if (!c->rank && settled == SETTLED)
            shared->stop = call + 3 * LEAD;
        shared->at[c->rank] = call;
    }
    shared->at[c->rank] = UINT32_MAX - LEAD;
}

static void be_rank(const struct job *j, int rank)
{
    use_job(j, rank);
    struct loader l = load(j->release);
    struct profiler_loader p = profiler_load(j->release >= 30 ? 6 : j->release >= 28 ? 5 : 4);
    struct profiled_comm c = {.id = 7, .nodes = 1, .ranks = RANKS, .rank = rank};
    CHECK(!init(&l, RANKS, 1, NULL, NULL) && !profiled_open(&p, &c, remember));
    make_calls(j, &l, &c);
    shared->told += strstr(logged.text, "NCCLTUNE_ONLINE=tune") != NULL;
    CHECK(!destroy(&l) && !profiled_close(&c));
    exit(0);
}

static int put_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    int rc = fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text);
    close(fd);
    return rc;
}

static void run_job(const struct job *j)
{
    pid_t ranks[RANKS];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    shared->stop = UINT32_MAX;
    if (j->table)
        put_file("table", j->table);
    fflush(NULL);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = fork();
        if (!ranks[i]) {
            alarm(100);
            be_rank(j, i);
        }
    }
    for (int i = 0, status; i < RANKS; i++) {
        assert_int_equal(waitpid(ranks[i], &status, 0), ranks[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(shared->disagreed, 0);
}

static int end_job(void **state)
{
    munmap(shared, sizeof *shared);
    return remove_dir(state);
}

static int make_key(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/nccltune-XXXXXX");
    return mkdtemp(dir) ? put_file("key", "0123456789abcdef0123456789abcdef") : -1;
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static const struct bench_result *learned(const struct bench_results *r, const char *call)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].call.label, call))
            return &r->items[i];
    return NULL;
}

static struct bench_results *journal(const struct job *j)
{
    char path[128];
    struct err e = {0};
    run_job(j);
    assert_true(shared->stop < UINT32_MAX);
    snprintf(path, sizeof path, "%s/42.learned.0.jsonl", dir);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    if (!r)
        fprintf(stderr, "%s\n", e.text);
    assert_non_null(r);
    for (int i = 0; i < r->count; i++)
        printf("# %s: %d times, %d beside\n", r->items[i].call.label, r->items[i].ntimes, r->items[i].nbeside);
    return r;
}

static void finds_the_best_and_leaves_a_journal(void **state)
{
    (void)state;
    struct bench_results *r = journal(&(struct job){"tune", -1, 30, -1, MOST});
    const struct bench_result *best = learned(r, "ring/simple"), *usual = learned(r, "default");
    assert_true(best && usual && best->ntimes >= 8 && best->nbeside == best->ntimes && usual->ntimes >= 8);
    assert_true(best->times_us[0] < 700 && usual->times_us[0] > 900 && best->beside_us[0] > 900);
    assert_string_equal(best->engine, "nccl");
    assert_string_equal(best->detail, "measured inside job 42 on 1 node");
    assert_true(best->bytes == 1 << 20 && best->coll == COLL_ALLREDUCE && best->ranks == RANKS);
    bench_results_free(r);
}

/* What the table has stands beside what NCCL would have done: the next job's may be told that something else is best.
 */
static void under_a_table_too(void **state)
{
    (void)state;
    struct bench_results *r =
        journal(&(struct job){"tune", -1, 30, -1, MOST, "# nccltune-tuner/1\nallreduce,0,-1,ring,ll128,-1,-1,-1\n"});
    const struct bench_result *best = learned(r, "ring/simple"), *row = learned(r, "ring/ll128"),
                              *usual = learned(r, "default");
    assert_true(best && row && usual);
    assert_true(best->ntimes >= 8 && row->ntimes >= 8 && usual->ntimes >= 5);
    assert_true(best->times_us[0] < 700 && row->times_us[0] > 1050 && usual->times_us[0] < 1050);
    assert_true(!best->nbeside && !row->nbeside && !usual->nbeside);
    bench_results_free(r);
}

/* One rank that is told otherwise is enough for all to be as they are without. */
static void all_or_none(void **state)
{
    (void)state;
    run_job(&(struct job){"tune", 2, 30, -1, FEW});
    assert_int_equal(shared->tried, 0);
}

static void off_unless_asked_for(void **state)
{
    (void)state;
    run_job(&(struct job){"observe", -1, 30, -1, FEW});
    assert_int_equal(shared->tried + shared->told, 0);
}

static void older_releases_say_so(void **state)
{
    (void)state;
    run_job(&(struct job){"tune", -1, 27, -1, 500});
    assert_int_equal(shared->tried, 0);
    assert_int_equal(shared->told, RANKS);
}

/* Asked by one rank alone: no number of a call changes, and nothing more is tried. */
static void what_is_simulated_ends_it(void **state)
{
    (void)state;
    run_job(&(struct job){"tune", -1, 28, 1, 20000});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_best_and_leaves_a_journal, make_key, end_job),
        cmocka_unit_test_setup_teardown(under_a_table_too, make_key, end_job),
        cmocka_unit_test_setup_teardown(all_or_none, make_key, end_job),
        cmocka_unit_test_setup_teardown(off_unless_asked_for, make_key, end_job),
        cmocka_unit_test_setup_teardown(older_releases_say_so, make_key, end_job),
        cmocka_unit_test_setup_teardown(what_is_simulated_ends_it, make_key, end_job),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
