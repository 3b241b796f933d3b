/* The search where launches are cheap to start and calls are slow: OpenMPI over TCP on four nodes with unequal rails.
 * Times are formulas of OpenMPI's algorithms on links of 50, 100 and 200 Mbit/s, where broadcasts gain threefold, or of
 * 100, 200, 400 and 800 Mbit/s and one that is as fast as memory, where the slowest takes a hundred times the fastest;
 * on a simulated clock; candidates are the engine's own. Judges figures: not run with sanitizers. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/candidates/candidates.h"
#include "bench/search/study.h"
#include "core/coll.h"
#include "envgen/decide/decide.h"
#include "tests/lib/search_world.h"
#include "tests/lib/unit.h"

#define NODES    4
#define PLACES   12 /* at most */
#define RUNS     5
#define END_S    0.3
#define SHOT_S   2e-3  /* words between the processes and barriers */
#define FIRST_S  10e-3 /* the first use of a call in a session: a communicator of its own */
#define LONG_US  50000 /* a checked call is a sample already: bench/nccltune-bench */
#define STEP_US  250.0
#define PIECE_US 150.0
#define NOISE    0.06 /* of a sample */
#define STARTS   0.02 /* of a session */
#define CALLS    0.08 /* of a call under a launch: what the formulas do not know */

/* A message goes `volume` times over a link, in so many steps; cut into segments it flows through `hops` links. */
static const struct algorithm {
    int coll;
    const char *name;
    double volume, steps, hops;
} algorithms[] = {
    {COLL_ALLREDUCE, "basic_linear", 6, 2, 0},
    {COLL_ALLREDUCE, "nonoverlapping", 4, 4, 0},
    {COLL_ALLREDUCE, "recursive_doubling", 2, 2, 0},
    {COLL_ALLREDUCE, "ring", 1.5, 6, 0},
    {COLL_ALLREDUCE, "segmented_ring", 1.3, 3, 1},
    {COLL_ALLREDUCE, "rabenseifner", 1.7, 4, 0},
    {COLL_ALLREDUCE, BENCH_DEFAULT, 1.75, 5, 0},
    {COLL_ALLGATHER, "linear", 3, 2, 0},
    {COLL_ALLGATHER, "bruck", 0.78, 2, 0},
    {COLL_ALLGATHER, "recursive_doubling", 0.8, 2, 0},
    {COLL_ALLGATHER, "ring", 0.75, 3, 0},
    {COLL_ALLGATHER, "neighbor", 0.75, 2.5, 0},
    {COLL_ALLGATHER, BENCH_DEFAULT, 0.85, 3, 0},
    {COLL_REDUCESCATTER, "non-overlapping", 3, 3, 0},
    {COLL_REDUCESCATTER, "recursive_halving", 0.9, 2, 0},
    {COLL_REDUCESCATTER, "ring", 0.75, 3, 0},
    {COLL_REDUCESCATTER, "butterfly", 1, 2, 0},
    {COLL_REDUCESCATTER, BENCH_DEFAULT, 0.9, 2, 0},
    {COLL_BROADCAST, "basic_linear", 3, 1, 0},
    {COLL_BROADCAST, "chain", 3, 1, 1},
    {COLL_BROADCAST, "pipeline", 3, 3, 3},
    {COLL_BROADCAST, "split_binary_tree", 1.8, 2, 2},
    {COLL_BROADCAST, "binary_tree", 3, 2, 2},
    {COLL_BROADCAST, "binomial", 2.2, 2, 0},
    {COLL_BROADCAST, "knomial", 3.1, 1, 0},
    {COLL_BROADCAST, "scatter_allgather", 1.75, 4, 0},
    {COLL_BROADCAST, "scatter_allgather_ring", 1.75, 5, 0},
    {COLL_BROADCAST, BENCH_DEFAULT, 3, 2, 0},
};
#define ALGORITHMS (sizeof algorithms / sizeof *algorithms)

/* Bytes a microsecond; a message is cut into equal parts, so that the slowest rail counts. */
struct rails {
    const char *label;
    double bytes_us;
};

#define LAUNCHES 7

