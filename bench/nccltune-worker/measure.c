/* Measuring inside one group of ranks. */
#include "bench/nccltune-worker/measure.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/coll.h"

#define GPU_NO_GRAPHS       801 /* CUDA_ERROR_NOT_SUPPORTED, hipErrorNotSupported */
#define STREAM_NON_BLOCKING 1
#define SCRATCH_BYTES       ((size_t)4096)
#define POISON              0xa5
#define POLLS_PER_LOOK      256 /* of the event between looks at NCCL's own errors */

/* Untimed calls after each switch: the first wakes NCCL's proxy threads and the GPU's clock, the second finds them
 * awake. */
#define WARM_CALLS 2

/* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: NCCL's own threads may go on calling the driver. */
#define THREAD_LOCAL 1

/* Calls in a captured chain: as many as hide the launch of the chain, few enough to be captured for every sample. */
#define CHAIN 20

static int set_gpu_error(struct measurer *m, int code, const char *what, struct err *e)
{
    return code ? err_set(e, ERR_FAILED, "rank %d: %s: %s", m->all.rank, what, gpu_error(&m->gpu, code)) : 0;
}

static int set_nccl_error(struct measurer *m, int code, struct err *e)
{
    code = nccl_settled(&m->nccl, m->group.comm, code);
    return code ? err_set(e, ERR_FAILED, "rank %d: %s", m->all.rank, nccl_error(&m->nccl, m->group.comm, code)) : 0;
}

int measure_open(struct measurer *m, struct err *e)
{
    const struct gpu *g = &m->gpu;
    int rc = g->stream(&m->stream, STREAM_NON_BLOCKING);
    rc = rc ? rc : g->event(&m->start, 0);
    rc = rc ? rc : g->event(&m->stop, 0);
    rc = rc ? rc : g->alloc(&m->scratch, SCRATCH_BYTES);
    rc = rc ? rc : g->put_fill(m->scratch, 0, SCRATCH_BYTES, m->stream);
    return set_gpu_error(m, rc, "cannot set up the GPU", e);
}

/* What NCCL itself says of its communicators meanwhile. */
static int look_for_errors(struct measurer *m, const struct group *g, struct err *e)
{
    int async = 0;
    return g->comm && !m->nccl.comm_async_error(g->comm, &async) && async != NCCL_IN_PROGRESS
               ? set_nccl_error(m, async, e)
               : 0;
}

/* Waits for an event without blocking in the driver, because only NCCL can say that a peer is gone. */
static int wait_for_event(struct measurer *m, void *event, struct err *e)
{
    for (unsigned polls = 1;; polls++) {
        int rc = m->gpu.query(event);
        if (rc != GPU_NOT_READY)
            return set_gpu_error(m, rc, "the GPU failed", e);
        if (polls % POLLS_PER_LOOK)
            continue;
        if (look_for_errors(m, &m->group, e) || look_for_errors(m, &m->all, e))
            return ERR_FAILED;
        sched_yield();
    }
}

static int finish_stream(struct measurer *m, struct err *e)
{
    int rc = set_gpu_error(m, m->gpu.record(m->stop, m->stream), "cannot record an event", e);
    return rc ? rc : wait_for_event(m, m->stop, e);
}

/* Chosen for this collective from the next call on; with nothing requested the table is held back. */
static void request_choice(struct measurer *m, int coll, int algo, int proto, int channels, uint32_t chunk)
{
    if (m->steer.force && coll < COLL_COUNT)
        m->steer.force(&(struct nccltune_force){coll, algo, proto, channels, chunk});
}

static int start_barrier(struct measurer *m, struct err *e)
{
    request_choice(m, COLL_ALLREDUCE, -1, -1, 0, 0);
    int rc = m->nccl.all_reduce(m->scratch, m->scratch, 1, NCCL_INT32, NCCL_SUM, m->all.comm, m->stream);
    return set_nccl_error(m, nccl_settled(&m->nccl, m->all.comm, rc), e);
}

int measure_barrier(struct measurer *m, struct err *e)
{
    int rc = start_barrier(m, e);
    return rc ? rc : finish_stream(m, e);
}

