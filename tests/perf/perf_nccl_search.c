/* How good the search is: the conductor, the rounds and the decision over laws whose optimum is known.
 *
 * A law says what every combination of algorithm, protocol and channels truly takes and what NCCL predicts; times are
 * drawn from it with noise, in no time. Regret is the true time of what was decided over the true time of the best
 * candidate, at each size. Exhaustive is every candidate that is offered, with as many samples as the choice got. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/nccl_plan.h"
#include "bench/results/history.h"
#include "bench/results/points.h"
#include "bench/search/conduct.h"
#include "core/coll.h"
#include "core/progress.h"
#include "envgen/decide/decide.h"
#include "tests/doubles/nccl_law.c" /* NOLINT(bugprone-suspicious-include) */

#define LAWS     72
#define STRAIGHT 48 /* the laws before this one are latency and bandwidth, the others bend */
#define RANKS    8

static struct law law;
static uint64_t drawn;
static long timed_calls;

/* ---- laws ---- */

/* Shapes that have been reported, brought to two numbers a cell: NCCL's choice is the cell whose prediction is best. */
static const char *const reported[] = {
    /* GB200, three partitions: Tree forced beats the default Ring by 20 to 25 %. */
    "channels 32\ncell allreduce ring simple latency=60 GBps=197 channel_GBps=12\n"
    "cell allreduce tree simple latency=45 GBps=234 channel_GBps=12 predict=1.4\n"
    "cell allreduce ring ll128 latency=25 GBps=120\ncell allreduce tree ll latency=14 GBps=25\n",
    /* B300, four nodes and more: NVLSTree by default is three times slower than Ring. */
    "channels 32\ncell allreduce nvls_tree simple latency=50 GBps=200 predict=0.2\n"
    "cell allreduce ring simple latency=70 GBps=760 channel_GBps=30\ncell allreduce tree ll128 latency=30 GBps=150\n",
    /* Eight B300: Ring beats NVLS by 5 to 27 % from 4 to 128 MiB. */
    "channels 24\ncell allreduce nvls simple latency=25 GBps=480 predict=0.7\n"
    "cell allreduce ring simple latency=40 GBps=600 channel_GBps=28\ncell allreduce ring ll latency=12 GBps=60\n",
    /* Eight H200: LL is left for NVLS too early. */
    "channels 16\ncell allreduce ring ll latency=11 GBps=110\ncell allreduce nvls simple latency=34 GBps=430 "
    "predict=0.4\n"
    "cell allreduce ring simple latency=38 GBps=340 channel_GBps=24\ncell allreduce tree ll latency=9 GBps=70\n",
};
#define REPORTED (sizeof reported / sizeof *reported)

static double uniform(double low, double high)
{
    return low + (high - low) * (double)(mix(drawn++) >> 11) * 0x1p-53;
}

static double spread(double low, double high) /* logarithmic */
{
    return exp(uniform(log(low), log(high)));
}

static void random_cell(struct law_cell *c, int proto)
{
    static const double latency[PROTO_COUNT] = {8, 14, 26}, GBps[PROTO_COUNT] = {25, 90, 220};
    *c = (struct law_cell){.offered = uniform(0, 1) < 0.85,
                           .latency_us = latency[proto] * spread(0.6, 1.8),
                           .GBps = GBps[proto] * spread(0.5, 2),
                           .predict = spread(0.4, 2.5),
                           .channel_us = uniform(0, 1) < 0.5 ? 0 : uniform(0, 0.4)};
    if (uniform(0, 1) < 0.6)
        c->channel_GBps = c->GBps / uniform(4, 24);
}

/* Measured curves are no straight lines: every second cell is up to a quarter off around one size. */
static void bend_cell(struct law_cell *c)
{
    if (uniform(0, 1) < 0.5)
        return;
    c->bend = uniform(-0.25, 0.25);
    c->bend_at = spread(1 << 10, 128 << 20);
}

