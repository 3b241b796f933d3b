/* NCCLTUNE_ONLINE=tune over whole jobs: four ranks as processes of their own, the plugin as NCCL loads it, over TCP. */
#include "bench/results/results.h"
#include "tests/unit/tuner/explore/job.h"

#define FEW      6000    /* calls of a job that is to find nothing */
#define MOST     4000000 /* as good as for ever: the limit is the alarm's */
#define THE_BEST ((ALGO_RING * PROTO_COUNT + PROTO_SIMPLE + 1) << 8)

struct job {
    const char *mode;  /* of NCCLTUNE_ONLINE */
    int off;           /* rank where NCCLTUNE=off; -1: none */
    int release;       /* of NCCL: 2.x */
    unsigned most;     /* calls */
    const char *table; /* NULL: none */
};

/* What a call takes: NCCL believes in Ring with LL, which is not the best. */
static uint64_t law_ns(int algo, int proto)
{
    static const uint64_t us[2][PROTO_COUNT] = {{1400, 1300, 1200}, {1000, 1100, 600}};
    return algo < 2 ? us[algo][proto] * 1000 : 5000000;
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
        uint32_t choice = ask_for(l, c, &task);
        note(0, call, choice);
        profiled_launch(c, &task, 1);
        int is_tried = task.algo != ALGO_RING || task.proto != PROTO_LL;
        shared->tried += is_tried;
        if (is_tried && !shared->first)
            shared->first = 1 + (uint32_t)(task.algo * PROTO_COUNT + task.proto);
        settled = choice >> 8 == THE_BEST >> 8 ? settled + 1 : 0;
        if (!c->rank && settled == SETTLED)
            shared->stop = call + 3 * LEAD;
        shared->at[c->rank] = call;
    }
    shared->at[c->rank] = UINT32_MAX - LEAD;
}

static void be_rank(const void *job, int rank)
{
    const struct job *j = job;
    char table[128];
    use_job(j->mode, rank);
    if (rank == j->off)
        setenv("NCCLTUNE", "off", 1);
    snprintf(table, sizeof table, "%s/table", dir);
    if (j->table)
        setenv("NCCL_TUNER_CONFIG_FILE", table, 1);
    struct loader l = load(j->release);
    struct profiler_loader p = profiler_load(j->release >= 30 ? 6 : j->release >= 28 ? 5 : 4);
    struct profiled_comm c = {.id = 7, .nodes = 1, .ranks = RANKS, .rank = rank};
    CHECK(!init(&l, RANKS, 1, NULL, NULL) && !profiled_open(&p, &c, remember));
    make_calls(j, &l, &c);
    shared->told += strstr(logged.text, "NCCLTUNE_ONLINE=tune") != NULL;
    CHECK(!destroy(&l) && !profiled_close(&c));
}

static void run_job(const struct job *j)
{
    if (j->table)
        put_file("table", j->table);
    run_ranks(be_rank, j);
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
    struct bench_results *r = journal(&(struct job){"tune", -1, 30, MOST});
    assert_int_equal(shared->first, 1 + ALGO_TREE * PROTO_COUNT + PROTO_LL);
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
        journal(&(struct job){"tune", -1, 30, MOST, "# nccltune-tuner/1\nallreduce,0,-1,ring,ll128,-1,-1,-1\n"});
    const struct bench_result *best = learned(r, "ring/simple"), *row = learned(r, "ring/ll128"),
                              *usual = learned(r, "default");
    assert_true(best && row && usual && !learned(r, "ring/ll")); /* which the default is */
    assert_true(best->ntimes >= 8 && row->ntimes >= 8 && usual->ntimes >= 5);
    assert_true(best->times_us[0] < 700 && row->times_us[0] > 1050 && usual->times_us[0] < 1050);
    assert_true(!best->nbeside && !row->nbeside && !usual->nbeside);
    bench_results_free(r);
}

/* What earlier jobs have left in the directory is tried first: Tree with LL without it. */
static void begins_with_what_is_known(void **state)
{
    (void)state;
    put_file("9.learned.0.jsonl",
             "{\"format\": \"nccltune-results/1\"}\n"
             "{\"engine\": \"nccl\", \"collective\": \"allreduce\", \"bytes\": 1048576, \"nodes\": 1, \"ranks\": 4, "
             "\"call\": {\"label\": \"ring/simple\", \"settings\": {\"algorithm\": \"ring\", \"protocol\": "
             "\"simple\"}}, \"times_us\": [600.000, 610.000, 605.000]}\n"
             "{\"engine\": \"nccl\", \"collective\": \"allreduce\", \"bytes\": 1048576, \"nodes\": 1, \"ranks\": 4, "
             "\"call\": {\"label\": \"default\", \"settings\": {}}, \"times_us\": [1000.000]}\n");
    bench_results_free(journal(&(struct job){"tune", -1, 30, MOST}));
    assert_int_equal(shared->first, 1 + ALGO_RING * PROTO_COUNT + PROTO_SIMPLE);
}

/* One rank that is told otherwise is enough for all to be as they are without. */
static void all_or_none(void **state)
{
    (void)state;
    run_job(&(struct job){"tune", 2, 30, FEW});
    assert_int_equal(shared->tried, 0);
}

static void off_unless_asked_for(void **state)
{
    (void)state;
    run_job(&(struct job){"observe", -1, 30, FEW});
    assert_int_equal(shared->tried + shared->told, 0);
}

static void older_releases_say_so(void **state)
{
    (void)state;
    run_job(&(struct job){"tune", -1, 27, 500});
    assert_int_equal(shared->tried, 0);
    assert_int_equal(shared->told, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_best_and_leaves_a_journal, make_key, end_job),
        cmocka_unit_test_setup_teardown(begins_with_what_is_known, make_key, end_job),
        cmocka_unit_test_setup_teardown(under_a_table_too, make_key, end_job),
        cmocka_unit_test_setup_teardown(all_or_none, make_key, end_job),
        cmocka_unit_test_setup_teardown(off_unless_asked_for, make_key, end_job),
        cmocka_unit_test_setup_teardown(older_releases_say_so, make_key, end_job),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