/* The group's first call: it connects, and the plugin hears how many nodes NCCL counts. */
static int connect_group(struct measurer *m, struct nccl_prepared *done, struct err *e)
{
    struct nccltune_record r;
    int rc = m->group.comm
                 ? m->nccl.all_reduce(m->scratch, m->scratch, 1, NCCL_INT32, NCCL_SUM, m->group.comm, m->stream)
                 : 0;
    if (set_nccl_error(m, rc, e) || finish_stream(m, e))
        return ERR_FAILED;
    if (m->group.comm && m->steer.last && !m->steer.last(&r))
        done->nodes = r.nodes;
    return 0;
}

int measure_prepare(struct measurer *m, const struct nccl_point *p, struct nccl_prepared *done, struct err *e)
{
    const struct group *g = &m->group;
    int same = bench_shape_same(&g->of.shape, &p->groups.shape);
    *done = (struct nccl_prepared){.group = -1};
    if (!same)
        buffers_drop(&m->buffers, &(struct buffers_owner){&m->gpu, &m->nccl, g->comm, m->stream, m->device, 0, 0});
    if (group_enter(&m->group, &m->nccl, &m->all, &p->groups, e) || (!same && connect_group(m, done, e)))
        return ERR_FAILED;
    done->group = g->number;
    if (!g->comm)
        return 0;
    struct buffers_owner o = {&m->gpu, &m->nccl, g->comm, m->stream, m->device, g->rank, g->nranks};
    return buffers_prepare(&m->buffers, &o, p, done, e);
}

/* ---- calls ---- */

static int all_to_all(struct measurer *m, struct pair b)
{
    const struct nccl *n = &m->nccl;
    const struct data_shape *s = &m->buffers.shape;
    size_t size = data_type_bytes(s->type), block = s->count * size, part = s->part * size;
    int rc = n->group_start();
    for (int r = 0; r < m->group.nranks && !rc; r++) {
        size_t first = (size_t)coll_blocks(s->coll, r), blocks = (size_t)coll_blocks(s->coll, r + 1) - first;
        rc = n->send(b.send + first * block, blocks * s->count, s->type, r, m->group.comm, m->stream);
        rc = rc ? rc : n->recv(b.recv + (size_t)r * part, s->part, s->type, r, m->group.comm, m->stream);
    }
    int end = n->group_end();
    return rc ? rc : end;
}

/* Around the ring, as stages of a pipeline hand on. */
static int shift_around(struct measurer *m, struct pair b)
{
    const struct nccl *n = &m->nccl;
    const struct data_shape *s = &m->buffers.shape;
    const struct group *g = &m->group;
    int rc = n->group_start();
    rc = rc ? rc : n->send(b.send, s->count, s->type, (g->rank + 1) % g->nranks, g->comm, m->stream);
    rc = rc ? rc : n->recv(b.recv, s->count, s->type, (g->rank + g->nranks - 1) % g->nranks, g->comm, m->stream);
    int end = n->group_end();
    return rc ? rc : end;
}

/* On the pair whose turn it is. */
static int make_call(struct measurer *m)
{
    const struct nccl *n = &m->nccl;
    const struct data_shape *s = &m->buffers.shape;
    struct pair b = buffers_pair(&m->buffers);
    switch (s->coll) {
    case COLL_BROADCAST:
        return n->broadcast(b.send, b.recv, s->count, s->type, 0, m->group.comm, m->stream);
    case COLL_REDUCE:
        return n->reduce(b.send, b.recv, s->count, s->type, NCCL_SUM, 0, m->group.comm, m->stream);
    case COLL_ALLGATHER:
        return n->all_gather(b.send, b.recv, s->count, s->type, m->group.comm, m->stream);
    case COLL_REDUCESCATTER:
        return n->reduce_scatter(b.send, b.recv, s->count, s->type, NCCL_SUM, m->group.comm, m->stream);
    case COLL_ALLTOALL:
    case COLL_ALLTOALLV:
        return all_to_all(m, b);
    case COLL_SENDRECV:
        return shift_around(m, b);
    default:
        return n->all_reduce(b.send, b.recv, s->count, s->type, NCCL_SUM, m->group.comm, m->stream);
    }
}

