/* Measuring inside one communicator. */
#include "bench/nccltune-worker/measure.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "bench/nccltune-worker/cuda_graph.h"
#include "core/coll.h"

#define STREAM_NON_BLOCKING 1
#define ALIGNMENT           ((size_t)4096)
#define HOT_BYTES           ((size_t)1 << 20)   /* up to here data is hot in real jobs too */
#define COLD_BYTES          ((size_t)256 << 20) /* more than any GPU's cache */
#define MAX_SLOTS           16
#define POISON              0xa5
#define POLLS_PER_LOOK      256 /* of the event between looks at NCCL's own errors */

static int gpu_says(struct measurer *m, int code, const char *what, char *why, size_t bytes)
{
    if (code)
        snprintf(why, bytes, "rank %d: %s: %s", m->rank, what, gpu_error(&m->gpu, code));
    return code ? -1 : 0;
}

static int nccl_says(struct measurer *m, int code, char *why, size_t bytes)
{
    char text[NCCL_TEXT];
    if (code)
        snprintf(why, bytes, "rank %d: %s", m->rank, nccl_error(&m->nccl, m->comm, code, text, sizeof text));
    return code ? -1 : 0;
}

int measure_open(struct measurer *m, char *why, size_t bytes)
{
    const struct gpu *g = &m->gpu;
    int rc = g->stream(&m->stream, STREAM_NON_BLOCKING);
    rc = rc ? rc : g->event(&m->start, 0);
    rc = rc ? rc : g->event(&m->stop, 0);
    rc = rc ? rc : g->alloc(&m->scratch, ALIGNMENT);
    rc = rc ? rc : g->fill(m->scratch, 0, ALIGNMENT);
    return gpu_says(m, rc, "cannot set up the GPU", why, bytes);
}

/* Waits for an event without blocking in the driver, because only NCCL can say that a peer is gone. */
static int wait_for(struct measurer *m, void *event, char *why, size_t bytes)
{
    for (unsigned polls = 1;; polls++) {
        int rc = m->gpu.query(event), async = 0;
        if (rc != GPU_NOT_READY)
            return gpu_says(m, rc, "the GPU failed", why, bytes);
        if (polls % POLLS_PER_LOOK)
            continue;
        if (!m->nccl.comm_async_error(m->comm, &async) && nccl_says(m, async, why, bytes))
            return -1;
        sched_yield();
    }
}

static int finish(struct measurer *m, char *why, size_t bytes)
{
    int rc = m->gpu.record(m->stop, m->stream);
    return gpu_says(m, rc, "cannot record an event", why, bytes) ? -1 : wait_for(m, m->stop, why, bytes);
}

/* Chosen for this collective from the next call on; with nothing requested the table is held back. */
static void request(struct measurer *m, int coll, int algo, int proto, int channels, uint32_t chunk)
{
    if (m->steer.force && coll < COLL_COUNT)
        m->steer.force(&(struct nccltune_force){coll, algo, proto, channels, chunk});
}

static int start_barrier(struct measurer *m, char *why, size_t bytes)
{
    request(m, COLL_ALLREDUCE, -1, -1, 0, 0);
    return nccl_says(m, m->nccl.all_reduce(m->scratch, m->scratch, 1, NCCL_INT32, NCCL_SUM, m->comm, m->stream), why,
                     bytes);
}

int measure_barrier(struct measurer *m, char *why, size_t bytes)
{
    return start_barrier(m, why, bytes) ? -1 : finish(m, why, bytes);
}

/* ---- buffers ---- */

