/* The job, and methods that explore in it. */
#include "tests/lib/online_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/nccl_law.h"
#include "tuner/explore/decide_internal.h"
#include "tuner/explore/member.h"

#define PLAIN  18      /* cells, each with all, half and a quarter of the channels ... */
#define ARMS   54      /* ... and with all, half and a quarter of the chunk */
#define CHUNK  524288U /* NCCL's */
#define MARGIN 12      /* calls between a proposal and its first call */
#define POLL   10      /* calls between two looks of the carrier's */

const char *const online_regimes[] = {"Gaussian", "tail", "speeds", "drift", "bursts", "late rank"};
const char *const online_methods[] = {"nccltune", "coordinate descent", "UCB1", "Thompson sampling"};
const unsigned online_places[] = {100, 1000, 10000, 30000};

static const struct {
    int coll;
    uint64_t bytes;
} sizes[ONLINE_SIZES] = {
    {COLL_ALLREDUCE, 25 << 20}, {COLL_ALLREDUCE, 1 << 20}, {COLL_ALLREDUCE, 16 << 10}, {COLL_REDUCESCATTER, 64 << 20}};

struct arm {
    double sum, squares, n;
};

struct size {
    double us[ARMS], default_us, best_us; /* true */
    int own, hold, turned;                /* arms; own: the default's */
    struct arm arms[ARMS];
    int at, trying, left; /* descent */
};

static struct {
    struct online_options o;
    struct law law;
    struct size sizes[ONLINE_SIZES];
    uint64_t drawn, calls;
    double spent_us, total_us, default_us;
    struct explore_member *member;
    struct explore_decider *decider;
    uint32_t round;
    uint64_t looks;
    double host_us;                /* the host's clock, which stands but for connections */
    unsigned connected, by_itself; /* bits of algorithms */
} world;