static void make_law(size_t n)
{
    char why[256];
    drawn = n * 100000;
    if (law_parse(&law, n < REPORTED ? reported[n] : "channels 32\n", "law", why))
        abort();
    law.seed = n;
    law.noise = uniform(0.005, 0.03);
    struct arena *a = arena_new();
    struct bench_plan p = {0};
    nccl_plan_calls(&p, a, 0);
    for (int i = 0; i < p.ncalls && n >= REPORTED; i++) {
        struct nccl_requested w = nccl_requested_of(&p.calls[i].knobs);
        if (w.algo >= 0 && w.proto >= 0 && !w.channels)
            random_cell(&law.cells[p.calls[i].coll][w.algo][w.proto], w.proto);
        if (n >= STRAIGHT && w.algo >= 0 && w.proto >= 0 && !w.channels)
            bend_cell(&law.cells[p.calls[i].coll][w.algo][w.proto]);
    }
    /* Ring with Simple is always there. */
    for (int coll = 0; coll < COLL_COUNT && n >= REPORTED; coll++)
        law.cells[coll][ALGO_RING][PROTO_SIMPLE].offered = 1;
    arena_free(a);
}

/* What NCCL does by itself. */
static struct nccl_requested own_choice(int coll, uint64_t bytes)
{
    struct nccl_requested best = {-1, -1, 0, 0};
    double least = INFINITY;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            double us = law_predict_us(&law, coll, a, p, bytes, 0);
            if (us >= 0 && us < least) {
                least = us;
                best.algo = a;
                best.proto = p;
            }
        }
    return best;
}

static double true_us(int coll, uint64_t bytes, const struct bench_knobs *call)
{
    struct nccl_requested w = nccl_requested_of(call);
    if (w.algo < 0)
        w = own_choice(coll, bytes);
    return law_time_us(&law, coll, w.algo, w.proto, w.channels, w.chunk_bytes, bytes);
}

/* ---- an engine in no time ---- */

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    static struct bench_session s = {1, RANKS};
    (void)p, (void)launch, (void)patience_s, (void)stop, (void)e;
    return &s;
}

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop, (void)detail;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            timed_calls++;
            tell(user, i, BENCH_OK, true_us(b->coll, b->bytes, b->shots[i].knobs) * law_noise(&law, drawn++), "");
        }
    return BENCH_ANSWERED;
}

static double expect(struct bench_session *s, int coll, uint64_t bytes, const struct bench_knobs *call,
                     volatile sig_atomic_t *stop)
{
    struct nccl_requested w = nccl_requested_of(call);
    (void)s, (void)stop;
    return w.algo < 0 ? 0 : law_predict_us(&law, coll, w.algo, w.proto, bytes, 0);
}

static void close_session(struct bench_session *s, int kill)
{
    (void)s, (void)kill;
}

static const struct bench_engine engine = {
    .name = "nccl", .open = open_session, .measure = measure, .close = close_session, .expect_us = expect};

/* ---- one run ---- */

struct score {
    double regret, worst; /* sum over sizes; maximum */
    int sizes, replaced, false_gains;
    double gain; /* sum of default / decided */
    long calls, exhaustive;
};

static int is_candidate(const struct bench_call *c, int coll, uint64_t bytes)
{
    struct nccl_requested w = nccl_requested_of(&c->knobs);
    return c->coll == coll && bytes >= c->min_bytes && w.channels <= law.channels &&
           (w.algo < 0 || law.cells[coll][w.algo][w.proto].offered);
}

static void score_point(struct score *s, const struct bench_plan *plan, int coll, const struct env_point *p)
{
    double best = INFINITY, own = true_us(coll, p->bytes, &(struct bench_knobs){.label = BENCH_DEFAULT});
    int candidates = 0;
    for (int i = 0; i < plan->ncalls; i++)
        if (is_candidate(&plan->calls[i], coll, p->bytes)) {
            best = fmin(best, true_us(coll, p->bytes, &plan->calls[i].knobs));
            candidates++;
        }
    const struct bench_knobs *chosen = &p->options[p->chosen].call;
    double us = true_us(coll, p->bytes, chosen), regret = us / best - 1;
    s->regret += regret;
    s->worst = fmax(s->worst, regret);
    s->gain += own / us;
    s->replaced += chosen->nsettings > 0;
    s->false_gains += us > own * 1.0001;
    s->exhaustive += (long)candidates * p->options[p->chosen].time_us.n;
    s->sizes++;
}

