/* bench/engines/nccl/engine.c over a pool that only notes: when agents and launches are started, with how much
 * patience, and what becomes of NCCL's own table. */
#include "tests/unit/bench/engines/nccl/pool_double.h"

#include "bench/candidates/candidates.h"
#include "bench/engines/nccl/engine.h"

static volatile sig_atomic_t stop;
static struct nccl_options own;
static struct bench_setup setup;
static struct bench_plan plan;
static struct err e;

static const char *const launchers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",           "PMI_RANK",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"};

static int begin_plan(void **state)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        unsetenv(launchers[i]);
    setenv("NCCLTUNE_PLUGIN_SO", "/proc/self/exe", 1);
    own = (struct nccl_options){0};
    e = (struct err){0};
    memset(&plan, 0x5a, sizeof plan);
    if (begin(state))
        return -1;
    setup = (struct bench_setup){.hosts = "a,b", .log = &said, .own = &own};
    pool.joined = (struct nccl_joined){.nodes = 2, .api = 6};
    return 0;
}

static void make_plan(void)
{
    if (bench_engine_nccl.measures->plan(&setup, arena, &plan, &e))
        fail_msg("%s", e.text);
}

static struct bench_session *open_launch(const struct bench_knobs *knobs)
{
    e = (struct err){0};
    return bench_engine_nccl.measures->open(&plan, knobs, 7, &stop, &e);
}

static struct nccl_session *must_open(void)
{
    struct bench_session *base = open_launch(&launch);
    if (!base)
        fail_msg("%s", e.text);
    return (struct nccl_session *)base;
}

static void close_launch(struct nccl_session *session, int kill)
{
    bench_engine_nccl.measures->close(&session->base, kill);
}

/* ---- the plan ---- */

#define FOUND(name) "test: " name " from /lib, 4 ranks on 2 nodes (H100)\n"

TEST_CASE(what_is_here_is_looked_at)
{
    static const struct {
        int version, rccl;
        const char *library, *log;
    } rows[] = {
        {22809, 0, "NCCL 2.28.9", FOUND("NCCL 2.28.9")},
        {22203, 1, "NCCL 2.22.3 (RCCL)", FOUND("NCCL 2.22.3 (RCCL)")},
        {23199, 0, "NCCL 2.31.99", FOUND("NCCL 2.31.99")},
        {23200, 0, "NCCL 2.32.0",
         FOUND("NCCL 2.32.0") "test: warning: NCCL 2.32.0 is newer than the known releases, up to 2.31: continuing\n"}};
    setup.hosts = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pool.hello.version = rows[i].version;
        pool.hello.rccl = rows[i].rccl;
        make_plan();
        assert_noted("open 60 s\nlook 60 s\n");
        assert_string_equal(plan.library, rows[i].library);
        assert_logged(rows[i].log);
        bench_engine_nccl.measures->finish(&plan);
        assert_noted("close\n");
    }
    pool.nodes = 1;
    make_plan();
    fflush(said.out);
    assert_non_null(strstr(logged, "4 ranks on 1 node (H100)\n"));
    bench_engine_nccl.measures->finish(&(struct bench_plan){0});
}

TEST_CASE(other_nodes_are_not)
{
    static const struct bench_knobs job = {"today", NULL, 0};
    make_plan();
    assert_noted("");
    assert_string_equal(plan.library, "NCCL");
    assert_int_equal(plan.prior_nodes, 2);
    assert_true(plan.ncalls > 8 && plan.nlaunches > 1);
    setup.jobs = &job;
    setup.njobs = 1;
    make_plan();
    assert_int_equal(plan.prior_nodes, 0);
    assert_int_equal(plan.nlaunches, 2);
    bench_engine_nccl.measures->finish(&plan);
    assert_noted("");
    struct findings found = {.arena = arena};
    bench_engine_nccl.measures->noise(&plan, &found);
    assert_noted("");
}

/* NCCL takes what a tuner asks NVLS for as it is; on one node of GPUs of its own that is known to work. */
TEST_CASE(channels_for_nvls)
{
    for (int i = 0; i < 4; i++) {
        int found = 0;
        setup.hosts = i & 1 ? "a" : "a,b";
        own.share_gpus = i > 1;
        make_plan();
        for (int k = 0; k < plan.ncalls; k++)
            found |= !strncmp(plan.calls[k].knobs.label, "nvls/simple/", 12);
        assert_int_equal(found, i == 1);
    }
}

