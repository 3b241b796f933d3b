/* The worker's measuring, from measure.c down to the driver's and NCCL's functions, which are a double's that writes
 * down how they were called. Whole conversations are held against fixtures, and some of them again with one function
 * failing after the other: what is said then, and what is given back. */
#include "tests/unit/bench/nccltune-worker/fake_gpu.h"

#include "core/coll.h"
#include "tests/lib/whole.h"

#define dlopen open_library
#define dlsym  find_symbol
#include "bench/nccltune-worker/load.c" /* with the double's libraries */
#undef dlopen
#undef dlsym

/* ---- conversations ---- */

struct scene {
    const char *name;
    int nranks, rank, hip, steered, not_ready, in_progress, async_code, offers_nothing, split_ranks;
    const char *libraries, *missing;
    struct nccl_point points[3];     /* one after the other, up to one without bytes */
    struct nccl_measure measures[2]; /* of each; up to one that is all zero */
    int cache_bytes;
    size_t most_bytes;
    int without; /* the optional functions */
};

static void show(const struct nccl_times *t)
{
    const struct nccl_choice *c = &t->choice;
    fprintf(out, " status %d, %g us, by the host %g to %g, slowdown %g, '%s'", t->status, t->us, t->host_least_us,
            t->host_most_us, t->slowdown, t->detail);
    if (c->known)
        fprintf(out, ", choice %d of %dx%d: %d %d %d refused %d registered %d allowed %llu cost %g %g", c->known,
                c->algos, c->protos, c->algo, c->proto, c->channels, c->refused, c->registered,
                (unsigned long long)c->allowed, (double)c->cost_us[0], (double)c->cost_us[63]);
    fputc('\n', out);
}

static int measure(struct measurer *m, const struct scene *s, const struct nccl_point *p)
{
    char why[512] = "";
    struct nccl_times t;
    int rc = 0;
    for (int i = 0; i < 2 && s->measures[i].iterations && !rc; i++) {
        struct nccl_measure q = s->measures[i];
        q.point = *p;
        rc = measure_run(m, &q, &t, why, sizeof why);
        if (!fail_at || rc)
            fprintf(out, fail_at ? "-> run %d '%s'; " : "  run %d '%s'", rc, why);
        if (!fail_at && !rc)
            show(&t);
    }
    return rc;
}

static int prepare(struct measurer *m, const struct nccl_point *p)
{
    char why[512] = "";
    struct nccl_prepared done;
    int rc = measure_prepare(m, p, &done, why, sizeof why);
    if (fail_at && rc)
        fprintf(out, "-> prepare %d '%s'; ", rc, why);
    else if (!fail_at)
        fprintf(out, "  prepare %d '%s' working set %llu, cache %llu, group %d, nodes %d, %s, unit %g us\n", rc, why,
                (unsigned long long)done.working_set, (unsigned long long)done.cache, done.group, done.nodes,
                rc ? "" : done.type, done.unit_us);
    return rc;
}

static int converse(struct measurer *m, const struct scene *s)
{
    char why[512] = "";
    int rc = measure_open(m, why, sizeof why);
    if (fail_at ? rc : !silent)
        fprintf(out, fail_at ? "-> open %d '%s'; " : "  open %d '%s'\n", rc, why);
    rc = rc ? rc : measure_barrier(m, why, sizeof why);
    if (fail_at ? rc && !strstr(why, "set up") : rc || !silent)
        fprintf(out, fail_at ? "-> barrier %d '%s'; " : "  barrier %d '%s'\n", rc, why);
    silent = 0;
    for (int i = 0; i < 3 && s->points[i].bytes && !rc; i++) {
        rc = prepare(m, &s->points[i]);
        rc = rc ? rc : measure(m, s, &s->points[i]);
    }
    return rc;
}