static const struct network {
    const char *interfaces;
    struct rails launches[LAUNCHES];
    double start_s;
    unsigned collectives;
    struct bench_size_list sizes;
} three = {"eth0,ib0,ib1",
           {{BENCH_DEFAULT, 15}, {"eth0", 6}, {"ib0", 12}, {"ib1", 24}, {"ib1,ib0", 25}},
           1.7,
           1 << COLL_ALLREDUCE | 1 << COLL_ALLGATHER | 1 << COLL_REDUCESCATTER | 1 << COLL_BROADCAST,
           {3, {64 << 10, 256 << 10, 1 << 20}}},
  five = {"eth0,ib0,ib1,ib2,ib3",
          {{BENCH_DEFAULT, 46}, {"eth0", 8}, {"ib0", 15}, {"ib1", 28}, {"ib2", 65}, {"ib3", 680}},
          0.5,
          1 << COLL_ALLREDUCE,
          {11, {8, 32, 128, 512, 2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 4 << 20}}};

static const struct network *network = &three;
static struct bench_study study;
static uint64_t drawn, law; /* numbers that make noise, and the machine */
static const struct bench_knobs *running;
static double session_factor;
static char used[512];

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static double normal_of(uint64_t x)
{
    double u = (double)(mixed(x) >> 11) * 0x1p-53, v = (double)(mixed(~x) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u + 1e-12)) * cos(6.283185307179586 * v);
}

static uint64_t hash_of(const char *text, uint64_t h)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

/* ---- times ---- */

static double segment_of(const struct bench_knobs *call)
{
    return call->nsettings > 1 ? strtod(call->settings[1].value, NULL) : 0;
}

static const struct algorithm *algorithm_of(int coll, const char *label)
{
    size_t n = strcspn(label, "/");
    for (size_t i = 0; i < ALGORITHMS; i++)
        if (algorithms[i].coll == coll && strlen(algorithms[i].name) == n && !strncmp(algorithms[i].name, label, n))
            return &algorithms[i];
    fail_msg("no times of %s, %s", coll_name(coll), label);
    return NULL;
}

static double bandwidth_of(const char *launch)
{
    for (size_t i = 0; i < LAUNCHES && network->launches[i].label; i++)
        if (!strcmp(network->launches[i].label, launch))
            return network->launches[i].bytes_us;
    return strstr(launch, "eth0") ? 12 : 25;
}

static double true_us(int coll, uint64_t bytes, const char *launch, const struct bench_knobs *call)
{
    const struct algorithm *x = algorithm_of(coll, call->label);
    double rate = bandwidth_of(launch), segment = segment_of(call), us = x->steps * STEP_US;
    uint64_t id = hash_of(call->label, hash_of(launch, hash_of(coll_name(coll), law + bytes)));
    if (x->hops > 0 && segment > 0 && segment * NODES <= (double)bytes) {
        double pieces = (double)bytes / segment, each = x->volume / x->hops * segment / rate + PIECE_US;
        us += (pieces + x->hops - 1) * each;
    } else
        us += x->volume * (double)bytes / rate;
    return us * exp(CALLS * normal_of(id));
}

/* ---- the engine ---- */

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    static struct bench_session s;
    (void)p, (void)patience_s, (void)stop, (void)e;
    world_pass(network->start_s * exp(0.1 * normal_of(drawn++)));
    memset(used, 0, sizeof used);
    running = launch;
    session_factor = exp(STARTS * normal_of(drawn++));
    s = (struct bench_session){.nodes = NODES, .ranks = NODES};
    return &s;
}

static double sample(const struct bench_batch *b, const struct bench_shot *shot, int first)
{
    double us = true_us(b->coll, b->bytes, running->label, shot->knobs) * session_factor, taken = 1;
    char *known = &used[hash_of(shot->knobs->label, (uint64_t)b->coll) % sizeof used];
    us *= exp(NOISE * normal_of(drawn++));
    taken += b->check && first && us < LONG_US;
    world_pass(SHOT_S + (*known ? 0 : FIRST_S) + 1e-6 * us * taken);
    *known = 1;
    return us;
}

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++)
            tell(user, i, BENCH_OK, sample(b, &b->shots[i], !k), "");
    return BENCH_ANSWERED;
}