static size_t aligned(uint64_t bytes)
{
    return ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct pair {
    char *send, *recv;
};

/* In place is where nccl-tests has it: the smaller buffer is this rank's part of the larger one. */
static struct pair buffers(const struct measurer *m, int slot)
{
    const struct data_shape *s = &m->shape;
    size_t size = data_type_bytes(s->type), send = aligned(s->send * size), recv = aligned(s->recv * size);
    char *at = m->memory + (size_t)slot * (send + recv);
    struct pair p = {at, at + send};
    if (m->in_place && s->send <= s->recv)
        p.send = p.recv + (s->send < s->recv ? (size_t)s->rank * s->count * size : 0);
    else if (m->in_place)
        p.recv = p.send + (size_t)s->rank * s->count * size;
    return p;
}

static int make_room(struct measurer *m, size_t need, char *why, size_t bytes)
{
    if (m->memory_bytes >= need)
        return 0;
    if (m->memory)
        m->gpu.release(m->memory);
    void *memory = NULL;
    int rc = m->gpu.alloc(&memory, need);
    m->memory = rc ? NULL : memory;
    m->memory_bytes = rc ? 0 : need;
    char what[64];
    snprintf(what, sizeof what, "cannot allocate %zu bytes", need);
    return gpu_says(m, rc, what, why, bytes);
}

int measure_prepare(struct measurer *m, const struct nccl_point *p, char *why, size_t bytes)
{
    m->filled = 0;
    m->in_place = p->in_place;
    if (data_shape_of(p, m->rank, m->nranks, &m->shape)) {
        snprintf(why, bytes, "rank %d: %llu bytes leave no element for each of %d ranks", m->rank,
                 (unsigned long long)p->bytes, m->nranks);
        return -1;
    }
    size_t size = data_type_bytes(m->shape.type);
    size_t pair = aligned(m->shape.send * size) + aligned(m->shape.recv * size);
    m->slots = 1;
    if (p->bytes > HOT_BYTES)
        m->slots = COLD_BYTES / pair + 1 < MAX_SLOTS ? (int)(COLD_BYTES / pair + 1) : MAX_SLOTS;
    if (m->slots == 1 && p->bytes > HOT_BYTES)
        m->slots = 2;
    return make_room(m, (size_t)m->slots * pair, why, bytes);
}

/* ---- calls ---- */

static int all_to_all(struct measurer *m, struct pair b)
{
    const struct nccl *n = &m->nccl;
    size_t part = m->shape.count * data_type_bytes(m->shape.type);
    int rc = n->group_start();
    for (int r = 0; r < m->nranks && !rc; r++) {
        rc = n->send(b.send + (size_t)r * part, m->shape.count, m->shape.type, r, m->comm, m->stream);
        rc = rc ? rc : n->recv(b.recv + (size_t)r * part, m->shape.count, m->shape.type, r, m->comm, m->stream);
    }
    int end = n->group_end();
    return rc ? rc : end;
}

static int call(struct measurer *m, int slot)
{
    const struct nccl *n = &m->nccl;
    const struct data_shape *s = &m->shape;
    struct pair b = buffers(m, slot);
    switch (s->coll) {
    case COLL_BROADCAST:
        return n->broadcast(b.send, b.recv, s->count, s->type, 0, m->comm, m->stream);
    case COLL_REDUCE:
        return n->reduce(b.send, b.recv, s->count, s->type, NCCL_SUM, 0, m->comm, m->stream);
    case COLL_ALLGATHER:
        return n->all_gather(b.send, b.recv, s->count, s->type, m->comm, m->stream);
    case COLL_REDUCESCATTER:
        return n->reduce_scatter(b.send, b.recv, s->count, s->type, NCCL_SUM, m->comm, m->stream);
    case COLL_ALLTOALL:
        return all_to_all(m, b);
    default:
        return n->all_reduce(b.send, b.recv, s->count, s->type, NCCL_SUM, m->comm, m->stream);
    }
}

static void cheapest(struct nccl_choice *c)
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
    if (!m->steer.last || m->shape.coll >= COLL_COUNT || m->nranks == 1 || m->steer.last(&r) || r.protos < 1)
        return;
    *c = (struct nccl_choice){.known = 1,
                              .algos = r.algos,
                              .protos = r.protos,
                              .allowed = r.allowed,
                              .channels = r.channels,
                              .refused = r.source == NCCLTUNE_SOURCE_REFUSED};
    memcpy(c->cost_us, r.cost, sizeof c->cost_us);
    if (r.algo >= 0 && r.proto >= 0) {
        c->algo = r.algo;
        c->proto = r.proto;
    } else {
        cheapest(c);
    }
}
_Static_assert(NCCL_CELLS == NCCLTUNE_CONTROL_CELLS, "cost tables are copied whole");

