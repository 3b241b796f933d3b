/* Switching candidates inside one communicator, next to starting the ranks anew for every candidate as sweeps with
 * nccl-tests do: both over the doubles with real processes, as many candidates as a sweep of 8 collectives, 20 sizes
 * and all cells has. And what a candidate that hangs costs beyond its deadline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engines/nccl/engine.h"
#include "core/coll.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"

#define RANKS      4
#define HANGS      5
#define DEADLINE_S 1.0
#define CANDIDATES (8 * 20 * 8) /* a cell: one of 7 combinations that a collective has, and the default */

static const char law[] =
    "cell allreduce ring simple latency=30 GBps=100\ncell allreduce ring ll latency=9 GBps=20\n"
    "cell allreduce ring ll128 latency=14 GBps=60\ncell allreduce tree simple latency=20 GBps=50\n"
    "cell allreduce tree ll latency=6 GBps=10 predict=3\n";
static const char *const labels[] = {BENCH_DEFAULT, "ring/simple", "ring/ll", "ring/ll128", "tree/simple", "tree/ll"};
#define LABELS (sizeof labels / sizeof *labels)

static const struct bench_engine *const engine = &bench_engine_nccl;
static volatile sig_atomic_t stop;
static struct bench_plan plan;

static void fail(const char *why)
{
    fprintf(stderr, "perf_nccl_switch: %s\n", why);
    exit(1);
}

static const struct bench_knobs *call_named(const char *label)
{
    for (int i = 0; i < plan.ncalls; i++)
        if (plan.calls[i].coll == COLL_ALLREDUCE && !strcmp(plan.calls[i].knobs.label, label))
            return &plan.calls[i].knobs;
    fail(label);
    return NULL;
}

static void ignore(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    (void)user, (void)shot, (void)status, (void)us, (void)detail;
}

static struct bench_session *open_session(void)
{
    struct err e = {0};
    struct bench_session *s = engine->measures->open(&plan, &plan.launches[0], 30, &stop, &e);
    if (!s)
        fail(e.text);
    return s;
}

static enum bench_outcome measure(struct bench_session *s, int i)
{
    static const uint64_t sizes[] = {8, 1024, 65536};
    struct bench_shot shot = {.knobs = call_named(labels[(size_t)i % LABELS]), .patience_s = DEADLINE_S};
    struct bench_batch b = {.coll = COLL_ALLREDUCE,
                            .bytes = sizes[i / (int)LABELS % 3],
                            .samples = 1,
                            .check = 1,
                            .shots = &shot,
                            .nshots = 1};
    char detail[BENCH_DETAIL];
    return engine->measures->measure(s, &b, &stop, ignore, NULL, detail);
}

static void make_plan(struct arena *a)
{
    static const struct bench_setup setup = {.ranks_per_node = RANKS};
    struct err e = {0};
    if (engine->measures->plan(&setup, a, &plan, &e))
        fail(e.text);
}

static double time_switches(void)
{
    struct bench_session *s = open_session();
    double began = progress_now_s();
    for (int i = 0; i < CANDIDATES; i++)
        if (measure(s, i) != BENCH_ANSWERED)
            fail("a candidate was not measured");
    double took = progress_now_s() - began;
    engine->measures->close(s, 0);
    return took;
}

static double time_relaunches(void)
{
    double began = progress_now_s();
    for (int i = 0; i < CANDIDATES; i++) {
        struct bench_session *s = open_session();
        if (measure(s, i) != BENCH_ANSWERED)
            fail("a candidate was not measured");
        engine->measures->close(s, 0);
    }
    return progress_now_s() - began;
}

static double worst_hang(void)
{
    double worst = 0;
    for (int i = 0; i < HANGS; i++) {
        struct bench_session *s = open_session();
        double began = progress_now_s();
        if (measure(s, 5) != BENCH_SILENT)
            fail("the hang did not hang");
        double took = progress_now_s() - began;
        engine->measures->close(s, 1);
        worst = took > worst ? took : worst;
    }
    return worst;
}

int main(void)
{
    struct arena *a = arena_new();
    if (doubles_begin(law, "4"))
        fail("no law can be written");
    make_plan(a);
    double inside = time_switches(), anew = time_relaunches();
    engine->measures->finish(&plan);
    setenv("NCCL_DOUBLE_FAULT", "hang rank=1 algo=tree proto=ll", 1);
    make_plan(a);
    double hang = worst_hang();
    engine->measures->finish(&plan);
    printf("%d ranks, one checked sample of each candidate\n", RANKS);
    printf("  switched inside the communicator   %8.2f ms a candidate, %7.1f s for %d\n", inside * 1e3 / CANDIDATES,
           inside, CANDIDATES);
    printf("  workers started anew               %8.2f ms a candidate, %7.1f s\n", anew * 1e3 / CANDIDATES, anew);
    printf("  ratio                              %8.1f\n", anew / inside);
    printf("A candidate that hangs, deadline %.1f s: %.2f s at the most of %d, workers killed\n", DEADLINE_S, hang,
           HANGS);
    doubles_end();
    arena_free(a);
    return 0;
}