static void close_session(struct bench_session *s, int kill)
{
    (void)s, (void)kill;
    world_pass(END_S);
}

static const struct bench_measure_ops ops = {
    .combine = mpi_plan_combine, .open = open_session, .measure = measure, .close = close_session};
static const struct bench_engine engine = {.name = "mpi", .measures = &ops};

/* ---- a run ---- */

/* What OpenMPI 4.1 lists of these. */
static const char worker_text[] =
    "#!/bin/sh\necho '{\"library\":\"Open MPI 4.1.4\",\"variables\":{"
    "\"coll_tuned_allreduce_algorithm\":{\"basic_linear\":1,\"nonoverlapping\":2,\"recursive_doubling\":3,\"ring\":4,"
    "\"segmented_ring\":5,\"rabenseifner\":6},"
    "\"coll_tuned_allgather_algorithm\":{\"linear\":1,\"bruck\":2,\"recursive_doubling\":3,\"ring\":4,\"neighbor\":5},"
    "\"coll_tuned_reduce_scatter_algorithm\":{\"non-overlapping\":1,\"recursive_halving\":2,\"ring\":3,\"butterfly\":4}"
    ","
    "\"coll_tuned_bcast_algorithm\":{\"basic_linear\":1,\"chain\":2,\"pipeline\":3,\"split_binary_tree\":4,"
    "\"binary_tree\":5,\"binomial\":6,\"knomial\":7,\"scatter_allgather\":8,\"scatter_allgather_ring\":9}}}'\n";

static void make_plan(struct bench_plan *p, struct arena *a)
{
    char worker[] = "/tmp/test_rails_XXXXXX";
    struct bench_setup setup = {0};
    struct err e;
    int fd = mkstemp(worker);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, worker_text, sizeof worker_text - 1), sizeof worker_text - 1);
    assert_int_equal(fchmod(fd, 0755), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(mpi_plan_calls(worker, p, a, &e), 0);
    assert_int_equal(mpi_plan_launches(&setup, network->interfaces, NODES, p, a, &e), 0);
    unlink(worker);
}

struct score {
    double regret[PLACES], in_launch[PLACES]; /* over the best call in any launch, and in the one that was chosen */
    char chosen[PLACES][64];
    double us[PLACES];
    double gain; /* a geometric mean over the places */
    int n, slower;
};

static double best_in(const char *launch, int coll, uint64_t bytes)
{
    double best = INFINITY;
    for (int i = 0; i < study.plan.ncalls; i++) {
        const struct bench_call *c = &study.plan.calls[i];
        if (c->coll == coll && bytes >= c->min_bytes)
            best = fmin(best, true_us(coll, bytes, launch, &c->knobs));
    }
    return best;
}

static double best_us(int coll, uint64_t bytes)
{
    double best = INFINITY;
    for (size_t l = 0; l < LAUNCHES && network->launches[l].label; l++)
        best = fmin(best, best_in(network->launches[l].label, coll, bytes));
    return best;
}

static const struct bench_knobs *decided(const struct env_shape *shape, int coll, uint64_t bytes)
{
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    for (int c = 0; c < shape->ncolls; c++)
        for (int i = 0; i < shape->colls[c].nranges && shape->colls[c].coll == coll; i++) {
            const struct env_range *r = &shape->colls[c].ranges[i];
            if (r->min_bytes <= bytes && bytes <= r->max_bytes)
                return &r->call;
        }
    return &untouched;
}

