/* The nccl engine: what NCCL decides per call is switched inside one communicator by our tuner plugin, what it reads at
 * its start gets fresh workers. */

#include <stdio.h>
#include <string.h>

#include "bench/candidates/candidates.h"
#include "bench/engines/nccl/session.h"
#include "core/locate.h"
#include "core/progress.h"
#include "core/vars/catalogue.h"
#include "probe/topology/topology.h"

/* Patience for a launch: processes on thousands of nodes take a while. One after the first gets this much longer than
 * the first one took before it counts as hung, and where the one before was killed, until its GPUs are free. */
#define START_S_PER_RANK 0.25
#define START_TIMES      10.0
#define START_LEAST_S    5.0

/* Releases from here on have not been looked at: ncclGetVersion's number of 2.32.0. */
#define UNKNOWN_VERSION 23200

/* The first tuner interface with getChunkSize: NCCL 2.30's. */
#define CHUNK_API 6

/* A call in place goes through two buffers of its size in turn; the rest is for NCCL and for what others have. */
#define MEMORY_PART 3

static const struct option_spec options[] = {
    {0, "nccl-lib", "PATH", "the NCCL library that jobs use (default: that of PyTorch or the loader)", option_text,
     offsetof(struct nccl_options, library)},
    {0, "launch-prefix", "ARGS", "words before every NCCL worker, to run it in a container; split as for --mpirun-args",
     option_text, offsetof(struct nccl_options, launch_prefix)},
    {0, "graphs", NULL, "capture calls in CUDA graphs, as inference engines do; rules apply to such calls only",
     option_flag, offsetof(struct nccl_options, graphs)},
    {0, "registered", NULL, "use registered buffers of ncclMemAlloc; rules apply to such buffers only", option_flag,
     offsetof(struct nccl_options, registered)},
    {0, "start-patience", "TIME", "start time after which a launch counts as hung (default: 60s and 0.25s per rank)",
     option_seconds, offsetof(struct nccl_options, start_s)},
    {0, "first-use-patience", "TIME",
     "additional time for the first call of an algorithm (default: 10s and 0.1s per rank)", option_seconds,
     offsetof(struct nccl_options, first_s)},
    {0, "share-gpus", NULL, "allow more ranks than GPUs: tests function, not speed", option_flag,
     offsetof(struct nccl_options, share_gpus)},
    {0},
};

/* ---- the plan ---- */

/* Agents on all nodes, and what they find there. Once in a plan's life. */
static int open_pool(struct bench_plan *p, double patience_s, volatile sig_atomic_t *stop, struct err *e)
{
    struct nccl_context *c = p->context;
    struct nccl_hello hello;
    char release[ENV_VERSION];
    if (c->pool && !nccl_pool_broken(c->pool, c->lost))
        return 0;
    if (c->pool)
        log_warn(c->setup.log, "%s; starting all agents again", c->lost);
    nccl_pool_close(c->pool);
    c->pool = nccl_pool_open(&c->setup, &c->own, patience_s, stop, e);
    if (!c->pool && *c->lost && e) { /* agents that were there once do not come back */
        const struct err why = *e;
        err_set(e, BENCH_NODES_LOST, "%s, and agents cannot be started again: %.500s", c->lost, why.text);
    }
    if (!c->pool)
        return e && e->code ? e->code : ERR_FAILED;
    int rc = nccl_pool_look(c->pool, &hello, patience_s, stop, e);
    if (rc) {
        nccl_pool_close(c->pool);
        c->pool = NULL;
        return rc;
    }
    p->library =
        arena_printf(c->arena, "NCCL %s%s", env_version_text(release, hello.version), hello.rccl ? " (RCCL)" : "");
    log_info(c->setup.log, "%s from %s, %d ranks on %d node%s (%s)", p->library, hello.path, nccl_pool_ranks(c->pool),
             nccl_pool_nodes(c->pool), nccl_pool_nodes(c->pool) == 1 ? "" : "s", hello.gpu);
    if (hello.version >= UNKNOWN_VERSION)
        log_warn(c->setup.log, "%s is newer than the known releases, up to 2.31: continuing", p->library);
    return 0;
}