TEST_CASE(buffers_of_a_plan)
{
    make_plan();
    assert_int_equal(plan.buffers, BENCH_USUAL);
    own.graphs = 1;
    make_plan();
    assert_int_equal(plan.buffers, BENCH_GRAPH);
    own = (struct nccl_options){.registered = 1};
    make_plan();
    assert_int_equal(plan.buffers, BENCH_REGISTERED);
    own.graphs = 1;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    assert_string_equal(e.text, "--graphs and --registered need separate runs: their rules differ");
}

TEST_CASE(what_cannot_be_planned)
{
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    make_plan();
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "the nccl engine starts its workers itself: run one copy"));
    unsetenv("OMPI_COMM_WORLD_RANK");
    setup.hosts = "a,,b";
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    setup.hosts = NULL;
    pool.closed = "no worker";
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
    assert_string_equal(e.text, "no worker");
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), ERR_FAILED);
    pool.closed = NULL;
    notes = "";
    pool.look_code = ERR_USAGE;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    assert_string_equal(e.text, "nothing to see");
    pool.look_code = BENCH_NODES_LOST;
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_FAILED);
    assert_string_equal(e.text, "nccltune-worker has died on this machine");
    assert_noted("open 60 s\nlook 60 s\nclose\nopen 60 s\nlook 60 s\nclose\n");
    bench_engine_nccl.measures->finish(&plan);
    assert_noted("");
    setenv("NCCLTUNE_PLUGIN_SO", "/no/plugin", 1);
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
}

TEST_CASE(two_gpus_are_enough)
{
    struct topo_class c = {.ngpus = 1};
    struct topo_host hosts[2] = {{.name = "a"}, {.name = "b"}};
    struct topology t = {.classes = &c, .nclasses = 1, .hosts = hosts, .nhosts = 1};
    assert_false(bench_engine_nccl.measures->suits(&t));
    t.nhosts = 2;
    assert_true(bench_engine_nccl.measures->suits(&t));
}

/* ---- launches ---- */

/* A quarter of a second for each rank; then what the first one took, tenfold; and where something may hold a GPU still
 * that time, too. */
TEST_CASE(patience_for_a_launch)
{
    make_plan();
    close_launch(must_open(), 0);
    assert_noted("open 7 s\nlook 7 s\nstart with plugin, steered 8 s\nstop\n");
    close_launch(must_open(), 1);
    assert_noted("start with plugin, steered 5 s\nkill\n");
    close_launch(must_open(), 0);
    assert_noted("start with plugin, steered 35 s\nstop\n");
    struct nccl_context *c = plan.context;
    c->start_s = 0.2;
    close_launch(must_open(), 0);
    c->start_s = 0.5;
    close_launch(must_open(), 0);
    assert_noted("start with plugin, steered 7 s\nstop\nstart with plugin, steered 8 s\nstop\n");
    pool.start_code = ERR_FAILED;
    assert_null(open_launch(&launch));
    assert_int_equal(e.code, ERR_FAILED);
    pool.start_code = 0;
    c->own.start_s = 12;
    close_launch(must_open(), 0);
    close_launch(must_open(), 0);
    assert_noted("start with plugin, steered 8 s\nstart with plugin, steered 42 s\nstop\n"
                 "start with plugin, steered 12 s\nstop\n");
    struct findings found = {.arena = arena};
    bench_engine_nccl.measures->noise(&plan, &found);
    assert_noted("noise\n");
}

TEST_CASE(a_launch_as_it_is)
{
    static const struct bench_setting settings[] = {{"A", "1"}, {"B", "2"}};
    static const struct bench_knobs two = {"two", settings, 2};
    static const uint64_t free_bytes = (uint64_t)30 << 20;
    pool.joined = (struct nccl_joined){.nodes = 3, .api = 5, .free = free_bytes, .active = "tuner x"};
    make_plan();
    struct nccl_session *x = (struct nccl_session *)open_launch(&two);
    assert_noted("open 7 s\nlook 7 s\nstart A=1 B=2 with plugin, steered 8 s\n");
    assert_true(x->base.nodes == 3 && x->base.ranks == RANKS && x->api == 5 && x->base.room_bytes == free_bytes / 3);
    assert_ptr_equal(x->launch, &two);
    assert_ptr_equal(x->stop, &stop);
    assert_string_equal(x->base.active, "tuner x");
    close_launch(x, 0);
    pool.joined.nodes = 0; /* nobody could ask NCCL */
    setup.collectives = 1u << COLL_ALLTOALLV | 1u << COLL_ALLREDUCE;
    make_plan();
    x = must_open();
    assert_true(x->base.nodes == 2 && x->base.room_bytes == free_bytes / 5);
    close_launch(x, 0);
    setup.collectives = 1u << COLL_SENDRECV;
    own.share_gpus = 1;
    make_plan();
    x = must_open();
    assert_true(x->base.nodes == RANKS && x->base.room_bytes == free_bytes / 3);
    close_launch(x, 0);
}