/* With the `k`th function failing, 0 none; whether so many were called. */
static int play(const struct scene *s, int k)
{
    struct measurer m = {.gpu = fake_gpu, .nccl = fake_nccl, .device = 3};
    nthings = nmemories = ncalls = failed = polls = 0;
    host_us = 1000;
    fail_at = k;
    load_ms = 0.6F;
    batch_ms = 0.25F;
    not_ready = s->not_ready;
    in_progress = s->in_progress;
    async_code = s->async_code;
    offers_nothing = s->offers_nothing;
    split_ranks = s->split_ranks;
    libraries = s->libraries ? s->libraries : "";
    missing = s->missing;
    cache_bytes = s->cache_bytes;
    most_bytes = s->most_bytes ? s->most_bytes : (size_t)1 << 30;
    m.gpu.hip = is_hip = s->hip;
    m.all = m.group = group_whole(new_thing("comm", s->nranks), s->rank, s->nranks);
    if (s->steered)
        m.steer = (struct steering){.force = force, .last = last};
    if (s->without) {
        m.gpu.capture_begin = NULL;
        m.gpu.launch = NULL;
        m.nccl.comm_split = NULL;
        m.nccl.comm_register = NULL;
    }
    converse(&m, s);
    load_leave(&m.load, &m.nccl);
    buffers_drop(&m.buffers, &(struct buffers_owner){.gpu = &m.gpu, .nccl = &m.nccl, .comm = m.group.comm});
    group_leave(&m.group, &m.nccl, &m.all);
    for (int i = 0; i < nmemories; i++)
        free(memories[i].at);
    return failed;
}

static const struct nccl_measure once = {.iterations = 1, .algo = -1, .proto = -1};

#define ONE_RANK                                      .nranks = 1
#define SHAPED(nodes_, ranks_, others_, load_, whole) .groups = {{nodes_, ranks_, others_, load_}, whole}
#define FIT                                           NCCL_TYPE_FITTING
#define OF(c, n, t, ...)                                    \
    {                                                       \
        .coll = (c), .bytes = (n), .type = (t), __VA_ARGS__ \
    }

