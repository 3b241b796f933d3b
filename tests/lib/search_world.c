/* Laws, noise, and the engine on the simulated clock. */
#include "tests/lib/search_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/candidates.h"
#include "bench/search/study.h"
#include "core/coll.h"
#include "core/hash.h"
#include "tests/doubles/nccl_law.c" /* NOLINT(bugprone-suspicious-include) */

#define RANKS       8                    /* of a node */
#define NODES       2                    /* unless an option says so */
#define STRAIGHT    (2 * WORLD_LAWS / 3) /* the laws before this one are latency and bandwidth, the others bend */
#define OVERHEAD_S  250e-6               /* a sample's barrier and message */
#define FIRST_S     30e-3                /* the first use of an algorithm in a session: connections */
#define CHECK_S     1e-10                /* a byte that is filled and compared */
#define BURST_EVERY 3.0

const char *const world_regimes[WORLD_REGIMES] = {"Gaussian", "Pareto", "speeds",  "drift",   "launches", "bursts",
                                                  "quiet",    "noisy",  "favours", "moments", "spells",   "modes",
                                                  "carry",    "turns",  "cold",    "clock",   "crashes"};

struct world world;
static double now_s;
static int starts;
static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
static const struct bench_sampling sampling = {.least_us = 2000, .most_us = 5000, .calls = 5};

double __wrap_progress_now_s(void); /* NOLINT(bugprone-reserved-identifier): the linker's name */
double __wrap_progress_now_s(void)
{
    return now_s;
}

double world_now_s(void)
{
    return now_s;
}

void world_pass(double seconds)
{
    now_s += seconds;
}

size_t world_laws(void)
{
    return WORLD_LAWS + (size_t)search_machines_count();
}

double world_uniform(double low, double high)
{
    return low + (high - low) * (double)(mix(world.drawn++) >> 11) * 0x1p-53;
}

/* ---- times ---- */

static double law_us(int coll, struct nccl_requested w, uint64_t bytes)
{
    if (world.machine)
        return search_machine_us(world.machine, coll, w.algo, w.proto, w.channels, bytes);
    return law_time_us(&world.law, coll, w.algo, w.proto, w.channels, w.chunk_bytes, bytes);
}

static double predicted_us(int coll, int algo, int proto, uint64_t bytes)
{
    if (world.machine)
        return search_machine_predict_us(world.machine, coll, algo, proto, bytes);
    return law_predict_us(&world.law, coll, algo, proto, bytes, 0);
}

static double spread(double low, double high) /* logarithmic */
{
    return exp(world_uniform(log(low), log(high)));
}

static int nodes(void)
{
    return world.options.nodes ? world.options.nodes : NODES;
}

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

static void random_cell(struct law_cell *c, int proto)
{
    static const double latency[PROTO_COUNT] = {8, 14, 26}, GBps[PROTO_COUNT] = {25, 90, 220};
    *c = (struct law_cell){.offered = world_uniform(0, 1) < 0.85,
                           .latency_us = latency[proto] * spread(0.6, 1.8),
                           .GBps = GBps[proto] * spread(0.5, 2),
                           .predict = spread(0.4, 2.5),
                           .channel_us = world_uniform(0, 1) < 0.5 ? 0 : world_uniform(0, 0.4)};
    if (world_uniform(0, 1) < 0.6)
        c->channel_GBps = c->GBps / world_uniform(4, 24);
}

/* Measured curves are no straight lines: every second cell is up to a quarter off around one size, one in eight falls
 * off a cliff. */
static void bend_cell(struct law_cell *c)
{
    double kind = world_uniform(0, 1);
    if (kind < 0.5)
        return;
    c->bend = kind < 0.62 ? world_uniform(0.5, 1.5) : world_uniform(-0.25, 0.25);
    c->bend_at = spread(1 << 10, 1 << 30);
}

