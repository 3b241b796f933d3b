/* Allocating, filling and taking turns. */
#include "bench/nccltune-worker/buffers.h"

#include <stdio.h>
#include <string.h>

#define ALIGNMENT ((size_t)4096)
#define HOT_BYTES ((size_t)1 << 20) /* up to here data is hot in real jobs too */
#define MAX_SLOTS 256

/* Twice the cache, so that a pair's turn comes when nothing of it is left. AMD's driver reports the L2 of one die: the
 * Infinity Cache of an MI300X behind it has 256 MiB. */
#define CACHE_TIMES 2
#define CACHE_HIP   ((size_t)256 << 20)

static size_t aligned(uint64_t bytes)
{
    return ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t send_bytes(const struct buffers *b)
{
    return aligned(b->shape.send * data_type_bytes(b->shape.type));
}

static size_t recv_bytes(const struct buffers *b)
{
    return aligned(b->shape.recv * data_type_bytes(b->shape.type));
}

/* In place one of the two does without memory of its own. */
static size_t pair_bytes(const struct buffers *b)
{
    size_t send = send_bytes(b), recv = recv_bytes(b);
    return !b->in_place ? send + recv : send > recv ? send : recv;
}

static struct pair pair_at(const struct buffers *b, int slot)
{
    const struct data_shape *s = &b->shape;
    size_t part = (size_t)s->rank * s->count * data_type_bytes(s->type);
    char *at = b->memory + (size_t)slot * pair_bytes(b);
    if (!b->in_place)
        return (struct pair){at, at + send_bytes(b)};
    return (struct pair){at + (s->send < s->recv ? part : 0), at + (s->recv < s->send ? part : 0)};
}

struct pair buffers_pair(const struct buffers *b)
{
    return pair_at(b, b->cursor);
}

void buffers_turn(struct buffers *b)
{
    b->cursor = (b->cursor + 1) % b->slots;
}

void buffers_drop(struct buffers *b, const struct buffers_owner *o)
{
    if (b->handle)
        o->nccl->comm_deregister(o->comm, b->handle);
    if (b->memory && b->registered)
        o->nccl->mem_free(b->memory);
    else if (b->memory)
        o->gpu->release(b->memory);
    *b = (struct buffers){0};
}

/* Memory, from NCCL and registered where that is asked for. A code, 0 done. */
static int take(struct buffers *b, const struct buffers_owner *o, size_t need)
{
    void *memory = NULL;
    int rc = b->registered ? o->nccl->mem_alloc(&memory, need) : o->gpu->alloc(&memory, need);
    if (rc)
        return rc;
    if (b->registered)
        rc = nccl_settled(o->nccl, o->comm, o->nccl->comm_register(o->comm, memory, need, &b->handle));
    if (rc) {
        o->nccl->mem_free(memory);
        b->handle = NULL;
        return rc;
    }
    b->memory = memory;
    b->bytes = need;
    return 0;
}

static int say(const struct buffers_owner *o, const struct buffers *b, int code, const char *what, char *why,
               size_t bytes)
{
    char text[NCCL_TEXT / 2];
    if (code)
        snprintf(why, bytes, "rank %d: %s: %s", o->rank, what,
                 b->registered ? nccl_error(o->nccl, o->comm, code, text, sizeof text) : gpu_error(o->gpu, code));
    return code ? -1 : 0;
}

static int slots_for(size_t pair, size_t point, size_t cold)
{
    if (point <= HOT_BYTES)
        return 1;
    size_t n = cold / pair + 1;
    return n < 2 ? 2 : n < MAX_SLOTS ? (int)n : MAX_SLOTS;
}

/* Room for as many pairs as there is memory for. What an earlier point has left is used again. */
static int make_room(struct buffers *b, const struct buffers_owner *o, struct buffers *before, char *why, size_t bytes)
{
    size_t pair = pair_bytes(b);
    if (before->registered == b->registered && before->bytes >= (size_t)b->slots * pair) {
        b->memory = before->memory;
        b->bytes = before->bytes;
        b->handle = before->handle;
        return 0;
    }
    buffers_drop(before, o);
    int rc = take(b, o, (size_t)b->slots * pair);
    while (rc && b->slots > 1) {
        b->slots = (b->slots + 1) / 2;
        rc = take(b, o, (size_t)b->slots * pair);
    }
    char what[64];
    snprintf(what, sizeof what, "cannot allocate %zu bytes", pair);
    return say(o, b, rc, what, why, bytes);
}

/* Every pair's send buffer: the first through the host, the others from it. */
static int fill(const struct buffers *b, const struct buffers_owner *o, char *why, size_t bytes)
{
    const struct gpu *g = o->gpu;
    struct pair first = pair_at(b, 0);
    int rc = data_fill(g, o->stream, &b->shape, first.send);
    for (int i = 1; i < b->slots && !rc; i++)
        rc = g->put_across(pair_at(b, i).send, first.send, b->shape.send * data_type_bytes(b->shape.type), o->stream);
    rc = rc ? rc : g->finish(o->stream);
    if (rc)
        snprintf(why, bytes, "rank %d: cannot fill buffers: %s", o->rank, gpu_error(g, rc));
    return rc ? -1 : 0;
}

int buffers_prepare(struct buffers *b, const struct buffers_owner *o, const struct nccl_point *p,
                    struct nccl_prepared *done, char *why, size_t bytes)
{
    struct buffers before = *b, now = {.in_place = p->in_place, .registered = p->registered}, least = now;
    size_t cache = gpu_cache_bytes(o->gpu, o->device), most = o->gpu->hip && cache < CACHE_HIP ? CACHE_HIP : cache;
    if (p->registered && (!o->nccl->mem_alloc || !o->nccl->comm_register)) {
        snprintf(why, bytes, "rank %d: this NCCL has no ncclMemAlloc and ncclCommRegister", o->rank);
        return -1;
    }
    if (data_shape_of(p, o->nranks - 1, o->nranks, &least.shape) || data_shape_of(p, o->rank, o->nranks, &now.shape)) {
        snprintf(why, bytes, "rank %d: %llu bytes leave no element for each of %d ranks", o->rank,
                 (unsigned long long)p->bytes, o->nranks);
        return -1;
    }
    now.slots = slots_for(pair_bytes(&least), p->bytes, CACHE_TIMES * most); /* as many on every rank */
    int rc = make_room(&now, o, &before, why, bytes);
    *b = now;
    if (rc) {
        buffers_drop(b, o);
        return -1;
    }
    done->working_set = (uint64_t)b->slots * pair_bytes(b);
    done->cache = p->bytes > HOT_BYTES ? most : 0;
    snprintf(done->type, sizeof done->type, "%s", data_type_name(b->shape.type));
    return fill(b, o, why, bytes);
}
