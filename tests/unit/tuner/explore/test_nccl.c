/* NCCLTUNE_ONLINE=tune under the double of NCCL, with what NCCL does around its tuner: groups whose calls are merged,
 * split communicators, buffers that one rank alone has registered, predictions that one rank alone asks for, graphs,
 * and algorithms that are connected by their first call. Ranks that disagree hang there. */
#include "bench/results/results.h"
#include "tests/doubles/nccl_comm.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/unit/tuner/explore/job.h"
#include "tuner/explore/explore.h"

#define FLOATS     (MIB / 4)
#define DEAR       3000 /* steps whose tenth pays for a connection */
#define BEST_CHUNK 131072
#define USUAL      (ALGO_RING * PROTO_COUNT + PROTO_LL)
#define FLOAT      7 /* ncclFloat32 */
#define BEST_ONE   (ALGO_RING * PROTO_COUNT + PROTO_SIMPLE)
#define BEST_TWO   (ALGO_TREE * PROTO_COUNT + PROTO_SIMPLE)

/* A MiB takes half a millisecond more than nothing. Tree with Simple is best among two, Ring with Simple among four,
 * with a quarter of NCCL's chunk. NCCL believes in Ring with LL, and of three MiB in Tree with LL. */
static const char law[] =
    "channels 8\n"
    "launch 1\n"
    "cell allreduce tree ll latency=1150 GBps=100000 predict=0.5\n"
    "cell allreduce tree simple latency=700 GBps=2.097\n"
    "cell allreduce ring ll latency=500 GBps=2.097 predict=0.5\n"
    "cell allreduce ring simple latency=100 GBps=2.097 predict=2 chunk_best=131072 chunk_loss=0.1\n"
    "cell allreduce tree simple latency=100 GBps=2.097 predict=2 nodes=1 ranks=2\n"
    "cell allreduce ring simple latency=700 GBps=2.097 nodes=1 ranks=2\n";

/* Tree promises much, and connecting takes 0.3 s. */
static const char dear[] = "channels 8\n"
                           "launch 1\n"
                           "connect 0.3\n"
                           "cell allreduce tree simple latency=200 GBps=2.097\n"
                           "cell allreduce ring ll latency=500 GBps=2.097 predict=0.5\n"
                           "cell allreduce ring simple latency=100 GBps=2.097 predict=2\n";

enum { ALL, PAIR, ODD_PAIR, COPY };

/* ---- the doubles ------------------------------------------------------------------------------------------------- */

static struct {
    int (*init)(unsigned), (*retain)(void **, int), (*current)(void *), (*alloc)(unsigned long long *, size_t),
        (*stream)(void **, unsigned), (*begin)(void *, int), (*end)(void *, void **),
        (*instantiate)(void **, void *, unsigned long long), (*replay)(void *, void *), (*forget)(void *),
        (*drop)(void *);
} cu;

struct id {
    char bytes[128];
};

static struct {
    int (*id)(struct id *), (*open)(struct ncclComm **, int, struct id, int),
        (*split)(struct ncclComm *, int, int, struct ncclComm **, void *), (*close)(struct ncclComm *),
        (*reduce)(const void *, void *, size_t, int, int, struct ncclComm *, void *),
        (*enroll)(struct ncclComm *, void *, size_t, void **), (*group)(void), (*end)(void), (*simulate)(void *);
} nccl;

static void find_all(void *library, const char *const *names, void *to)
{
    for (size_t i = 0; names[i]; i++) {
        void *function = dlsym(library, names[i]);
        CHECK(function);
        memcpy((char *)to + i * sizeof function, &function, sizeof function);
    }
}

static void load_doubles(void)
{
    static const char *const drivers[] = {
        "cuInit",         "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",    "cuMemAlloc_v2",
        "cuStreamCreate", "cuStreamBeginCapture_v2",  "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",  "cuGraphExecDestroy",       "cuGraphDestroy",     NULL};
    static const char *const calls[] = {
        "ncclGetUniqueId",  "ncclCommInitRank", "ncclCommSplit", "ncclCommDestroy",      "ncclAllReduce",
        "ncclCommRegister", "ncclGroupStart",   "ncclGroupEnd",  "ncclGroupSimulateEnd", NULL};
    char path[512];
    snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("LD_LIBRARY_PATH"));
    find_all(dlopen(path, RTLD_NOW | RTLD_GLOBAL), drivers, &cu);
    snprintf(path, sizeof path, "%s/libnccl.so.2", getenv("LD_LIBRARY_PATH"));
    find_all(dlopen(path, RTLD_NOW | RTLD_LOCAL), calls, &nccl);
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

struct rank {
    int number;
    struct ncclComm *comms[COMMS]; /* ALL, PAIR or ODD_PAIR, COPY */
    void *stream, *graph;
    char *memory;
    uint32_t calls[COMMS];
    unsigned settled[COMMS];
};