static void choose_cheapest(struct nccl_choice *c)
{
    c->algo = c->proto = -1;
    float best = 0;
    for (int i = 0; i < c->algos * c->protos && i < NCCL_CELLS; i++)
        if (c->allowed >> i & 1 && (c->algo < 0 || c->cost_us[i] < best)) {
            best = c->cost_us[i];
            c->algo = i / c->protos;
            c->proto = i % c->protos;
        }
}

/* What the plugin saw of the last call. */
static void read_choice(struct measurer *m, struct nccl_choice *c)
{
    struct nccltune_record r;
    memset(c, 0, sizeof *c);
    if (!m->steer.last || m->buffers.shape.coll >= COLL_COUNT || m->group.nranks == 1 || m->steer.last(&r) ||
        r.protos < 1)
        return;
    *c = (struct nccl_choice){.known = 1,
                              .algos = r.algos,
                              .protos = r.protos,
                              .allowed = r.allowed,
                              .channels = r.channels,
                              .channels_run = r.channels_run,
                              .refused = r.source == NCCLTUNE_SOURCE_REFUSED,
                              .registered = r.reg_buff};
    memcpy(c->cost_us, r.cost, sizeof c->cost_us);
    if (r.algo >= 0 && r.proto >= 0) {
        c->algo = r.algo;
        c->proto = r.proto;
    } else {
        choose_cheapest(c);
    }
}
_Static_assert(NCCL_CELLS == NCCLTUNE_CONTROL_CELLS, "cost tables are copied whole");

/* Sends known data through one call. The receive buffer is spoilt first, or the result of an earlier call would do; in
 * place that spoils what is sent, too. */
static int check_data(struct measurer *m, struct nccl_times *t, struct err *e)
{
    struct err said = {0};
    struct buffers *b = &m->buffers;
    struct pair p = buffers_pair(b);
    int rc = m->gpu.put_fill(p.recv, POISON, b->shape.recv * data_type_bytes(b->shape.type), m->stream);
    if (!rc && b->in_place)
        rc = data_fill(&m->gpu, m->stream, &b->shape, p.send);
    if (set_gpu_error(m, rc, "cannot fill buffers", e) || set_nccl_error(m, make_call(m), e) || finish_stream(m, e))
        return ERR_FAILED;
    read_choice(m, &t->choice);
    int wrong = data_check(&m->gpu, m->stream, &b->shape, p.recv, &said);
    if (wrong < 0)
        return err_set(e, ERR_FAILED, "%s", said.text);
    snprintf(t->detail, sizeof t->detail, "%.*s", (int)sizeof t->detail - 1, said.text);
    t->status = wrong ? NCCL_WRONG : NCCL_DONE;
    buffers_turn(b);
    return 0;
}

/* ---- a sample ---- */

/* What one sample repeats: a call, or a chain of calls that has been captured. */
struct batch {
    struct measurer *m;
    void *graph; /* NULL: single calls */
    int calls;   /* in one of them */
    int times;
    struct err *e;
};

static int run_calls(void *user)
{
    const struct batch *b = user;
    for (int i = 0; i < b->calls; i++) {
        if (set_nccl_error(b->m, make_call(b->m), b->e))
            return ERR_FAILED;
        buffers_turn(&b->m->buffers);
    }
    return 0;
}

static int run_batch(struct batch *b, int times)
{
    struct measurer *m = b->m;
    int rc = 0;
    for (int i = 0; i < times && !rc; i++)
        rc = b->graph ? set_gpu_error(m, m->gpu.graph_launch(b->graph, m->stream), "cannot launch a CUDA graph", b->e)
                      : run_calls(b);
    return rc;
}

/* Capture what `work` puts on `stream` into `*graph`, ready to be launched: what a call takes where the launch of each
 * is no longer paid, as in inference. Returns the driver's code; `*worked` is what `work` returned, and unless that is
 * 0 nothing was captured. */
static int capture_graph(const struct gpu *g, void *stream, int (*work)(void *user), void *user, int *worked,
                         void **graph)
{
    void *captured = NULL;
    *worked = 0;
    *graph = 0;
    if (!g->capture_begin || !g->capture_end || !g->graph_make || !g->graph_launch || !g->graph_free || !g->graph_drop)
        return GPU_NO_GRAPHS;
    int rc = g->capture_begin(stream, THREAD_LOCAL);
    if (rc)
        return rc;
    *worked = work(user);
    rc = g->capture_end(stream, &captured);
    if (!rc && !*worked)
        rc = g->graph_make(graph, captured, 0);
    if (captured)
        g->graph_drop(captured);
    return rc;
}