static void make_cells(size_t n, const struct bench_plan *p)
{
    for (int i = 0; i < p->ncalls && n >= REPORTED; i++) {
        struct nccl_requested w = nccl_requested_of(&p->calls[i].knobs);
        if (w.algo < 0 || w.proto < 0 || w.channels)
            continue;
        struct law_cell *c = &world.law.cells[p->calls[i].coll][w.algo][w.proto];
        random_cell(c, w.proto);
        if (n >= STRAIGHT)
            bend_cell(c);
    }
    /* Ring with Simple is always there. */
    for (int coll = 0; coll < COLL_COUNT && n >= REPORTED; coll++)
        world.law.cells[coll][ALGO_RING][PROTO_SIMPLE].offered = 1;
}

/* Most launches cost something or do nothing; every third machine has one that pays, and every third two that pay only
 * together. */
static void make_launches(size_t n)
{
    for (int i = 1; i <= WORLD_LAUNCH_N; i++) {
        double kind = world_uniform(0, 1);
        world.latency_factor[i] = kind < 0.4 ? 1 : spread(0.99, 1.4);
        world.bandwidth_factor[i] = kind < 0.4 ? 1 : spread(0.99, 2);
        world.pair[i] = 1;
    }
    world.latency_factor[0] = world.bandwidth_factor[0] = 1;
    if (n % 3 == 0) {
        int lucky = 1 + (int)world_uniform(0, WORLD_LAUNCH_N);
        world.latency_factor[lucky] = world_uniform(0.85, 1);
        world.bandwidth_factor[lucky] = world_uniform(0.7, 0.92);
        if (world.options.costs > 0) {
            world.latency_factor[lucky] = world.options.costs;
            world.bandwidth_factor[lucky] = 0.4;
        }
    }
    if (n % 3 == 1) { /* 3 and 4: each alone costs or does nothing */
        world.latency_factor[3] = world.latency_factor[4] = 1;
        world.bandwidth_factor[3] = world.bandwidth_factor[4] = 1.01;
        world.pair[3] = world.pair[4] = world_uniform(0.75, 0.88);
    }
}

/* What the machine has at every size that is asked about, up to the most channels that make a difference. */
static void make_cells_of(const struct search_machine *m)
{
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (int a = 0; a < ALGO_COUNT; a++)
            for (int p = 0; p < PROTO_COUNT; p++) {
                int offered = 1;
                for (uint64_t bytes = 8; bytes <= (uint64_t)16 << 30 && offered; bytes *= 4)
                    offered = search_machine_us(m, coll, a, p, 0, bytes) > 0 &&
                              search_machine_predict_us(m, coll, a, p, bytes) >= 0;
                world.law.cells[coll][a][p].offered = offered;
            }
}

static void make_law(size_t n, const struct bench_plan *p)
{
    char why[256];
    world.drawn = (n + 1) * 100000;
    if (law_parse(&world.law, n < REPORTED ? reported[n] : "channels 32\n", "law", why))
        abort();
    if (world.machine)
        make_cells_of(world.machine);
    else
        make_cells(n, p);
    make_launches(n);
    world.law.noise = world_uniform(0.005, 0.03);
    if (world.options.regime == WORLD_QUIET || world.options.regime == WORLD_NOISY)
        world.law.noise = world.options.regime == WORLD_QUIET ? 0.001 : 0.2;
    world.drawn = (world.options.seed + 1) * 1000000007 + n;
}

/* What NCCL does by itself. */
static struct nccl_requested own_choice(int coll, uint64_t bytes)
{
    struct nccl_requested best = {-1, -1, 0, 0};
    double least = INFINITY;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            double us = predicted_us(coll, a, p, bytes);
            if (us >= 0 && us < least) {
                least = us;
                best.algo = a;
                best.proto = p;
            }
        }
    return best;
}

static double call_us(int coll, uint64_t bytes, const struct bench_knobs *call)
{
    struct nccl_requested w = nccl_requested_of(call);
    if (w.algo < 0 || world.options.alike)
        w = own_choice(coll, bytes);
    return law_us(coll, w, bytes);
}

/* Its settings are numbers of launches. */
double world_launch_factor(const struct bench_knobs *launch, uint64_t bytes)
{
    double large = (double)bytes / ((double)bytes + (1 << 20)), factor = 1;
    int together = 0;
    for (int i = 0; i < launch->nsettings && !world.options.alike; i++) {
        int n = atoi(launch->settings[i].value); /* NOLINT(cert-err34-c): ours */
        factor *= pow(world.latency_factor[n], 1 - large) * pow(world.bandwidth_factor[n], large);
        if (world.pair[n] < 1 && together++)
            factor *= world.pair[n];
    }
    return factor;
}