static struct ncclComm *open_all(int rank)
{
    struct ncclComm *c = NULL;
    struct id id;
    if (!rank) {
        CHECK(!nccl.id(&id));
        memcpy(shared->id, &id, sizeof id);
        shared->has_id = 1;
    }
    while (!shared->has_id)
        usleep(100);
    memcpy(&id, shared->id, sizeof id);
    CHECK(!nccl.open(&c, RANKS, id, rank));
    return c;
}

static void open_rank(struct rank *r, int number)
{
    void *context = NULL;
    unsigned long long memory = 0;
    *r = (struct rank){.number = number};
    use_job("tune", number);
    setenv("NCCL_TUNER_PLUGIN", getenv("NCCLTUNE_PLUGIN_SO"), 1);
    setenv("NCCL_PROFILER_PLUGIN", getenv("NCCLTUNE_PLUGIN_SO"), 1);
    load_doubles();
    CHECK(!cu.init(0) && !cu.retain(&context, number) && !cu.current(context));
    CHECK(!cu.alloc(&memory, 16 * MIB) && !cu.stream(&r->stream, 1));
    r->memory = (char *)(uintptr_t)memory; // NOLINT(performance-no-int-to-ptr)
    r->comms[ALL] = open_all(number);
}

static void close_rank(struct rank *r)
{
    CHECK(!r->graph || !cu.forget(r->graph));
    for (int i = 0; i < COMMS; i++)
        CHECK(!r->comms[i] || !nccl.close(r->comms[i]));
}

static void launch_one(struct rank *r, int comm, int place)
{
    char *at = r->memory + (size_t)place * 2 * MIB;
    CHECK(!nccl.reduce(at, at + MIB, FLOATS, FLOAT, 0, r->comms[comm], r->stream));
}

/* What it ran with, as the others see it. */
static uint32_t ran_with(struct rank *r, int comm)
{
    const struct header *h = &r->comms[comm]->last;
    uint32_t cell = (uint32_t)(h->algo * PROTO_COUNT + h->proto);
    note(comm, r->calls[comm]++, (uint32_t)h->chunk << 8 | cell << 4 | (uint32_t)h->channels);
    return cell;
}

static void have(int comm)
{
    atomic_fetch_or(&shared->found, 1U << comm);
}

static uint32_t call(struct rank *r, int comm, uint32_t best)
{
    launch_one(r, comm, 0);
    uint32_t cell = ran_with(r, comm);
    int is_best = cell == best && (comm != ALL || r->comms[comm]->last.chunk == BEST_CHUNK);
    r->settled[comm] = is_best ? r->settled[comm] + 1 : 0;
    if (r->settled[comm] == SETTLED)
        have(comm);
    return cell;
}

/* Three of a MiB are one question of three. */
static void call_group(struct rank *r)
{
    nccl.group();
    for (int i = 0; i < 3; i++)
        launch_one(r, ALL, i);
    CHECK(!nccl.end());
    ran_with(r, ALL);
}

/* In the middle of a trial, which would be over too early on this rank. */
static void simulate(struct rank *r)
{
    have(ODD_PAIR);
    nccl.group();
    launch_one(r, ODD_PAIR, 0);
    CHECK(!nccl.simulate(NULL));
}

/* In the middle of the first trial: a graph would have it for ever. */
static void capture(struct rank *r)
{
    void *captured = NULL;
    have(COPY);
    CHECK(!cu.begin(r->stream, 0));
    launch_one(r, COPY, 0);
    CHECK(!cu.end(r->stream, &captured) && !cu.instantiate(&r->graph, captured, 0));
    CHECK(!cu.drop(captured));
}

static void step(struct rank *r, uint32_t n)
{
    call(r, ALL, BEST_ONE);
    if (n % 4 == 0)
        call_group(r);
    uint32_t cell = call(r, r->number < 2 ? ODD_PAIR : PAIR, BEST_TWO);
    if (r->number == 1 && cell != USUAL)
        simulate(r);
    if (call(r, COPY, BEST_ONE) != USUAL && !r->graph)
        capture(r);
    if (n % 16 == 0 && r->graph) {
        CHECK(!cu.replay(r->graph, r->stream));
        shared->told += ran_with(r, COPY) != USUAL;
    }
}

/* The first two ranks are a pair of which one asks for predictions, the others one that goes on; what all of them copy
 * is captured into a graph; the second rank has registered its buffers. */
static void be_rank(const void *job, int number)
{
    struct rank r;
    void *handle;
    (void)job;
    open_rank(&r, number);
    CHECK(!nccl.split(r.comms[ALL], number / 2, number, &r.comms[number < 2 ? ODD_PAIR : PAIR], NULL));
    CHECK(!nccl.split(r.comms[ALL], 0, number, &r.comms[COPY], NULL));
    CHECK(number != 1 || !nccl.enroll(r.comms[ALL], r.memory, 16 * MIB, &handle));
    for (uint32_t n = 0; n < shared->stop; n++) {
        keep_pace(n);
        step(&r, n);
        if (!number && shared->found == (1U << COMMS) - 1 && shared->stop == UINT32_MAX)
            shared->stop = n + 3 * LEAD;
        shared->at[number] = n;
    }
    shared->at[number] = UINT32_MAX - LEAD;
    close_rank(&r);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static const struct bench_result *learned(const struct bench_results *r, const char *call, int ranks)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->items[i].call.label, call) && r->items[i].ranks == ranks && r->items[i].bytes == MIB)
            return &r->items[i];
    return NULL;
}