/* Sends known data through one call. The receive buffer is spoilt first, or the result of an earlier call would do. */
static int check(struct measurer *m, struct nccl_times *t, char *why, size_t bytes)
{
    struct pair b = buffers(m, 0);
    size_t size = data_type_bytes(m->shape.type);
    int rc = m->gpu.fill(b.recv, POISON, m->shape.recv * size);
    if (!rc && (!m->filled || m->in_place))
        rc = data_fill(&m->gpu, &m->shape, b.send);
    if (gpu_says(m, rc, "cannot fill buffers", why, bytes))
        return -1;
    m->filled = 1;
    if (nccl_says(m, call(m, 0), why, bytes) || finish(m, why, bytes))
        return -1;
    read_choice(m, &t->choice);
    int wrong = data_check(&m->gpu, &m->shape, b.recv, t->detail, sizeof t->detail);
    if (wrong < 0)
        snprintf(why, bytes, "%s", t->detail);
    t->status = wrong > 0 ? NCCL_WRONG : NCCL_DONE;
    return wrong < 0 ? -1 : 0;
}

/* The calls of one sample. */
struct row {
    struct measurer *m;
    int calls;
    char *why;
    size_t bytes;
};

static int run_row(void *user)
{
    const struct row *r = user;
    for (int i = 0; i < r->calls; i++)
        if (nccl_says(r->m, call(r->m, i % r->m->slots), r->why, r->bytes))
            return -1;
    return 0;
}

/* The row as a CUDA graph that has run once, or NULL: the plugin has been asked, and what it saw is in `t`. */
static void *make_cuda_graph(struct row *r, struct nccl_times *t)
{
    struct measurer *m = r->m;
    void *graph = NULL;
    int failed, rc = cuda_graph_capture(&m->gpu, m->stream, run_row, r, &failed, &graph);
    if (failed || gpu_says(m, rc, "cannot capture calls in a CUDA graph", r->why, r->bytes))
        return NULL;
    read_choice(m, &t->choice);
    if (!gpu_says(m, m->gpu.graph_launch(graph, m->stream), "cannot launch a CUDA graph", r->why, r->bytes) &&
        !finish(m, r->why, r->bytes))
        return graph;
    m->gpu.graph_free(graph);
    return NULL;
}

static int sample(struct measurer *m, const struct nccl_measure *q, struct nccl_times *t, char *why, size_t bytes)
{
    struct row row = {m, q->iterations, why, bytes};
    void *graph = q->graph ? make_cuda_graph(&row, t) : NULL;
    float ms = 0;
    if ((q->graph && !graph) || start_barrier(m, why, bytes))
        return -1;
    request(m, q->point.coll, q->algo, q->proto, q->channels, q->chunk_bytes);
    int rc = m->gpu.record(m->start, m->stream);
    if (graph)
        rc = rc ? rc : m->gpu.graph_launch(graph, m->stream);
    else if (!rc && run_row(&row))
        return -1;
    if (gpu_says(m, rc, "cannot put work on the GPU", why, bytes) || finish(m, why, bytes))
        return -1;
    rc = m->gpu.elapsed_ms(&ms, m->start, m->stop);
    t->us = (double)ms * 1e3 / q->iterations;
    if (graph)
        m->gpu.graph_free(graph);
    else
        read_choice(m, &t->choice);
    return gpu_says(m, rc, "cannot read a time", why, bytes);
}

int measure_run(struct measurer *m, const struct nccl_measure *q, struct nccl_times *t, char *why, size_t bytes)
{
    memset(t, 0, sizeof *t);
    if (q->iterations < 1 || !m->shape.count) {
        snprintf(why, bytes, "rank %d: a request without iterations or without a prepared point", m->rank);
        return -1;
    }
    request(m, q->point.coll, q->algo, q->proto, q->channels, q->chunk_bytes);
    if (q->check && check(m, t, why, bytes))
        return -1;
    /* Also after wrong data: the other ranks, where it may have been right, are on their way into the sample. */
    if (!t->choice.refused && sample(m, q, t, why, bytes))
        return -1;
    if (t->choice.refused) {
        t->status = NCCL_REFUSED;
        snprintf(t->detail, sizeof t->detail, "NCCL does not offer %s with %s here", algo_name(q->algo),
                 proto_name(q->proto));
    }
    request(m, q->point.coll, -1, -1, 0, 0);
    return 0;
}