double world_true_us(int coll, uint64_t bytes, const struct bench_knobs *launch, const struct bench_knobs *call)
{
    return call_us(coll, bytes, call) * world_launch_factor(launch, bytes);
}

int world_is_candidate(const struct bench_call *c, int coll, uint64_t bytes)
{
    struct nccl_requested w = nccl_requested_of(&c->knobs);
    return c->coll == coll && bytes >= c->min_bytes && w.channels <= world.law.channels &&
           (w.algo < 0 || world.law.cells[coll][w.algo][w.proto].offered);
}

/* ---- noise ---- */

/* A number from 0 to 1 that stands for a stretch of time. */
static double of_stretch(double length_s, uint64_t salt)
{
    return (double)(mix((uint64_t)(now_s / length_s) * 31 + world.options.seed * 977 + salt) >> 11) * 0x1p-53;
}

static double noise(double session)
{
    double factor = fmax(0.2, 1 + world.law.noise * normal(world.drawn++)) * session;
    switch (world.options.regime) {
    case WORLD_PARETO:
        return factor * (1 + 0.01 * (pow(world_uniform(1e-9, 1), -1 / 1.5) - 1));
    case WORLD_SPEEDS:
        return factor * (of_stretch(0.2, 1) < 0.5 ? 1 : 1.15);
    case WORLD_DRIFT:
        return factor * (1 + 0.1 * now_s / (world.study.time.deadline_s > 0 ? world.study.time.deadline_s : 60));
    case WORLD_BURSTS: {
        double in = fmod(now_s, BURST_EVERY), at = of_stretch(BURST_EVERY, 2) * (BURST_EVERY - 0.5);
        return factor * (in >= at && in < at + 0.5 ? 1.5 : 1);
    }
    default:
        return factor;
    }
}

/* ---- what makes one call look better than another ---- */

struct session {
    struct bench_session base;
    const struct bench_knobs *launch;
    double factor;
    int slows_next; /* the call that ran last slows whoever comes next */
    long samples;
    int used[COLL_MEASURED][ALGO_COUNT][PROTO_COUNT];
};
static struct session running;

/* A number from 0 to 1 of a call, at a place and of a number. */
static double of_call(const struct bench_knobs *call, int coll, uint64_t bytes, uint64_t salt)
{
    uint64_t hash = hash_add(hash_add(hash_text(call->label), (uint64_t)coll), bytes);
    return (double)(mix(hash_add(hash, salt * 7919 + world.options.seed)) >> 11) * 0x1p-53;
}

/* The same as a Gaussian deviation. */
static double gauss_of_call(const struct bench_knobs *call, int coll, uint64_t bytes, uint64_t salt)
{
    return sqrt(-2 * log(fmax(of_call(call, coll, bytes, 2 * salt), 1e-12))) *
           cos(2 * acos(-1) * of_call(call, coll, bytes, 2 * salt + 1));
}

/* What is the call's own in such a world: a factor. `seen` counts samples of its algorithm in this start. */
static double favour(const struct bench_knobs *call, int coll, uint64_t bytes, int seen)
{
    uint64_t start = (uint64_t)starts;
    int slowed = running.slows_next;
    running.slows_next = world.options.regime == WORLD_CARRY && of_call(call, coll, 0, 0) < 1.0 / 3;
    switch (world.options.regime) {
    case WORLD_FAVOURS:
        return exp(0.05 * gauss_of_call(call, coll, bytes, start));
    case WORLD_MOMENTS:
        return exp(0.1 * gauss_of_call(call, coll, bytes, (uint64_t)now_s));
    case WORLD_SPELLS:
        return exp(0.1 * gauss_of_call(call, coll, bytes, (uint64_t)(now_s / 10)));
    case WORLD_MODES:
        return of_call(call, coll, 0, start) < 0.5 ? 1 : 1.3;
    case WORLD_CARRY:
        return slowed ? 1.1 : 1;
    case WORLD_TURNS:
        return running.samples++ % 2 ? 1.2 : 1;
    case WORLD_COLD:
        return seen <= 8 && of_call(call, coll, 0, 0) < 0.5 ? 2 : 1;
    default:
        return 1;
    }
}