static struct score score_of(void)
{
    static const int colls[] = {COLL_ALLREDUCE, COLL_ALLGATHER, COLL_REDUCESCATTER, COLL_BROADCAST};
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct score s = {0};
    struct err e;
    double gain = 0;
    assert_int_equal(env_decide(d, bench_points_of(study.results, study.arena), &e), 0);
    assert_int_equal(d->nshapes, 1);
    const char *launch = d->shapes[0].launches[d->shapes[0].chosen].knobs.label;
    for (size_t c = 0; c < 4; c++)
        for (int i = 0; i < network->sizes.count && network->collectives >> colls[c] & 1; i++) {
            uint64_t bytes = network->sizes.bytes[i];
            const struct bench_knobs *call = decided(&d->shapes[0], colls[c], bytes);
            double us = true_us(colls[c], bytes, launch, call);
            double own = true_us(colls[c], bytes, BENCH_DEFAULT, &untouched);
            snprintf(s.chosen[s.n], sizeof s.chosen[0], "%s/%s", launch, call->label);
            s.us[s.n] = us;
            s.in_launch[s.n] = us / best_in(launch, colls[c], bytes) - 1;
            s.regret[s.n++] = us / best_us(colls[c], bytes) - 1;
            gain += log(own / us);
            s.slower += us > 1.1 * own;
        }
    s.gain = exp(gain / s.n);
    env_decisions_free(d);
    return s;
}

static struct score run(double budget_s, uint64_t machine, uint64_t seed)
{
    static volatile sig_atomic_t stop;
    struct bench_options options;
    struct bench_journal journal;
    struct bench_summary summary = {0};
    struct err e;
    char path[] = "/dev/shm/test_rails_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && !close(fd));
    assert_int_equal(bench_journal_open(&journal, path, "", 0, 0, NULL, &e), 0);
    bench_options_default(&options);
    options.sizes = network->sizes;
    options.collectives = network->collectives;
    options.budget_open = !(budget_s > 0);
    if (budget_s > 0)
        options.budget_s = budget_s;
    options.shapes = (struct bench_shape_list){.count = 1, .items = {{NODES, NODES}}};
    study = (struct bench_study){.options = &options,
                                 .engine = &engine,
                                 .journal = &journal,
                                 .results = journal.results,
                                 .arena = journal.results->arena,
                                 .stop = &stop,
                                 .summary = &summary};
    make_plan(&study.plan, study.arena);
    study.sizes = bench_sizes(&options, study.arena, &study.nsizes);
    study.time.started_s = world_now_s();
    study.time.deadline_s = study.time.started_s + options.budget_s;
    law = machine * 1000;
    drawn = (machine * 100 + seed + 1) * 1000000;
    assert_int_equal(bench_conduct(&study, &e), 0);
    struct score s = score_of();
    bench_journal_close(&journal);
    unlink(path);
    return s;
}

static void regret_within(double budget_s, double most, double most_in_launch)
{
    double sum = 0, in_launch = 0, gain = 0;
    int agree = 0, pairs = 0, slower = 0, n = 0;
    for (uint64_t machine = 0; machine < 4; machine++) {
        struct score s[RUNS];
        for (uint64_t i = 0; i < RUNS; i++) {
            s[i] = run(budget_s, machine, i);
            gain += log(s[i].gain) / RUNS / 4;
            slower += s[i].slower;
            for (int k = 0; k < s[i].n; k++, n++) {
                sum += s[i].regret[k];
                in_launch += s[i].in_launch[k];
            }
            for (uint64_t j = 0; j < i; j++)
                for (int k = 0; k < s[i].n; k++, pairs++)
                    agree += !strcmp(s[i].chosen[k], s[j].chosen[k]) || fabs(log(s[i].us[k] / s[j].us[k])) < ENV_MARGIN;
        }
    }
    print_message(
        "%g s: gain %.2f, mean regret %.1f %%, in the launch that was chosen %.1f %%, %d of %d decisions alike\n",
        budget_s, exp(gain), 100 * sum / n, 100 * in_launch / n, agree, pairs);
    assert_int_equal(slower, 0);
    assert_true(sum / n <= most && in_launch / n <= most_in_launch);
}

TEST_CASE(in_150_s)
{
    regret_within(150, 0.12, 0.09);
}

/* As a user has it who names no budget: samples here are long, and the first session says so. */
TEST_CASE(in_the_usual_time)
{
    regret_within(0, 0.06, 0.04);
}

/* What the slowest rail takes is not what a pair of sessions takes. */
TEST_CASE(finds_the_fastest_of_five)
{
    network = &five;
    regret_within(70, 0.1, 0.05);
    network = &three;
}

TEST_CASES(main)