/* The sample's calls, captured where that is asked for: the plugin is asked then, and what it saw is in `t`. */
static int make_batch(struct batch *b, const struct nccl_measure *q, struct nccl_times *t)
{
    struct measurer *m = b->m;
    int failed = 0;
    b->calls = 1;
    b->times = q->iterations;
    if (!q->graph)
        return 0;
    b->calls = q->iterations < CHAIN ? q->iterations : CHAIN;
    b->times = (q->iterations + b->calls - 1) / b->calls;
    int rc = capture_graph(&m->gpu, m->stream, run_calls, b, &failed, &b->graph);
    if (failed || set_gpu_error(m, rc, "cannot capture calls in a CUDA graph", b->e))
        return ERR_FAILED;
    read_choice(m, &t->choice);
    return 0;
}

static double now_us(const struct measurer *m)
{
    return m->gpu.host_us ? m->gpu.host_us() : (double)clock_now_ns() * 1e-3;
}

/* From event to event by the GPU's clock. By the host's the batch took at least from when its beginning was seen, at
 * most from when it was sent off. */
static int time_batch(struct batch *b, struct nccl_times *t)
{
    struct measurer *m = b->m;
    float ms = 0;
    double sent = now_us(m), calls = (double)b->calls * b->times;
    if (set_gpu_error(m, m->gpu.record(m->start, m->stream), "cannot record an event", b->e) ||
        run_batch(b, b->times) || set_gpu_error(m, m->gpu.record(m->stop, m->stream), "cannot record an event", b->e) ||
        wait_for_event(m, m->start, b->e))
        return ERR_FAILED;
    double seen = now_us(m);
    if (wait_for_event(m, m->stop, b->e))
        return ERR_FAILED;
    double over = now_us(m);
    int rc = m->gpu.elapsed_ms(&ms, m->start, m->stop);
    t->us = (double)ms * 1e3 / calls;
    t->host_least_us = (over - seen) / calls;
    t->host_most_us = (over - sent) / calls;
    return set_gpu_error(m, rc, "cannot read a time", b->e);
}

/* The ranks meet, warm up and go on into the timed calls without a gap. */
static int take_sample(struct measurer *m, const struct nccl_measure *q, struct nccl_times *t, struct err *e)
{
    struct batch b = {.m = m, .e = e};
    int rc = make_batch(&b, q, t);
    if (!rc)
        rc = start_barrier(m, e);
    request_choice(m, q->point.coll, q->algo, q->proto, q->channels, q->chunk_bytes);
    rc = rc ? rc : run_batch(&b, b.graph ? 1 : WARM_CALLS);
    rc = rc ? rc : time_batch(&b, t);
    if (b.graph)
        m->gpu.graph_free(b.graph);
    else if (!rc)
        read_choice(m, &t->choice);
    return rc;
}

int measure_run(struct measurer *m, const struct nccl_measure *q, struct nccl_times *t, struct err *e)
{
    memset(t, 0, sizeof *t);
    if (!m->group.comm) /* it meets those that are in groups, and that is all */
        return measure_barrier(m, e);
    if (q->iterations < 1 || !m->buffers.slots)
        return err_set(e, ERR_FAILED, "rank %d: a request without iterations or without a prepared point", m->all.rank);
    request_choice(m, q->point.coll, q->algo, q->proto, q->channels, q->chunk_bytes);
    if (q->check && check_data(m, t, e))
        return ERR_FAILED;
    /* Also after wrong data: the other ranks, where it may have been right, are on their way into the sample. And where
     * this group is refused, another may not be. */
    if (t->choice.refused ? measure_barrier(m, e) : take_sample(m, q, t, e))
        return ERR_FAILED;
    if (t->choice.refused) {
        t->status = NCCL_REFUSED;
        snprintf(t->detail, sizeof t->detail, "NCCL does not offer %s with %s here", algo_name(q->algo),
                 proto_name(q->proto));
    }
    request_choice(m, q->point.coll, -1, -1, 0, 0);
    return 0;
}