/* As a clock sees it that ticks once a millisecond. */
static double ticks_us(double us, int iterations)
{
    double ticks = floor(us * iterations / 1000 + world_uniform(0, 1));
    return fmax(ticks, 1) * 1000 / iterations;
}

int world_may_die(int coll, const struct bench_knobs *call)
{
    return world.options.regime == WORLD_CRASHES && call->nsettings && of_call(call, coll, 0, 0) < 0.25;
}

static int dies(const struct bench_knobs *call, int coll)
{
    return world_may_die(coll, call) && of_call(call, coll, 0, (uint64_t)starts) < 0.05;
}

/* ---- the engine ---- */

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    (void)p, (void)patience_s, (void)stop, (void)e;
    now_s += world.options.start_s * world_uniform(0.9, 1.2);
    starts++;
    running = (struct session){.base = {nodes(), nodes() * RANKS}, .launch = launch, .factor = 1};
    if (world.options.regime == WORLD_LAUNCHES)
        running.factor = exp(0.05 * normal(world.drawn++));
    return &running.base;
}

static double sample(int coll, uint64_t bytes, const struct bench_knobs *call, int iterations, int check)
{
    struct nccl_requested w = nccl_requested_of(call);
    if (w.algo < 0)
        w = own_choice(coll, bytes);
    int seen = ++running.used[coll][w.algo][w.proto];
    double us =
        world_true_us(coll, bytes, running.launch, call) * noise(running.factor) * favour(call, coll, bytes, seen);
    if (seen == 1)
        now_s += FIRST_S;
    if (check)
        now_s += 1e-6 * us + CHECK_S * (double)bytes;
    if (iterations < 1)
        iterations = bench_sample_calls(&sampling, us);
    now_s += OVERHEAD_S + 1e-6 * us * iterations;
    return world.options.regime == WORLD_CLOCK ? ticks_us(us, iterations) : us;
}

static enum bench_outcome measure(struct bench_session *s, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *tell, void *user, char detail[BENCH_DETAIL])
{
    (void)s, (void)stop;
    for (int k = 0; k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            if (dies(b->shots[i].knobs, b->coll)) {
                snprintf(detail, BENCH_DETAIL, "killed by signal 11");
                return BENCH_DIED;
            }
            tell(user, i, BENCH_OK,
                 sample(b->coll, b->bytes, b->shots[i].knobs, b->shots[i].iterations, b->check && !k), "");
        }
    return BENCH_ANSWERED;
}

static int vary(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS])
{
    (void)s;
    return world.machine ? 0 : nccl_plan_vary(running.launch, call, bytes, a, out);
}

static double expect(struct bench_session *s, const struct known_place *at, const struct bench_knobs *call,
                     volatile sig_atomic_t *stop)
{
    struct nccl_requested w = nccl_requested_of(call);
    (void)s, (void)stop;
    return w.algo < 0 ? 0 : predicted_us(at->coll, w.algo, w.proto, at->bytes);
}

static void close_session(struct bench_session *s, int kill)
{
    (void)s, (void)kill;
}

static const struct bench_measure_ops ops = {.sampling = {2000, 5000, 5},
                                             .combine = nccl_plan_combine,
                                             .open = open_session,
                                             .measure = measure,
                                             .close = close_session,
                                             .expect_us = expect,
                                             .vary = vary};
static const struct bench_engine engine = {.name = "nccl", .measures = &ops};

/* ---- one run ---- */

static void make_plan(struct bench_plan *p, struct arena *a)
{
    nccl_plan_calls(p, a, 0);
    p->library = "NCCL 2.30.7";
    p->launches = arena_alloc(a, (WORLD_LAUNCH_N + 1) * sizeof *p->launches);
    p->nlaunches = 1 + world.options.launches;
    p->launches[0] = untouched;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_setting *s = ARENA_NEW(a, struct bench_setting);
        *s = (struct bench_setting){arena_printf(a, "KNOB_%d", i), arena_printf(a, "%d", i)};
        p->launches[i] = (struct bench_knobs){arena_printf(a, "launch%d", i), s, 1};
    }
}