TEST_CASE(jobs_run_as_they_do)
{
    static const struct bench_setting on = {"A", "1"};
    static const struct bench_knobs job = {"today", &on, 1};
    setup.jobs = &job;
    setup.njobs = 1;
    make_plan();
    struct nccl_session *x = must_open();
    x->ndefaults = 1; /* there is nothing that it could be held against */
    close_launch(x, 0);
    close_launch((struct nccl_session *)open_launch(&job), 0);
    assert_noted("open 7 s\nlook 7 s\nstart as jobs 8 s\nstop\nstart A=1 5 s\nstop\n");
}

/* Only after a good end of what is steered. */
TEST_CASE(the_default_is_held_against_jobs)
{
    static struct default_point one = {.point = {.bytes = 64}, .n = 1};
    make_plan();
    for (int kill = 1; kill >= 0; kill--) {
        struct nccl_session *x = must_open();
        x->defaults = &one;
        x->ndefaults = 1;
        notes = "";
        close_launch(x, kill);
        assert_noted(kill ? "kill\n" : "stop\nstart as jobs 20 s\nstop\n");
    }
}

TEST_CASE(whose_plugins_are_said_when_they_change)
{
    setenv("NCCL_IB_TC", "41", 1);
    make_plan();
    close_launch(must_open(), 0);
    fflush(said.out);
    assert_non_null(strstr(logged, "for every candidate: "));
    assert_non_null(
        strstr(logged, "test: measured over NCCL's own tuner and network, as jobs run here without nccltune\n"));
    looked_at = logged_bytes;
    close_launch(must_open(), 0);
    assert_logged("");
    strcpy(pool.joined.active, "tuner x");
    close_launch(must_open(), 0);
    assert_logged("test: measured over tuner x, as jobs run here without nccltune\n");
    unsetenv("NCCL_IB_TC");
}

TEST_CASE(agents_that_are_lost)
{
    make_plan();
    close_launch(must_open(), 0);
    notes = "";
    fflush(said.out);
    looked_at = logged_bytes;
    pool.lost = "node1";
    close_launch(must_open(), 0);
    assert_noted("close\nopen 7 s\nlook 7 s\nstart with plugin, steered 5 s\nstop\n");
    assert_logged("test: warning: lost the agent on node1; starting all agents again\n" FOUND("NCCL 2.28.9"));
    pool.lost = "node1";
    pool.closed = "no route";
    for (int i = 0; i < 2; i++) {
        assert_null(open_launch(&launch));
        assert_int_equal(e.code, BENCH_NODES_LOST);
        assert_string_equal(e.text, "lost the agent on node1, and agents cannot be started again: no route");
    }
    assert_noted("close\nopen 7 s\nopen 7 s\n");
    pool.closed = NULL;
    pool.look_code = ERR_LACKS;
    assert_null(open_launch(&launch));
    assert_string_equal(e.text, "nothing to see");
    pool.look_code = 0;
    close_launch(must_open(), 0);
    assert_noted("open 7 s\nlook 7 s\nclose\nopen 7 s\nlook 7 s\nstart with plugin, steered 5 s\nstop\n");
    pool.closed = "no worker"; /* nobody is lost any more: just an error */
    pool.lost = "";
    bench_engine_nccl.measures->finish(&plan);
}

/* ---- NCCL's own table ---- */

static const struct bench_setting tree_simple[] = {{NCCL_SET_ALGO, "tree"}, {NCCL_SET_PROTO, "simple"}},
                                  ring_ll[] = {{NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "ll"}},
                                  nvls_ll128[] = {{NCCL_SET_ALGO, "nvls"}, {NCCL_SET_PROTO, "ll128"}},
                                  only_algo[] = {{NCCL_SET_ALGO, "ring"}};

static double expected(struct nccl_session *x, uint64_t bytes, const struct bench_setting *settings, int n)
{
    const struct known_place at = {.coll = COLL_ALLREDUCE, .bytes = bytes, .nodes = 2, .ranks = RANKS};
    return bench_engine_nccl.measures->expect_us(&x->base, &at, &(struct bench_knobs){"x", settings, n}, &stop);
}