static int plan_launches(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    struct nccl_context *c = ARENA_NEW(a, struct nccl_context);
    memset(p, 0, sizeof *p);
    p->context = c;
    p->library = "NCCL";
    c->setup = *setup;
    if (setup->own)
        c->own = *(const struct nccl_options *)setup->own;
    c->buffers = p->buffers = c->own.graphs ? BENCH_GRAPH : c->own.registered ? BENCH_REGISTERED : BENCH_USUAL;
    if (c->own.graphs && c->own.registered)
        return err_set(e, ERR_USAGE, "--graphs and --registered need separate runs: their rules differ");
    c->arena = a;
    c->plugin = locate_program(LOCATE_PLUGIN, a, e);
    if (!c->plugin)
        return ERR_LACKS;
    if (mpirun_attached_rank(NULL) > 0)
        return err_set(e, ERR_USAGE,
                       "the nccl engine starts its workers itself: run one copy, not one under mpirun or "
                       "srun, and name the nodes with --hosts or allocate them with Slurm");
    int nodes = places_count(setup, e);
    if (!nodes)
        return ERR_USAGE;
    nccl_plan_calls(p, a, nodes == 1 && !c->own.share_gpus);
    if (setup->jobs) {
        bench_plan_jobs(p, a, setup);
    } else {
        nccl_plan_launches(setup, nodes, p, a);
        p->prior_nodes = nodes;
    }
    int rc = places_need_no_launcher(setup) ? open_pool(p, 60, NULL, e) : 0;
    return rc == BENCH_NODES_LOST ? err_set(e, ERR_FAILED, "nccltune-worker has died on this machine") : rc;
}

static void close_pool(struct bench_plan *p)
{
    struct nccl_context *c = p->context;
    if (c)
        nccl_pool_close(c->pool);
}

static void add_noise(struct bench_plan *p, struct findings *found)
{
    struct nccl_context *c = p->context;
    if (c->pool)
        nccl_pool_noise(c->pool, found);
    nccl_session_judge_site(c, found);
}

/* ---- sessions ---- */

/* Under whose plugins the default runs that gains are over: said once, and again when a launch changes them. */
static void log_active(struct nccl_context *c, const struct nccl_joined *joined)
{
    if (c->active && !strcmp(c->active, joined->active))
        return;
    c->active = arena_strdup(c->arena, joined->active);
    log_info(c->setup.log, "measured over %s, as jobs run here without nccltune",
             *joined->active ? joined->active : "NCCL's own tuner and network");
}

/* How long this launch may take to start. */
static double start_patience(const struct nccl_context *c, double patience_s)
{
    double held_s = c->killed ? NCCL_GPU_HELD_S : 0;
    if (c->own.start_s > 0)
        return c->own.start_s + held_s;
    patience_s += START_S_PER_RANK * nccl_pool_ranks(c->pool);
    double known_s = START_LEAST_S + START_TIMES * c->start_s;
    return (c->start_s > 0 && known_s < patience_s ? known_s : patience_s) + held_s;
}

static struct nccl_session *new_session(struct nccl_context *c, const struct nccl_joined *joined)
{
    struct arena *a = arena_new();
    struct nccl_session *s = ARENA_NEW(a, struct nccl_session);
    int ranks = nccl_pool_ranks(c->pool);
    /* a hot rank receives more than it sends */
    unsigned part = c->setup.collectives & 1u << COLL_ALLTOALLV ? MEMORY_PART + COLL_HOT - 1 : MEMORY_PART;
    s->arena = a;
    s->times = arena_alloc(a, (size_t)ranks * sizeof *s->times);
    s->prepared = arena_alloc(a, (size_t)ranks * sizeof *s->prepared);
    s->base = (struct bench_session){.nodes = joined->nodes, .ranks = ranks, .room_bytes = joined->free / part};
    if (!joined->nodes) /* nobody was there to ask NCCL */
        s->base.nodes = c->own.share_gpus ? ranks : nccl_pool_nodes(c->pool);
    s->context = c;
    s->api = joined->api;
    snprintf(s->active, sizeof s->active, "%s", joined->active);
    s->base.active = s->active;
    return s;
}