static const struct scene scenes[] = {
    {"checked, steered, and a smaller point after it", ONE_RANK, .steered = 1,
     .points = {OF(COLL_ALLREDUCE, 96, FIT, .groups = {.whole_nodes = 1}), OF(COLL_ALLREDUCE, 64, FIT, .in_place = 1)},
     .measures = {{.iterations = 3, .check = 1, .algo = 1, .proto = 2, .channels = 4, .chunk_bytes = 65536},
                  {.iterations = 1, .algo = -1, .proto = -1}}},
    {"larger than the cache twice", ONE_RANK, .cache_bytes = 2 << 20,
     .points = {OF(COLL_ALLREDUCE, (1 << 20) + 4, NCCL_FLOAT32, ), OF(COLL_BROADCAST, 1 << 20, FIT, )},
     .measures = {{.iterations = 2, .check = 1}, {.iterations = 1}}},
    {"memory for less", ONE_RANK, .cache_bytes = 8 << 20, .most_bytes = (size_t)7 << 20,
     .points = {OF(COLL_ALLREDUCE, (1 << 20) + 4, NCCL_FLOAT32, )}, .measures = {{.iterations = 1}}},
    {"memory for nothing", ONE_RANK, .cache_bytes = 8 << 20, .most_bytes = (size_t)1 << 20,
     .points = {OF(COLL_ALLREDUCE, (1 << 20) + 4, NCCL_FLOAT32, )}},
    {"AMD's cache", ONE_RANK, .hip = 1, .cache_bytes = 4 << 20, .most_bytes = 5 << 20,
     .points = {OF(COLL_ALLREDUCE, (1 << 20) + 4, NCCL_INT32, )}},
    {"registered, then not", ONE_RANK,
     .points = {OF(COLL_ALLREDUCE, 4096, FIT, .registered = 1), OF(COLL_ALLREDUCE, 4096, FIT, )},
     .measures = {{.iterations = 1, .check = 1}}},
    {"a chain of calls as a graph", ONE_RANK, .steered = 1, .points = {OF(COLL_ALLREDUCE, 8, FIT, )},
     .measures = {{.iterations = 45, .graph = 1, .algo = -1, .proto = -1},
                  {.iterations = 2, .graph = 1, .algo = -1, .proto = -1}}},
    {"groups of two, in the second", .nranks = 4, .rank = 3, .steered = 1, .split_ranks = 2,
     .points = {OF(COLL_ALLTOALL, 64, FIT, SHAPED(1, 2, 1, 0, 1)), OF(COLL_SENDRECV, 64, FIT, )},
     .measures = {{.iterations = 1, .algo = -1, .proto = -1}}},
    {"a group that NCCL makes too large", .nranks = 4, .rank = 0, .split_ranks = 3,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 1, 0, 1))}},
    {"in no group, beside those that compute", .nranks = 3, .rank = 2, .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1)), OF(COLL_ALLREDUCE, 64, FIT, )},
     .measures = {{.iterations = 1, .units = 2}}},
    {"multiplications beside calls", .nranks = 2, .rank = 1, .libraries = "libcublas.so.12", .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1)),
                OF(COLL_ALLREDUCE, 64, FIT, SHAPED(2, 2, 0, BENCH_COMPUTE, 2))},
     .measures = {{.iterations = 2, .units = 3}}},
    {"a library of multiplications that lacks one", .nranks = 2, .rank = 1, .libraries = "libcublas.so.13",
     .missing = "cublasSgemm_v2", .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1))}},
    {"calls beside calls, over nodes", .nranks = 4, .rank = 3, .steered = 1, .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 1, BENCH_CALLS, 2))},
     .measures = {{.iterations = 2, .units = 3, .algo = 1, .proto = 2}}},
    {"calls beside calls, within nodes", .nranks = 6, .rank = 4, .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(2, 2, 2, BENCH_CALLS, 2))}},
    {"calls beside calls, on one node", .nranks = 4, .rank = 3, .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 1, BENCH_CALLS, 1))}},
    {"AMD's multiplications", .nranks = 2, .rank = 1, .hip = 1, .libraries = "libhipblas.so.2", .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1))}},
    {"AMD's compiler", .nranks = 2, .rank = 1, .hip = 1, .libraries = "libhiprtc.so", .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1))}},
    {"AMD's compiler lacks one", .nranks = 2, .rank = 1, .hip = 1, .libraries = "libamdhip64.so",
     .missing = "hiprtcGetCode", .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1))}},
    {"in progress for a while", ONE_RANK, .in_progress = 3, .not_ready = 256,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, .registered = 1)}, .measures = {{.iterations = 1}}},
    {"NCCL fails while the GPU is waited for", ONE_RANK, .not_ready = 256, .async_code = 5,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, )}},
    {"the GPU is waited for, but not for so long", ONE_RANK, .not_ready = 255, .async_code = 5},
    {"wrong data", .nranks = 2, .rank = 1, .steered = 1, .points = {OF(COLL_ALLREDUCE, 64, FIT, )},
     .measures = {{.iterations = 1, .check = 1, .algo = -1, .proto = -1}}},
    {"not a multiple of four", .nranks = 3, .rank = 1,
     .points = {OF(COLL_ALLGATHER, 9, FIT, .in_place = 1), OF(COLL_ALLGATHER, 2, FIT, )},
     .measures = {{.iterations = 1}}},
    {"a driver and an NCCL without all that is newer", .nranks = 2, .without = 1,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, )}, .measures = {{.iterations = 1, .graph = 1}}},
    {"a page and a byte", ONE_RANK,
     .points = {OF(COLL_ALLREDUCE, 4097, NCCL_INT8, ), OF(COLL_ALLREDUCE, 64, FIT, ),
                OF(COLL_ALLREDUCE, 4097, NCCL_INT8, )}},
    {"a cache of nobody knows what size", ONE_RANK, .points = {OF(COLL_ALLREDUCE, (1 << 20) + 4, NCCL_INT32, )}},
    {"calls beside calls, and nothing afterwards", .nranks = 2, .rank = 1, .split_ranks = 2,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_CALLS, 1)), OF(COLL_ALLREDUCE, 64, FIT, )}},
    {"groups in progress for a while", .nranks = 2, .rank = 1, .in_progress = 2, .split_ranks = 1,
     .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 1, 1, BENCH_CALLS, 1))},
     .measures = {{.iterations = 1, .units = 1}}},
    {"no groups", .nranks = 2, .without = 1, .points = {OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 1, 1, 0, 1))}},
    {"nothing to register with", .nranks = 2, .without = 1, .points = {OF(COLL_ALLREDUCE, 64, FIT, .registered = 1)}},
};

#define SETTING_UP 8 /* functions that every scene begins with */

static char *text;
static size_t text_bytes;

static void begin(void)
{
    out = open_memstream(&text, &text_bytes);
}

static void hold_against(const char *fixture)
{
    fclose(out);
    char *all = folded(text);
    assert_whole(all, fixture);
    free(all);
    free(text);
}

TEST_CASE(conversations)
{
    begin();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        fprintf(out, "%s\n", scenes[i].name);
        silent = i > 0;
        play(&scenes[i], 0);
    }
    hold_against("tests/fixtures/bench/worker.txt");
}