static void score_run(struct score *s, const struct bench_study *study)
{
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct bench_points *points = bench_points_of(study->results, study->arena);
    struct env_source source = {"results.jsonl", study->results};
    struct err e;
    if (env_decide(d, points, &source, 1, &e))
        abort();
    for (int c = 0; c < d->shapes->ncolls; c++)
        for (int r = 0; r < d->shapes->colls[c].nranges; r++)
            for (int i = 0; i < d->shapes->colls[c].ranges[r].npoints; i++)
                score_point(s, &study->plan, d->shapes->colls[c].coll, &d->shapes->colls[c].ranges[r].points[i]);
    env_decisions_free(d);
}

static struct score run(size_t n)
{
    char path[] = "/dev/shm/perf_nccl_search_XXXXXX"; /* every line is brought to disk */
    static volatile sig_atomic_t stop;
    struct bench_options o;
    struct bench_journal journal;
    struct bench_summary summary = {0};
    struct err e;
    struct score score = {0};
    int fd = mkstemp(path);
    make_law(n);
    bench_options_default(&o);
    o.engine = "nccl";
    o.collectives = n < REPORTED ? 1u << COLL_ALLREDUCE : 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER;
    o.max_bytes = 256 << 20;
    o.budget_s = 120;
    timed_calls = 0;
    if (fd < 0 || bench_journal_open(&journal, path, "", 0, NULL, &e))
        abort();
    struct bench_study s = {.options = &o, .engine = &engine, .journal = &journal, .stop = &stop, .summary = &summary};
    s.results = journal.results;
    s.arena = s.results->arena;
    s.plan.library = "NCCL 2.30.7";
    nccl_plan_calls(&s.plan, s.arena, 0);
    s.plan.launches = ARENA_NEW(s.arena, struct bench_knobs);
    s.plan.launches->label = BENCH_DEFAULT;
    s.plan.nlaunches = 1;
    s.sizes = bench_sizes(&o, s.arena, &s.nsizes);
    s.started_s = progress_now_s();
    s.deadline_s = s.started_s + o.budget_s;
    if (bench_conduct(&s, &e))
        abort();
    score_run(&score, &s);
    score.calls = timed_calls;
    bench_journal_close(&journal);
    close(fd);
    unlink(path);
    return score;
}

int main(int argc, char **argv)
{
    struct score all = {0};
    size_t laws = argc > 1 ? strtoul(argv[1], NULL, 10) : LAWS;
    double began = progress_now_s();
    puts("law  sizes  regret mean  worst   gain over NCCL  calls   of exhaustive  replaced  slower than NCCL");
    for (size_t n = 0; n < laws; n++) {
        struct score s = run(n);
        printf("%3zu  %5d  %9.2f %%  %5.2f %%  %8.2f x     %6ld  %8.1f %%     %5d  %5d\n", n, s.sizes,
               100 * s.regret / s.sizes, 100 * s.worst, s.gain / s.sizes, s.calls,
               100.0 * (double)s.calls / (double)s.exhaustive, s.replaced, s.false_gains);
        all.regret += s.regret;
        all.worst = fmax(all.worst, s.worst);
        all.gain += s.gain;
        all.sizes += s.sizes;
        all.calls += s.calls;
        all.exhaustive += s.exhaustive;
        all.replaced += s.replaced;
        all.false_gains += s.false_gains;
    }
    printf("all  %5d  %9.2f %%  %5.2f %%  %8.2f x     %6ld  %8.1f %%     %5d  %5d\n", all.sizes,
           100 * all.regret / all.sizes, 100 * all.worst, all.gain / all.sizes, all.calls,
           100.0 * (double)all.calls / (double)all.exhaustive, all.replaced, all.false_gains);
    printf("%zu laws in %.1f s; aims: regret 2 %% on average and 5 %% at the worst size, 10 %% of the calls of an "
           "exhaustive search, 1 %% of the replaced choices slower than NCCL's own\n",
           laws, progress_now_s() - began);
    return 0;
}