static void make_places(struct bench_study *s)
{
    world.nplaces = 0;
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        for (int i = 0; i < s->nsizes && s->options->collectives & 1u << coll; i++) {
            struct world_place *p = &world.places[world.nplaces++];
            *p = (struct world_place){coll, i, s->sizes[i] - s->sizes[i] % (uint64_t)coll_blocks(coll, nodes() * RANKS),
                                      NULL, 0};
            if (!p->bytes) {
                world.nplaces--;
                continue;
            }
            p->calls = arena_alloc(s->arena, (size_t)s->plan.ncalls * sizeof *p->calls);
            for (int k = 0; k < s->plan.ncalls; k++)
                if (world_is_candidate(&s->plan.calls[k], coll, p->bytes))
                    p->calls[p->ncalls++] = k;
        }
}

/* The world, a study of it, and a journal in memory. */
struct world_run {
    struct bench_options options;
    struct bench_journal journal;
    struct bench_summary summary;
    char path[64];
};

static void begin(struct world_run *r, const struct world_options *o)
{
    static volatile sig_atomic_t stop;
    struct bench_study *s = &world.study;
    struct err e;
    memset(r, 0, sizeof *r);
    snprintf(r->path, sizeof r->path, "/dev/shm/search_world_XXXXXX"); /* every line is brought to disk */
    int fd = mkstemp(r->path);
    if (fd < 0 || close(fd) || bench_journal_open(&r->journal, r->path, "", 0, 0, NULL, &e))
        abort();
    memset(&world, 0, sizeof world);
    world.options = *o;
    bench_options_default(&r->options);
    r->options.engine = "nccl";
    r->options.shapes = (struct bench_shape_list){.count = 1, .items = {{nodes(), nodes() * RANKS}}};
    world.machine = o->law < WORLD_LAWS ? NULL : search_machine((int)(o->law - WORLD_LAWS));
    r->options.collectives = 1u << COLL_ALLREDUCE | (o->law < REPORTED ? 0 : 1u << COLL_ALLGATHER);
    if (world.machine)
        r->options.collectives = search_machine_collectives(world.machine);
    if (o->collectives)
        r->options.collectives = o->collectives;
    r->options.budget_open = !(o->budget_s > 0);
    if (o->budget_s > 0)
        r->options.budget_s = o->budget_s;
    *s = (struct bench_study){
        .options = &r->options, .engine = &engine, .journal = &r->journal, .stop = &stop, .summary = &r->summary};
    s->results = r->journal.results;
    s->arena = s->results->arena;
    make_plan(&s->plan, s->arena);
    make_law(o->law, &s->plan);
    s->sizes = bench_sizes(&r->options, s->arena, &s->nsizes);
    make_places(s);
    now_s = starts = 0;
    s->time.started_s = now_s;
    s->time.deadline_s = now_s + r->options.budget_s;
}

static void end(struct world_run *r, struct world_score *s)
{
    s->spent_s = now_s;
    s->starts = starts;
    bench_journal_close(&r->journal);
    unlink(r->path);
}

struct world_score world_run(const struct world_options *o)
{
    struct world_run r;
    struct world_score s = {0};
    struct err e;
    begin(&r, o);
    if (bench_conduct(&world.study, &e))
        abort();
    score_run(&s);
    end(&r, &s);
    return s;
}

/* ---- rivals ---- */

double world_sample_us(const struct world_place *p, int call)
{
    return sample(p->coll, p->bytes, &world.study.plan.calls[call].knobs, 0, 0);
}

struct world_score world_run_rival(const struct world_options *o, enum world_rival rival)
{
    struct world_run r;
    struct world_score s = {0};
    struct err e;
    begin(&r, o);
    open_session(&world.study.plan, &world.study.plan.launches[0], 0, NULL, &e);
    for (int i = 0; i < world.nplaces; i++) { /* each has its share of what is left */
        double left = world.study.time.deadline_s - now_s;
        int call = world_rival_choice(rival, &world.places[i], now_s + left / (world.nplaces - i));
        score_place(&s, &world.places[i], &untouched, &untouched, &world.study.plan.calls[call].knobs);
    }
    end(&r, &s);
    return s;
}