TEST_CASE(whatever_fails)
{
    static const int which[] = {0, 4, 5, 6, 7, 9, 10, 12, 15, 16};
    begin();
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        fprintf(out, "%s\n", scenes[which[i]].name);
        for (int k = i ? 1 + SETTING_UP : 1; play(&scenes[which[i]], k); k++)
            fputc('\n', out);
    }
    hold_against("tests/fixtures/bench/worker-failures.txt");
}

/* Every collective as rank 1 of 3 calls it, in both places. */
TEST_CASE(every_collective)
{
    begin();
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        for (int in_place = 0; in_place < 2; in_place++) {
            struct scene s = {
                .nranks = 3, .rank = 1, .points = {OF(coll, 120, FIT, .in_place = in_place)}, .measures = {once, once}};
            fprintf(out, "%s%s\n", coll_name(coll), in_place ? " in place" : "");
            silent = 1;
            play(&s, 0);
            s.nranks = 1;
            s.rank = 0;
            s.measures[0].check = 1;
            fprintf(out, "%s of one rank%s\n", coll_name(coll), in_place ? " in place" : "");
            silent = 1;
            play(&s, 0);
        }
    hold_against("tests/fixtures/bench/worker-collectives.txt");
}

/* ---- what the plugin saw ---- */

static struct nccl_choice choice_of(struct nccltune_record r, int nranks, int coll)
{
    struct scene s = {.nranks = nranks,
                      .steered = 1,
                      .points = {OF(coll, 64, FIT, )},
                      .measures = {{.iterations = 1, .algo = 1, .proto = 2}}};
    struct measurer m = {.gpu = fake_gpu, .nccl = fake_nccl, .device = 3, .steer = {.force = force, .last = last}};
    char why[512];
    struct nccl_prepared done;
    struct nccl_times t;
    seen = r;
    begin();
    nthings = nmemories = ncalls = fail_at = not_ready = in_progress = async_code = offers_nothing = 0;
    cache_bytes = is_hip = 0;
    most_bytes = 1 << 20;
    batch_ms = 1;
    m.all = m.group = group_whole(new_thing("comm", nranks), 0, nranks);
    assert_int_equal(measure_open(&m, why, sizeof why), 0);
    assert_int_equal(measure_prepare(&m, &s.points[0], &done, why, sizeof why), 0);
    s.measures[0].point = s.points[0];
    assert_int_equal(measure_run(&m, &s.measures[0], &t, why, sizeof why), 0);
    fclose(out);
    free(text);
    for (int i = 0; i < nmemories; i++)
        free(memories[i].at);
    return t.choice;
}

