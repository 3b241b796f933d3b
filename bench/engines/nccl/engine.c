/* The nccl engine: what NCCL decides per call is switched inside one communicator by our tuner plugin, what it reads at
 * its start gets fresh workers. */
#include "bench/engines/nccl/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/candidates/nccl_plan.h"
#include "bench/engines/nccl/worker_pool.h"
#include "bench/launch/mpirun.h"
#include "bench/launch/start.h"
#include "core/coll.h"
#include "core/locate.h"
#include "core/log.h"
#include "core/progress.h"

/* A launch after the first gets this much longer than the first one took before it counts as hung. */
#define START_PATIENCE   10.0
#define START_LEAST_S    5.0
#define ITERATIONS_LIMIT 100000

/* Calls of up to this size go into graphs, where those are asked for: above it a launch is nothing. */
#define GRAPH_BYTES ((uint64_t)1 << 20)

/* Releases from here on have not been looked at: ncclGetVersion's number of 2.32.0. */
#define UNKNOWN_VERSION 23200

/* The first tuner interface with getChunkSize: NCCL 2.30's. */
#define CHUNK_API 6

/* What NCCL tables at one point, once it has been asked. */
struct algorithm_table {
    int coll;
    uint64_t bytes;
    struct nccl_choice choice;
};

struct context {
    struct bench_setup setup;
    struct nccl_options own;
    const char *plugin;
    struct nccl_pool *pool;
    struct arena *arena;
    double start_s; /* how long the first launch took; 0 none yet */
    int found;      /* all nodes have been there once */
    int inherited;  /* the environment's NCCL variables have been logged */
};

struct session {
    struct bench_session base;
    struct context *context;
    struct arena *arena;
    struct nccl_times *times; /* by rank */
    struct algorithm_table *tables;
    int ntables;
    struct nccl_point prepared;
    int api; /* version of the tuner interface that NCCL uses; 0 unknown */
};

/* ---- the plan ---- */

/* Times from graphs are not to be mixed with others, any more than those of two releases. */
static const char *library_name(const struct nccl_hello *h, int graphs, struct arena *a)
{
    return arena_printf(a, "NCCL %d.%d.%d%s%s", h->version / 10000, h->version / 100 % 100, h->version % 100,
                        h->rccl ? " (RCCL)" : "", graphs ? " in graphs" : "");
}

/* Agents on all nodes, and what they find there. Once in a plan's life. */
static int open_pool(struct bench_plan *p, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    struct context *c = p->context;
    struct nccl_hello hello;
    if (c->pool && !nccl_pool_broken(c->pool))
        return 0;
    nccl_pool_close(c->pool);
    c->pool = nccl_pool_open(&c->setup, &c->own, patience_s, stop, e);
    if (!c->pool && c->found && e) /* agents that were there once do not come back */
        e->code = BENCH_NODES_LOST;
    if (!c->pool)
        return e && e->code ? e->code : ERR_FAILED;
    int rc = nccl_pool_look(c->pool, &hello, patience_s, stop, e);
    if (rc) {
        nccl_pool_close(c->pool);
        c->pool = NULL;
        return rc;
    }
    c->found = 1;
    p->library = library_name(&hello, c->own.graphs, c->arena);
    log_info(c->setup.log, "%s from %s, %d ranks on %d node%s (%s)", p->library, hello.path, nccl_pool_ranks(c->pool),
             nccl_pool_nodes(c->pool), nccl_pool_nodes(c->pool) == 1 ? "" : "s", hello.gpu);
    if (hello.version >= UNKNOWN_VERSION)
        log_warn(c->setup.log, "%s is newer than the releases that nccltune knows, up to 2.31: going on", p->library);
    return 0;
}