static int are_all(const double *us, int n, double expected)
{
    for (int i = 0; i < n; i++)
        if (fabs(us[i] / expected - 1) > 0.01)
            return 0;
    return n > 0;
}

static struct bench_results *journal(int rank)
{
    char path[128];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/42.learned.%d.jsonl", dir, rank);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    if (!r)
        fprintf(stderr, "%s\n", e.text);
    assert_non_null(r);
    return r;
}

static void each_communicator_finds_its_best(void **state)
{
    (void)state;
    assert_int_equal(doubles_begin(law, "4"), 0);
    run_ranks(be_rank, NULL);
    assert_int_equal(shared->told, 0);
    struct bench_results *all = journal(0), *pair = journal(2);
    const struct bench_result *one = learned(all, "ring/simple", 4), *two = learned(pair, "tree/simple", 2);
    const struct bench_result *cut = learned(all, "ring/simple/8ch/128K", 4);
    assert_true(one && two && cut);
    assert_true(are_all(cut->times_us, cut->ntimes, 600));
    /* no time of a call that was merged with others, and was one of another size to the tuner */
    assert_true(are_all(one->times_us, one->ntimes, 720) && are_all(one->beside_us, one->nbeside, 1000));
    assert_true(are_all(two->times_us, two->ntimes, 600) && are_all(two->beside_us, two->nbeside, 1000));
    bench_results_free(all);
    bench_results_free(pair);
}

static void be_short(const void *job, int number)
{
    struct rank r;
    (void)job;
    open_rank(&r, number);
    for (uint32_t n = 0; n < shared->stop; n++) {
        keep_pace(n);
        launch_one(&r, ALL, 0);
        int is_tree = ran_with(&r, ALL) / PROTO_COUNT == ALGO_TREE;
        if (!number && is_tree && shared->stop == UINT32_MAX)
            shared->stop = (shared->told = n) + 3 * LEAD;
        usleep(100); /* so that rounds come between */
        shared->at[number] = n;
    }
    shared->at[number] = UINT32_MAX - LEAD;
    close_rank(&r);
}

/* What the communicator's first call took says what another algorithm would: when that is a tenth of the time of calls,
 * of which those by default take 1 ms. */
static void a_short_job_connects_nothing(void **state)
{
    (void)state;
    assert_int_equal(doubles_begin(dear, "4"), 0);
    run_ranks(be_short, NULL);
    assert_true(shared->told >= DEAR);
}

static void be_contrary(const void *job, int number)
{
    struct rank r;
    (void)job;
    open_rank(&r, number);
    setenv("NCCL_ALGO", number ? "tree" : "ring", 1);
    shared->at[number] = 1;
    alarm(2);
    launch_one(&r, ALL, 0);
    exit(0);
}

static void ranks_that_disagree_hang(void **state)
{
    (void)state;
    pid_t ranks[RANKS];
    assert_int_equal(doubles_begin(law, "4"), 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    for (int i = 0; i < RANKS; i++)
        if (!(ranks[i] = fork()))
            be_contrary(NULL, i);
    for (int i = 0, status; i < RANKS; i++) {
        assert_int_equal(waitpid(ranks[i], &status, 0), ranks[i]);
        assert_true(shared->at[i] && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    }
}

static void meet(int unused)
{
    (void)unused;
    char why[512];
    const struct explore_shape one = {.comm = 1, .ranks = 2, .nodes = 1}, two = {.comm = 2, .ranks = 2, .nodes = 1};
    setenv("NCCLTUNE_ONLINE", "tune", 1);
    struct explore_member *a = explore_open(&one, why, sizeof why), *b = explore_open(&two, why, sizeof why);
    CHECK(a && b && a != b);
    CHECK(explore_introduce(2, 0, 2, why, sizeof why) == b && explore_introduce(1, 0, 2, why, sizeof why) == a);
    CHECK(!explore_introduce(1, 1, 2, why, sizeof why)); /* two ranks of one in a process */
    CHECK(strstr(why, "several ranks"));
    for (int i = 0; i < 2; i++) {
        explore_close(a);
        explore_close(b);
    }
}

/* Whichever side of whichever communicator comes first. In a process of its own: exploring starts a thread, and what is
 * forked beside that can inherit a lock that nobody opens (the sanitizers' allocator of clang 14: the ranks hung). */
static void both_sides_meet_by_their_number(void **state)
{
    (void)state;
    in_child(meet, 0);
}

static int end_all(void **state)
{
    doubles_end();
    return end_job(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_meet_by_their_number),
        cmocka_unit_test_setup_teardown(each_communicator_finds_its_best, make_key, end_all),
        cmocka_unit_test_setup_teardown(a_short_job_connects_nothing, make_key, end_all),
        cmocka_unit_test_setup_teardown(ranks_that_disagree_hang, make_key, end_all),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