TEST_CASE(what_nccl_expects)
{
    struct nccl_choice table = {.known = 1, .algos = 7, .protos = 3, .allowed = 1u << 2 | 1u << 3 | (uint64_t)1 << 13};
    table.cost_us[2] = 2.5f;
    table.cost_us[3] = 3.5f;
    table.cost_us[13] = 13.5f;
    for (int r = 0; r < RANKS; r++)
        pool.times[r].choice = table;
    make_plan();
    struct nccl_session *x = must_open();
    notes = "";
    assert_true(expected(x, 64, tree_simple, 2) == 2.5);
    assert_true(expected(x, 64, ring_ll, 2) == 3.5);
    assert_true(expected(x, 64, nvls_ll128, 2) == 13.5);
    assert_true(expected(x, 64, only_algo, 1) == 0);
    assert_true(expected(x, 64, NULL, 0) == 0);
    assert_noted("prepare allreduce 64 in place: 5 s\nmeasure x1: 15 s\n");
    for (int r = 0; r < RANKS; r++)
        pool.times[r].choice.allowed = 1u << 2;
    assert_true(expected(x, 128, ring_ll, 2) == -1);
    assert_true(expected(x, 64, ring_ll, 2) == 3.5); /* each size its own */
    assert_int_equal(x->ntables, 2);
    close_launch(x, 0);
}

/* As large as a release may make it, and as small. */
TEST_CASE(tables_of_other_sizes)
{
    static const struct {
        int known, algos, protos;
        double ring_ll, tree_simple, nvls_ll128;
    } rows[] = {{0, 7, 3, 0, 0, 0},   {1, 1, 3, -1, 8, -1}, {1, 2, 3, 8, 8, -1},
                {1, 7, 2, 8, -1, 8},  {1, 7, 1, 8, -1, -1}, {1, 7, 16, 8, 8, -1},
                {1, 4, 15, 8, 8, -1}, {1, 5, 15, 8, 8, 8},  {1, 7, 64, -1, 8, -1}};
    make_plan();
    struct nccl_session *x = must_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_choice table = {
            .known = rows[i].known, .algos = rows[i].algos, .protos = rows[i].protos, .allowed = UINT64_MAX};
        for (int c = 0; c < NCCL_CELLS; c++)
            table.cost_us[c] = 8;
        for (int r = 0; r < RANKS; r++)
            pool.times[r].choice = table;
        uint64_t bytes = (uint64_t)64 << i;
        assert_true(expected(x, bytes, ring_ll, 2) == rows[i].ring_ll);
        assert_true(expected(x, bytes, tree_simple, 2) == rows[i].tree_simple);
        assert_true(expected(x, bytes, nvls_ll128, 2) == rows[i].nvls_ll128);
    }
    close_launch(x, 0);
}

/* What is not answered is not known; it is asked again. */
TEST_CASE(no_table)
{
    make_plan();
    struct nccl_session *x = must_open();
    for (int r = 0; r < RANKS; r++)
        pool.times[r].choice = (struct nccl_choice){.known = 1, .algos = 7, .protos = 3};
    pool.prepare = BENCH_DIED;
    assert_true(expected(x, 64, ring_ll, 2) == 0);
    pool.prepare = BENCH_ANSWERED;
    pool.prepare_refusals = 1;
    assert_true(expected(x, 64, ring_ll, 2) == 0);
    pool.prepare_refusals = 0;
    pool.measure = BENCH_DIED;
    assert_true(expected(x, 64, ring_ll, 2) == 0);
    pool.measure = BENCH_ANSWERED;
    pool.measure_refusals = 1;
    assert_true(expected(x, 64, ring_ll, 2) == 0);
    pool.measure_refusals = 0;
    assert_true(expected(x, 64, ring_ll, 2) == -1);
    close_launch(x, 0);
}

TEST_CASE(chunks_where_nccl_asks_for_them)
{
    static const struct bench_setting four[] = {
        {NCCL_SET_ALGO, "tree"}, {NCCL_SET_PROTO, "simple"}, {NCCL_SET_CHANNELS, "4"}};
    const struct bench_knobs call = {"tree/simple/4ch", four, 3};
    struct bench_knobs out[BENCH_VARIATIONS];
    make_plan();
    struct nccl_session *x = must_open();
    assert_true(bench_engine_nccl.measures->vary(&x->base, 1 << 20, &call, arena, out) > 0);
    x->api = 5;
    assert_int_equal(bench_engine_nccl.measures->vary(&x->base, 1 << 20, &call, arena, out), 0);
    close_launch(x, 0);
}

TEST_CASES_EACH(main, begin_plan, end)