static int plan(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    struct context *c = ARENA_NEW(a, struct context);
    memset(p, 0, sizeof *p);
    p->context = c;
    p->library = "NCCL";
    c->setup = *setup;
    if (setup->own)
        c->own = *(const struct nccl_options *)setup->own;
    c->arena = a;
    c->plugin = locate_plugin(a, e);
    if (!c->plugin)
        return ERR_LACKS;
    if (mpirun_attached_rank(NULL) > 0)
        return err_set(e, ERR_USAGE,
                       "the nccl engine starts its workers itself: run one copy, not one under mpirun or "
                       "srun, and name the nodes with --hosts or allocate them with Slurm");
    int nodes = start_nodes(setup, e);
    if (!nodes)
        return ERR_USAGE;
    if (setup->njobs) {
        nccl_plan_jobs(setup, p, a);
    } else {
        nccl_plan_calls(p, a);
        nccl_plan_launches(setup, nodes, p, a);
        p->prior_nodes = nodes > 1 ? nodes : 0;
    }
    int rc = start_here_alone(setup) ? open_pool(p, 60, NULL, e) : 0;
    return rc == BENCH_NODES_LOST ? err_set(e, ERR_FAILED, "nccltune-worker has died on this machine") : rc;
}

static void finish(struct bench_plan *p)
{
    struct context *c = p->context;
    if (c)
        nccl_pool_close(c->pool);
}

/* ---- sessions ---- */

extern char **environ;

/* Variables that are set already hold for every candidate: a user should know. */
static void log_inherited(struct context *c)
{
    char names[512] = "";
    size_t used = 0;
    for (char **v = environ; *v && used < sizeof names - 64; v++)
        if (!strncmp(*v, "NCCL_", 5))
            used += (size_t)snprintf(names + used, 64, "%s%.*s", used ? ", " : "", (int)strcspn(*v, "="), *v);
    if (used && !c->inherited)
        log_info(c->setup.log, "set in this environment and so the same for every candidate: %s", names);
    c->inherited = 1;
}

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    struct context *c = p->context;
    struct nccl_joined joined;
    if (open_pool(p, patience_s, stop, e))
        return NULL;
    log_inherited(c);
    int steered = !c->setup.njobs;
    struct nccl_start start = {launch->settings, launch->nsettings, steered ? c->plugin : NULL, steered};
    double began = progress_now_s(), least = START_LEAST_S + START_PATIENCE * c->start_s;
    if (c->start_s > 0 && least < patience_s)
        patience_s = least;
    if (nccl_pool_start(c->pool, &start, &joined, patience_s, stop, e))
        return NULL;
    if (!(c->start_s > 0))
        c->start_s = progress_now_s() - began;
    struct session *s = calloc(1, sizeof *s);
    int ranks = nccl_pool_ranks(c->pool);
    if (s)
        s->times = calloc((size_t)ranks, sizeof *s->times);
    if (!s || !s->times) {
        err_set(e, ERR_FAILED, "out of memory");
        free(s);
        return NULL;
    }
    s->base = (struct bench_session){.nodes = joined.nodes, .ranks = ranks};
    if (!joined.nodes) /* nobody was there to ask NCCL */
        s->base.nodes = c->own.share_gpus ? ranks : nccl_pool_nodes(c->pool);
    s->context = c;
    s->api = joined.api;
    s->arena = arena_new();
    return &s->base;
}

static void close_session(struct bench_session *base, int kill)
{
    struct session *s = (struct session *)base;
    nccl_pool_stop(s->context->pool, kill);
    arena_free(s->arena);
    free(s->times);
    free(s);
}

/* ---- measuring ---- */

struct request {
    struct session *session;
    volatile sig_atomic_t *stop;
    double patience_s;
    char *detail;
};

static int same_point(const struct nccl_point *a, const struct nccl_point *b)
{
    return a->coll == b->coll && a->in_place == b->in_place && a->type == b->type && a->bytes == b->bytes;
}

/* All ranks get ready for a point. BENCH_ANSWERED with *refusals: none of them can have it. */
static enum bench_outcome prepare(const struct request *r, const struct nccl_point *p, int *refusals)
{
    struct session *s = r->session;
    *refusals = 0;
    if (same_point(&s->prepared, p))
        return BENCH_ANSWERED;
    enum bench_outcome outcome = nccl_pool_ask(s->context->pool, NCCL_PREPARE, p, sizeof *p, NCCL_PREPARED, NULL, 0,
                                               refusals, progress_now_s() + r->patience_s, r->stop, r->detail);
    if (outcome == BENCH_ANSWERED && !*refusals)
        s->prepared = *p;
    return outcome;
}

static int same_choice(const struct nccl_choice *a, const struct nccl_choice *b)
{
    return a->known == b->known && a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
           a->allowed == b->allowed && a->refused == b->refused;
}