static double uniform(void)
{
    uint64_t z = (world.drawn += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double spread(double low, double high)
{
    return exp(log(low) + uniform() * (log(high) - log(low)));
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307 * uniform());
}

/* ---- laws -------------------------------------------------------------------------------------------------------- */

/* As tests/lib/search_world.c has them: NCCL's prediction is off by up to 2.5 times either way. */
static void make_law(size_t n)
{
    static const double latency[] = {8, 14, 26}, GBps[] = {25, 90, 220};
    char why[256];
    if (law_parse(&world.law, "channels 32\n", "law", why))
        abort();
    world.drawn = (n + 1) * 100000;
    for (int coll = COLL_REDUCESCATTER; coll <= COLL_ALLREDUCE; coll++)
        for (int i = 0; i < EXPLORE_CELLS; i++) {
            int proto = i % PROTO_COUNT, algo = i / PROTO_COUNT;
            world.law.cells[coll][algo][proto] = (struct law_cell){
                .offered = i == EXPLORE_CELLS - 1 || (uniform() < 0.85 && (algo || coll == COLL_ALLREDUCE)),
                .latency_us = latency[proto] * spread(0.6, 1.8),
                .GBps = GBps[proto] * spread(0.5, 2),
                .predict = spread(0.4, 2.5),
                .channel_us = uniform() < 0.5 ? 0 : 0.4 * uniform()};
            if (uniform() < 0.6)
                world.law.cells[coll][algo][proto].channel_GBps =
                    world.law.cells[coll][algo][proto].GBps / (4 + 20 * uniform());
        }
    world.law.noise = 0.01 + 0.04 * uniform();
    for (int coll = COLL_REDUCESCATTER; coll <= COLL_ALLREDUCE; coll++)
        for (int i = 0; i < EXPLORE_CELLS; i++) {
            struct law_cell *c = &world.law.cells[coll][i / PROTO_COUNT][i % PROTO_COUNT];
            c->chunk_best = uniform() < 0.5 ? CHUNK : CHUNK / spread(1, 8);
            c->chunk_loss = 0.1 * uniform();
        }
    world.drawn = (world.o.seed + 1) * 1000000007 + n;
}

static void make_size(int i)
{
    struct size *s = &world.sizes[i];
    double least = INFINITY;
    *s = (struct size){.best_us = INFINITY, .hold = -1};
    for (int a = 0; a < ARMS; a++) {
        int cell = a % EXPLORE_CELLS, fewer = a % PLAIN / EXPLORE_CELLS, channels = fewer ? 32 >> fewer : 0;
        double predicted =
            law_predict_us(&world.law, sizes[i].coll, cell / PROTO_COUNT, cell % PROTO_COUNT, sizes[i].bytes, 0);
        s->us[a] = law_time_us(&world.law, sizes[i].coll, cell / PROTO_COUNT, cell % PROTO_COUNT, channels,
                               CHUNK >> a / PLAIN, sizes[i].bytes);
        if (a < EXPLORE_CELLS && predicted >= 0 && predicted < least) {
            least = predicted;
            s->own = a;
        }
    }
    for (int a = 0; a < ARMS; a++) {
        s->us[a] = s->us[a] >= 0 && world.o.alike ? s->us[s->own] : s->us[a];
        s->best_us = s->us[a] >= 0 && s->us[a] < s->best_us ? s->us[a] : s->best_us;
    }
    s->default_us = s->us[s->own];
    s->at = s->hold = s->own;
}

static double disturbed(double us)
{
    uint64_t n = world.calls;
    double noise = exp(world.law.noise * normal());
    if (world.o.regime == ONLINE_TAIL && uniform() < 0.05)
        noise *= 3;
    if (world.o.regime == ONLINE_SPEEDS && (n / 40 * UINT64_C(0x9e3779b97f4a7c15) >> 40 & 1))
        noise *= 1.15;
    if (world.o.regime == ONLINE_DRIFT)
        noise *= 1 + (double)n / ONLINE_SIZES * 1e-5;
    if (world.o.regime == ONLINE_BURSTS && n % 200 < 30)
        noise *= 1.5;
    if (world.o.regime == ONLINE_LATE && uniform() < 0.33)
        noise += -0.2 * log(1 - uniform());
    return us * noise;
}

/* A call of size `i` as `arm`: what it takes is paid for. */
static double call(int i, int arm)
{
    struct size *s = &world.sizes[i];
    double us = s->us[arm] * (arm == s->turned - 1 ? 3 : 1);
    world.total_us += us;
    world.default_us += s->default_us;
    world.calls++;
    return disturbed(us);
}

/* The first call of an algorithm takes the host's time, in a job by default, too. */
static void connect(const struct size *s, int arm)
{
    unsigned algo = 1U << arm % EXPLORE_CELLS / PROTO_COUNT, own = 1U << s->own / PROTO_COUNT;
    int is_new = !(world.connected & algo), is_due = !(world.by_itself & own);
    world.connected |= algo;
    world.by_itself |= own;
    world.host_us += is_new * world.o.connect_us;
    world.total_us += is_new * world.o.connect_us;
    world.default_us += is_due * world.o.connect_us;
    world.spent_us += is_new && algo != own ? world.o.connect_us : 0;
}

static uint64_t host_ns(void)
{
    return ++world.looks + (uint64_t)(world.host_us * 1e3);
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static void look(void *arg, int kind, struct explore_seen *seen)
{
    explore_see(arg, kind, seen);
}

/* The carrier's turn: all ranks agree. */
static void agree(void)
{
    explore_drain(world.member, world.decider);
    uint32_t plan = explore_is_open(world.member) ? explore_next(world.decider, look, world.member) : 0;
    if (!plan)
        return;
    struct online_message m = {ONLINE_PREPARE, ++world.round, plan, world.member->next + MARGIN};
    struct online_message answer = explore_hear(world.member, &m);
    m.word = answer.word == ONLINE_PROMISE ? ONLINE_COMMIT : ONLINE_ABORT;
    explore_hear(world.member, &m);
    explore_decided(world.decider, plan, m.word == ONLINE_COMMIT);
}

static int arm_of(const struct size *s, struct explore_cell c)
{
    int cell = c.cell < 0 ? s->own : c.cell, channels = c.channels, smaller = 0;
    int fewer = !channels || channels > 16 ? 0 : channels > 8 ? 1 : 2;
    uint32_t chunk =
        explore_chunk(world.member, sizes[s - world.sizes].coll, cell / PROTO_COUNT, cell % PROTO_COUNT, CHUNK, CHUNK);
    while (CHUNK >> smaller > chunk)
        smaller++;
    return cell + fewer * EXPLORE_CELLS + smaller * PLAIN;
}

static void step_ours(int i)
{
    struct size *s = &world.sizes[i];
    float cost[ALGO_COUNT * PROTO_COUNT];
    struct explore_cell cell = explore_nothing;
    for (int a = 0; a < ALGO_COUNT * PROTO_COUNT; a++)
        cost[a] = (float)law_predict_us(&world.law, sizes[i].coll, a / PROTO_COUNT, a % PROTO_COUNT, sizes[i].bytes, 0);
    struct tuner_call q = {sizes[i].coll, sizes[i].bytes, 1, 0, cost, ALGO_COUNT, PROTO_COUNT};
    explore_called(world.member, 0);
    if (explore_ask(world.member, &q, &cell))
        abort();
    int arm = arm_of(s, cell);
    connect(s, arm);
    uint32_t tag = explore_launched(world.member, q.coll, q.bytes);
    int run = arm % EXPLORE_CELLS, is_tried = (tag - 1) % 4 >= EXPLORE_TRIED_FIRST;
    double us = call(i, arm);
    if (is_tried)
        world.spent_us += s->us[arm] - s->us[s->hold];
    else
        s->hold = arm;
    if (!world.o.dropped || uniform() * world.o.dropped >= 1)
        explore_timed(world.member, tag, run / PROTO_COUNT, run % PROTO_COUNT, 32 >> arm % PLAIN / EXPLORE_CELLS,
                      (uint64_t)(us * 1e3));
    if (world.calls % POLL == 0)
        agree();
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static double mean(const struct arm *a)
{
    return a->n > 0 ? a->sum / a->n : INFINITY;
}

static int fastest(const struct size *s)
{
    int best = s->own;
    for (int a = 0; a < ARMS; a++)
        if (s->arms[a].n > 0 && mean(&s->arms[a]) < mean(&s->arms[best]))
            best = a;
    return best;
}

/* Four calls a step; a neighbour differs in one parameter. */
static int descend(struct size *s)
{
    enum { CALLS = 4 };
    if (s->left-- > 0)
        return s->trying;
    if (s->arms[s->at].n < CALLS) {
        s->left = CALLS - 1;
        return s->trying = s->at;
    }
    for (int a = 0; a < ARMS; a++) {
        int other_cell = a % EXPLORE_CELLS != s->at % EXPLORE_CELLS,
            other_channels = a % PLAIN / EXPLORE_CELLS != s->at % PLAIN / EXPLORE_CELLS,
            other_chunk = a / PLAIN != s->at / PLAIN;
        if (s->us[a] < 0 || s->arms[a].n > 0 || other_cell + other_channels + other_chunk != 1)
            continue;
        s->left = CALLS - 1;
        return s->trying = a;
    }
    s->at = fastest(s);
    return s->at;
}

static int ucb(const struct size *s)
{
    double least = INFINITY, all = 0, scale = mean(&s->arms[s->own]);
    int best = s->own;
    for (int a = 0; a < ARMS; a++)
        all += s->arms[a].n;
    for (int a = 0; a < ARMS && s->arms[s->own].n > 0; a++) {
        double value =
            s->arms[a].n > 0 ? mean(&s->arms[a]) / scale - 0.2 * sqrt(2 * log(all) / s->arms[a].n) : -INFINITY;
        if (s->us[a] >= 0 && value < least) {
            least = value;
            best = a;
        }
    }
    return best;
}

static int thompson(const struct size *s)
{
    double least = INFINITY;
    int best = s->own;
    for (int a = 0; a < ARMS && s->arms[s->own].n > 0; a++) {
        const struct arm *x = &s->arms[a];
        double middle = log(x->n > 0 ? mean(x) : mean(&s->arms[s->own])), width = x->n > 0 ? 0.2 / sqrt(x->n) : 0.5;
        double drawn = middle + width * normal();
        if (s->us[a] >= 0 && drawn < least) {
            least = drawn;
            best = a;
        }
    }
    return best;
}

static void step_other(int i)
{
    struct size *s = &world.sizes[i];
    int arm = world.o.method == ONLINE_DESCENT ? descend(s) : world.o.method == ONLINE_UCB ? ucb(s) : thompson(s);
    s->hold = world.o.method == ONLINE_DESCENT ? s->at : fastest(s);
    if (s->us[arm] > s->us[s->hold])
        world.spent_us += s->us[arm] - s->us[s->hold];
    connect(s, arm);
    double us = call(i, arm);
    s->arms[arm].sum += us;
    s->arms[arm].n++;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static struct online_score score_now(void)
{
    struct online_score x = {.regret = world.spent_us / world.total_us,
                             .slower = world.total_us / world.default_us - 1};
    for (int i = 0; i < ONLINE_SIZES; i++) {
        const struct size *s = &world.sizes[i];
        x.gained += log(s->default_us / (s->us[s->hold] * (s->hold == s->turned - 1 ? 3 : 1)));
        x.possible += log(s->default_us / s->best_us);
        x.worse += s->us[s->hold] * (s->hold == s->turned - 1 ? 3 : 1) > 1.001 * s->default_us;
    }
    return x;
}

static void turn(void)
{
    for (int i = 0; i < ONLINE_SIZES; i++)
        if (world.sizes[i].hold != world.sizes[i].own)
            world.sizes[i].turned = world.sizes[i].hold + 1;
}

/* What a job's journal says to the next one. */
static void remind(const struct explore_decider *earlier)
{
    const struct topic *t;
    for (int i = 0; earlier && (t = explore_topic(earlier, i)); i++)
        for (int k = 0; k < t->ncandidates; k++)
            if (explore_is_cell(t->candidates[k].cell) && t->candidates[k].pairs && !t->candidates[k].unlike)
                explore_hinted(world.decider, t->kind, t->candidates[k].cell,
                               explore_median(t->candidates[k].us, t->candidates[k].pairs) /
                                   explore_median(t->defaults, t->ndefaults));
}

/* Leaves the decider. */
static void run_job(const struct online_options *o, int places, struct online_score *score,
                    const struct explore_decider *earlier)
{
    memset(&world, 0, sizeof world);
    world.o = *o;
    make_law(o->law);
    for (int i = 0; i < ONLINE_SIZES; i++)
        make_size(i);
    world.member = calloc(1, sizeof *world.member);
    world.decider = explore_decider_new(o->regret > 0 ? o->regret : EXPLORE_REGRET);
    if (!world.member || !world.decider)
        abort();
    explore_member_init(world.member);
    world.member->clock = host_ns;
    remind(earlier);
    for (unsigned n = 1, place = 0; place < (unsigned)places; n++) {
        for (int i = 0; i < ONLINE_SIZES; i++)
            o->method == ONLINE_OURS ? step_ours(i) : step_other(i);
        if (n == o->turns)
            turn();
        if (n == online_places[place])
            score[place++] = score_now();
    }
    free(world.member);
}

void online_run(const struct online_options *o, int places, struct online_score *score)
{
    struct online_options earlier = *o;
    struct online_score unread[ONLINE_PLACES];
    struct explore_decider *decider = NULL;
    earlier.seed += 1000;
    if (o->again)
        run_job(&earlier, ONLINE_PLACES, unread, NULL);
    decider = o->again ? world.decider : NULL;
    run_job(o, places, score, decider);
    explore_decider_free(decider);
    explore_decider_free(world.decider);
}