static struct bench_session *open_session(struct bench_plan *p, const struct bench_knobs *launch, double patience_s,
                                          volatile sig_atomic_t *stop, struct err *e)
{
    struct nccl_context *c = p->context;
    struct nccl_joined joined;
    if (open_pool(p, patience_s, stop, e))
        return NULL;
    if (!c->inherited++)
        inherit_log(c->setup.log);
    int steered = !c->setup.jobs, site = !steered && !launch->nsettings;
    struct nccl_start start = {launch->settings, launch->nsettings, steered ? c->plugin : NULL, steered, site};
    double began = progress_now_s();
    int rc = nccl_pool_start(c->pool, &start, &joined, start_patience(c, patience_s), stop, e);
    c->killed = rc != 0;
    if (rc)
        return NULL;
    if (!(c->start_s > 0))
        c->start_s = progress_now_s() - began;
    struct nccl_session *s = new_session(c, &joined);
    log_active(c, &joined);
    s->launch = launch;
    s->stop = stop;
    return &s->base;
}

static void close_session(struct bench_session *base, int kill)
{
    struct nccl_session *s = (struct nccl_session *)base;
    if (!kill && !s->context->setup.jobs)
        nccl_session_compare_with_site(s);
    s->context->killed |= kill;
    nccl_pool_stop(s->context->pool, kill);
    arena_free(s->arena);
}

/* ---- what NCCL tables ---- */

static const struct algorithm_table *find_table(struct nccl_session *s, const struct known_place *at,
                                                volatile sig_atomic_t *stop)
{
    const struct bench_shape shape = {at->nodes, at->ranks, at->others};
    const struct nccl_measure q = nccl_session_question(s, at->coll, at->bytes, shape, at->buffers);
    for (int i = 0; i < s->ntables; i++)
        if (nccl_same_point(&s->tables[i].point, &q.point))
            return &s->tables[i];
    char detail[BENCH_DETAIL];
    struct nccl_request r = {s, stop, START_LEAST_S, detail};
    enum bench_status status;
    double us;
    int refusals;
    if (nccl_session_prepare(&r, &q.point, &refusals) != BENCH_ANSWERED || refusals ||
        nccl_session_ask(&r, &q, &status, &us) != BENCH_ANSWERED || status != BENCH_OK)
        return NULL;
    struct algorithm_table *found = &ARENA_ADD(s->arena, s->tables, s->ntables);
    *found = (struct algorithm_table){q.point, s->times[0].choice};
    return found;
}

/* NCCL's own prediction for a call at a point: the engine's word on what is worth trying first. */
static double expect_us(struct bench_session *base, const struct known_place *at, const struct bench_knobs *call,
                        volatile sig_atomic_t *stop)
{
    const struct algorithm_table *o = find_table((struct nccl_session *)base, at, stop);
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
static int vary_chunks(struct bench_session *base, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                       struct bench_knobs out[BENCH_VARIATIONS])
{
    struct nccl_session *s = (struct nccl_session *)base;
    return s->api < CHUNK_API ? 0 : nccl_plan_vary(s->launch, call, bytes, a, out);
}

/* Two GPUs, on one node or on two, are measured as jobs use them; host memory stands in for them nowhere. */
static int suits_nodes(const struct topology *topology)
{
    return topo_measured_gpus(topology) >= 2;
}

static const struct bench_measure_ops ops = {
    .sampling = NCCL_SAMPLING,
    .buffers = 1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE | 1u << BENCH_OUT_OF_PLACE | 1u << BENCH_GRAPH |
               1u << BENCH_REGISTERED,
    .suits = suits_nodes,
    .plan = plan_launches,
    .combine = nccl_plan_combine,
    .open = open_session,
    .measure = nccl_session_measure,
    .close = close_session,
    .noise = add_noise,
    .finish = close_pool,
    .expect_us = expect_us,
    .vary = vary_chunks,
};

const struct bench_engine bench_engine_nccl = {
    .name = "nccl",
    .description = "collectives on device memory through NCCL or RCCL",
    .evidence = BENCH_ON_GPUS,
    .family = BENCH_FAMILY_NCCL,
    .most_bytes = BENCH_MOST_BYTES,
    .usual_bytes = (uint64_t)4 << 30,
    .options_title = "NCCL or RCCL (--engine nccl)",
    .options = options,
    .options_bytes = sizeof(struct nccl_options),
    .measures = &ops,
};