/* The slowest rank's answer stands for all; ranks that see different choices would hang sooner or later. */
static enum bench_status judge(const struct session *s, double *us, char *detail)
{
    enum bench_status status = BENCH_OK;
    *us = 0;
    for (int r = 0; r < s->base.ranks; r++) {
        const struct nccl_times *t = &s->times[r];
        *us = fmax(*us, t->us);
        if (t->status == NCCL_DONE || (status == BENCH_WRONG && t->status != NCCL_WRONG))
            continue;
        status = t->status == NCCL_WRONG ? BENCH_WRONG : BENCH_FAILED;
        snprintf(detail, BENCH_DETAIL, "%.*s", BENCH_DETAIL - 1, t->detail);
    }
    for (int r = 1; r < s->base.ranks && status == BENCH_OK; r++)
        if (!same_choice(&s->times[0].choice, &s->times[r].choice)) {
            status = BENCH_FAILED;
            snprintf(detail, BENCH_DETAIL, "ranks 0 and %d are offered different choices by NCCL", r);
        }
    if (status == BENCH_OK && !(*us > 0 && isfinite(*us))) {
        status = BENCH_FAILED;
        snprintf(detail, BENCH_DETAIL, "the GPU's clock says %g us", *us);
    }
    return status;
}

/* One request. `*status` and `*us` are set when it was answered. */
static enum bench_outcome ask(const struct request *r, const struct nccl_measure *q, enum bench_status *status,
                              double *us)
{
    struct session *s = r->session;
    int refusals = 0;
    enum bench_outcome outcome =
        nccl_pool_ask(s->context->pool, NCCL_MEASURE, q, sizeof *q, NCCL_TIMES, s->times, sizeof *s->times, &refusals,
                      progress_now_s() + r->patience_s, r->stop, r->detail);
    if (outcome == BENCH_ANSWERED)
        *status = refusals ? BENCH_FAILED : judge(s, us, r->detail);
    return outcome;
}

static struct nccl_measure question(const struct bench_batch *b, const struct bench_knobs *call, int graphs)
{
    struct nccl_requested w = nccl_requested_of(call);
    return (struct nccl_measure){.point = {.coll = b->coll, .type = NCCL_TYPE_FITTING, .bytes = b->bytes},
                                 .algo = w.algo,
                                 .proto = w.proto,
                                 .channels = w.channels,
                                 .chunk_bytes = w.chunk_bytes,
                                 .graph = graphs && b->bytes <= GRAPH_BYTES,
                                 .iterations = 1};
}

static int iterations_for(double us)
{
    double n = us > 0 ? ceil(BENCH_SAMPLE_US / us) : 1;
    return n < 1 ? 1 : n > ITERATIONS_LIMIT ? ITERATIONS_LIMIT : (int)n;
}

/* One sample of one shot; the first of a shot without iterations finds out how many it needs. */
static enum bench_outcome take_sample(struct request *r, const struct bench_batch *b, int shot, int first,
                                      int *iterations, enum bench_status *status, double *us)
{
    struct nccl_measure q = question(b, b->shots[shot].knobs, r->session->context->own.graphs);
    enum bench_outcome outcome = BENCH_ANSWERED;
    *status = BENCH_OK;
    r->patience_s = b->shots[shot].patience_s;
    if (first && (b->check || !*iterations)) {
        q.check = b->check;
        outcome = ask(r, &q, status, us);
        if (outcome != BENCH_ANSWERED || *status != BENCH_OK)
            return outcome;
        if (!*iterations)
            *iterations = iterations_for(*us);
        if (*iterations == 1)
            return outcome;
    }
    q.check = 0;
    q.iterations = *iterations;
    return ask(r, &q, status, us);
}