TEST_CASE(the_cheapest_that_is_offered_is_nccls_choice)
{
    static const struct {
        struct nccltune_record seen;
        int algo, proto;
    } rows[] = {{{.algos = 2, .protos = 3, .allowed = 0x3f, .algo = -1, .proto = -1, .cost = {5, 4, 3, 2, 1, 6}}, 1, 1},
                {{.algos = 2, .protos = 3, .allowed = 0x2f, .algo = -1, .proto = -1, .cost = {5, 4, 3, 2, 1, 6}}, 1, 0},
                {{.algos = 2, .protos = 3, .allowed = 0x21, .algo = -1, .proto = -1, .cost = {6, 4, 3, 2, 1, 6}}, 0, 0},
                {{.algos = 1, .protos = 3, .allowed = 0x3f, .algo = -1, .proto = -1, .cost = {5, 4, 3, 2, 1, 6}}, 0, 2},
                {{.algos = 2, .protos = 3, .allowed = 0, .algo = -1, .proto = -1}, -1, -1},
                {{.algos = 2, .protos = 3, .allowed = 0x3f, .algo = 1, .proto = 2, .cost = {1}}, 1, 2},
                {{.algos = 2, .protos = 3, .allowed = 0x3f, .algo = 0, .proto = 0, .cost = {9, 1}}, 0, 0},
                {{.algos = 2, .protos = 3, .allowed = 0x3f, .algo = 1, .proto = -1, .cost = {9, 1, 9, 9, 9, 9}}, 0, 1},
                {{.algos = 2, .protos = 3, .allowed = 0x3f, .algo = -1, .proto = 0, .cost = {9, 1, 9, 9, 9, 9}}, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_choice c = choice_of(rows[i].seen, 2, COLL_ALLREDUCE);
        assert_true(c.known == 1 && c.algos == rows[i].seen.algos && c.protos == 3 && !c.refused);
        if (c.algo != rows[i].algo || c.proto != rows[i].proto)
            fail_msg("row %zu: %d %d", i, c.algo, c.proto);
    }
    struct nccltune_record whole = {
        .algos = 1, .protos = 1, .channels = 6, .source = NCCLTUNE_SOURCE_REFUSED, .reg_buff = 5, .allowed = 1};
    whole.cost[63] = 7;
    struct nccl_choice c = choice_of(whole, 2, COLL_ALLREDUCE);
    assert_true(c.channels == 6 && c.refused == 1 && c.registered == 5 && c.allowed == 1 && c.cost_us[63] == 7);
    assert_false(choice_of(whole, 1, COLL_ALLREDUCE).known);
    assert_false(choice_of(whole, 2, COLL_ALLTOALL).known);
    assert_true(choice_of(whole, 2, COLL_BROADCAST).known);
    whole.protos = 0;
    assert_false(choice_of(whole, 2, COLL_ALLREDUCE).known);
}

/* ---- smaller parts ---- */

TEST_CASE(what_a_load_is_slowed)
{
    static const struct {
        float all_ms;
        double us, slowdown; /* four pieces of 100 us */
    } rows[] = {{0.4F, 200, 1},           {0.3F, 200, 1},           {0.5F, 200, 2},
                {0.6F, 500, 500 / 300.0}, {0.6F, 900, 600 / 400.0}, {0.4005F, 2, 2 / 1.5},
                {0.7F, 200, 100},         {0.599F, 200, 100},       {0.597F, 200, 200 / 3.0}};
    struct load l = {.gpu = &fake_gpu, .units = 4, .unit_us = 100};
    char why[64];
    begin();
    fail_at = nthings = ncalls = 0;
    l.start = new_thing("start", 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double slowdown = 0;
        load_ms = rows[i].all_ms;
        assert_int_equal(load_slowdown(&l, rows[i].us, &slowdown, why, sizeof why), 0);
        if (slowdown < rows[i].slowdown * 0.999 || slowdown > rows[i].slowdown * 1.001)
            fail_msg("row %zu: %g", i, slowdown);
    }
    load_ms = 0;
    assert_int_equal(load_calibrate(&l, why, sizeof why), -1);
    assert_string_equal(why, "what is to run beside calls takes no time");
    load_ms = 2;
    assert_int_equal(load_calibrate(&l, why, sizeof why), 0);
    assert_true(l.unit_us == 500);
    fclose(out);
    free(text);
}

/* Once it has failed for one size the next one is not measured without it. */
TEST_CASE(what_is_to_run_beside_is_missed_again)
{
    const struct nccl_point p = OF(COLL_ALLREDUCE, 64, FIT, SHAPED(1, 2, 0, BENCH_COMPUTE, 1));
    struct measurer m = {.gpu = fake_gpu, .nccl = fake_nccl, .device = 3};
    struct nccl_prepared done;
    char why[512];
    begin();
    nthings = nmemories = ncalls = fail_at = not_ready = in_progress = async_code = silent = 0;
    most_bytes = 1 << 20;
    split_ranks = 2;
    m.all = m.group = group_whole(new_thing("comm", 2), 1, 2);
    assert_int_equal(measure_open(&m, why, sizeof why), 0);
    assert_int_equal(measure_prepare(&m, &p, &done, why, sizeof why), -1);
    assert_string_equal(why, "cannot set up what runs beside calls: unknown driver error");
    assert_int_equal(measure_prepare(&m, &p, &done, why, sizeof why), -1);
    assert_string_equal(why, "rank 1: what is to run beside calls could not be set up before");
    fclose(out);
    free(text);
    free(memories[0].at);
}

TEST_CASE(what_makes_no_sense)
{
    struct measurer m = {.all = {.rank = 2, .comm = &things[0]}, .group = {.comm = &things[0]}};
    struct nccl_measure q = {.iterations = 1};
    struct nccl_times t;
    char why[128];
    assert_int_equal(measure_run(&m, &q, &t, why, sizeof why), -1);
    assert_string_equal(why, "rank 2: a request without iterations or without a prepared point");
    m.buffers.slots = 1;
    q.iterations = 0;
    *why = 0;
    assert_int_equal(measure_run(&m, &q, &t, why, sizeof why), -1);
    assert_string_equal(why, "rank 2: a request without iterations or without a prepared point");
}

TEST_CASES(main)