static enum bench_outcome measure(struct bench_session *base, const struct bench_batch *b, volatile sig_atomic_t *stop,
                                  bench_sample_fn *report, void *user, char detail[BENCH_DETAIL])
{
    struct request r = {(struct session *)base, stop, b->shots[0].patience_s, detail};
    struct nccl_point p = question(b, b->shots[0].knobs, 0).point;
    int refusals = 0;
    enum bench_outcome outcome = prepare(&r, &p, &refusals);
    if (outcome == BENCH_ANSWERED && refusals)
        for (int i = 0; i < b->nshots; i++)
            report(user, i, BENCH_FAILED, 0, detail);
    if (outcome != BENCH_ANSWERED || refusals)
        return outcome;
    struct arena *a = arena_new();
    int *iterations = arena_alloc(a, (size_t)b->nshots * sizeof *iterations);
    char *out = arena_alloc(a, (size_t)b->nshots);
    for (int i = 0; i < b->nshots; i++)
        iterations[i] = b->shots[i].iterations;
    for (int k = 0; k < b->samples && outcome == BENCH_ANSWERED; k++)
        for (int i = 0; i < b->nshots && outcome == BENCH_ANSWERED; i++) {
            enum bench_status status;
            double us = 0;
            if (out[i])
                continue;
            outcome = take_sample(&r, b, i, k == 0, &iterations[i], &status, &us);
            out[i] = status != BENCH_OK;
            if (outcome == BENCH_ANSWERED)
                report(user, i, status, us, detail);
        }
    arena_free(a);
    return outcome;
}

/* ---- what NCCL tables ---- */

static const struct algorithm_table *find_table(struct session *s, int coll, uint64_t bytes,
                                                volatile sig_atomic_t *stop)
{
    for (int i = 0; i < s->ntables; i++)
        if (s->tables[i].coll == coll && s->tables[i].bytes == bytes)
            return &s->tables[i];
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    struct bench_shot shot = {.knobs = &untouched};
    struct bench_batch b = {.coll = coll, .bytes = bytes, .shots = &shot, .nshots = 1};
    char detail[BENCH_DETAIL];
    struct request r = {s, stop, START_LEAST_S, detail};
    struct nccl_measure q = question(&b, &untouched, 0);
    enum bench_status status;
    double us;
    int refusals;
    if (prepare(&r, &q.point, &refusals) != BENCH_ANSWERED || refusals || ask(&r, &q, &status, &us) != BENCH_ANSWERED ||
        status != BENCH_OK)
        return NULL;
    s->tables = arena_grow(s->arena, s->tables, (size_t)s->ntables, sizeof *s->tables);
    s->tables[s->ntables] = (struct algorithm_table){coll, bytes, s->times[0].choice};
    return &s->tables[s->ntables++];
}

/* NCCL's own prediction for a call at a point: the engine's word on what is worth trying first. */
static double expect(struct bench_session *base, int coll, uint64_t bytes, const struct bench_knobs *call,
                     volatile sig_atomic_t *stop)
{
    const struct algorithm_table *o = find_table((struct session *)base, coll, bytes, stop);
    struct nccl_requested w = nccl_requested_of(call);
    if (!o || !o->choice.known || w.algo < 0 || w.proto < 0)
        return 0;
    int cell = w.algo * o->choice.protos + w.proto;
    if (w.algo >= o->choice.algos || w.proto >= o->choice.protos || cell >= NCCL_CELLS ||
        !(o->choice.allowed >> cell & 1))
        return -1;
    return o->choice.cost_us[cell];
}

/* Chunk sizes, where NCCL asks its tuner for them. */
static int vary(struct bench_session *base, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS])
{
    return ((struct session *)base)->api < CHUNK_API ? 0 : nccl_plan_vary(call, bytes, a, out);
}

/* Two GPUs on a node are measured as jobs use them; host memory stands in for them nowhere. */
static int suits(const struct topology *topology, int described)
{
    for (int i = 0; !described && i < topology->nclasses; i++)
        if (topology->classes[i].ngpus >= 2)
            return 1;
    return 0;
}

const struct bench_engine bench_engine_nccl = {
    .name = "nccl",
    .description = "collectives on device memory through NCCL or RCCL",
    .evidence = BENCH_ON_GPUS,
    .family = BENCH_FAMILY_NCCL,
    .as_jobs = 1,
    .options_title = "NCCL or RCCL (--engine nccl)",
    .options = nccl_options,
    .options_bytes = sizeof(struct nccl_options),
    .suits = suits,
    .plan = plan,
    .combine = nccl_plan_combine,
    .open = open_session,
    .measure = measure,
    .close = close_session,
    .finish = finish,
    .expect_us = expect,
    .vary = vary,
};
