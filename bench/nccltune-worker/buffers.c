/* Buffers on the GPU: what is put in them and what must come out, allocating, and taking turns.
 *
 * The pattern: element i of rank r is 1 + i % period + r % 5. Where the sum over so many ranks would no longer be exact
 * in the type, a reduction gets that from every n-th rank alone, in each element from others, and zeros from the rest.
 * Blocks are a multiple of what repeats, so that one on the host stands for all. */
#include "bench/nccltune-worker/buffers.h"

#include <stdio.h>
#include <string.h>

#include "core/coll.h"

/* ---- data ---- */

#define BLOCK ((size_t)1 << 20) /* bytes that go through the host at a time */

/* Up to `exact` all whole numbers can be held: float32 has 24 bits, bfloat16 eight. Integers wrap, which is exact. */
static const struct {
    int type;
    size_t bytes;
    uint64_t period, exact;
    const char *name;
} types[] = {{NCCL_INT8, 1, 3, UINT64_MAX, "int8"},
             {NCCL_INT32, 4, 251, UINT64_MAX, "int32"},
             {NCCL_FLOAT32, 4, 251, 1 << 24, "float32"},
             {NCCL_BFLOAT16, 2, 3, 1 << 8, "bfloat16"}};
#define RANK_PERIOD 5

static char block[BLOCK], expected[BLOCK];

static int find_type(int type)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (types[i].type == type)
            return i;
    return -1;
}

size_t data_type_bytes(int type)
{
    int i = find_type(type);
    return i < 0 ? 0 : types[i].bytes;
}

const char *data_type_name(int type)
{
    int i = find_type(type);
    return i < 0 ? "unknown" : types[i].name;
}

int data_shape_of(const struct nccl_point *p, int rank, int nranks, struct data_shape *s)
{
    uint64_t parts = (uint64_t)coll_blocks(p->coll, nranks);
    int type = p->type, scatters = p->coll != COLL_ALLGATHER && parts > 1;
    if (type == NCCL_TYPE_FITTING)
        type = p->bytes % (4 * parts) && p->bytes < (parts << 16) ? NCCL_INT8 : NCCL_FLOAT32;
    *s = (struct data_shape){.coll = p->coll, .type = type, .rank = rank, .nranks = nranks};
    size_t size = data_type_bytes(type);
    s->count = size ? p->bytes / size / parts : 0;
    s->send = s->count * (p->coll == COLL_ALLGATHER ? 1 : parts);
    s->part = s->count;
    if (scatters) {
        s->first = s->count * (uint64_t)coll_blocks(p->coll, rank);
        s->part = s->count * (uint64_t)coll_blocks(p->coll, rank + 1) - s->first;
    }
    s->recv = s->part * (parts > 1 && p->coll != COLL_REDUCESCATTER ? (uint64_t)nranks : 1);
    return s->count ? 0 : -1;
}

struct pattern {
    uint64_t period, stride; /* every stride-th rank gives something */
    uint64_t repeat, whole;  /* elements: after which it repeats, of a whole block */
};

static int is_reduction(int coll)
{
    return coll == COLL_ALLREDUCE || coll == COLL_REDUCE || coll == COLL_REDUCESCATTER;
}

/* -1: the type is unknown. */
static int choose_pattern(const struct data_shape *s, struct pattern *p)
{
    int i = find_type(s->type);
    if (i < 0)
        return -1;
    uint64_t period = types[i].period, most = types[i].exact / (period + RANK_PERIOD - 1);
    uint64_t stride = is_reduction(s->coll) ? ((uint64_t)s->nranks + most - 1) / most : 1, repeat = period * stride;
    *p = (struct pattern){period, stride, repeat, BLOCK / types[i].bytes / repeat * repeat};
    return 0;
}

static uint64_t value_given(const struct pattern *p, int rank, uint64_t i)
{
    uint64_t r = (uint64_t)rank;
    return i % p->stride == r % p->stride ? 1 + i % p->period + r % RANK_PERIOD : 0;
}

/* What element i of the receive buffer must hold. */
static uint64_t value_wanted(const struct data_shape *s, const struct pattern *p, uint64_t i)
{
    uint64_t sum = 0;
    if (s->coll == COLL_SENDRECV)
        return value_given(p, (s->rank + s->nranks - 1) % s->nranks, i);
    if (!is_reduction(s->coll)) /* from one after the other, Broadcast from the first alone */
        return value_given(p, (int)(i / s->part), s->first + i % s->part);
    for (int r = 0; r < s->nranks; r++)
        sum += value_given(p, r, s->first + i);
    return sum;
}

static void store_value(char *to, int type, uint64_t value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t half = (uint16_t)(bits >> 16); /* exact: few bits are set */
    uint32_t whole = (uint32_t)value;
    switch (type) {
    case NCCL_INT8:
        *to = (char)value;
        break;
    case NCCL_INT32:
        memcpy(to, &whole, sizeof whole);
        break;
    case NCCL_BFLOAT16:
        memcpy(to, &half, sizeof half);
        break;
    default:
        memcpy(to, &f, sizeof f);
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int data_fill(const struct gpu *g, void *stream, const struct data_shape *s, void *send)
{
    struct pattern p;
    if (choose_pattern(s, &p))
        return -1;
    size_t size = data_type_bytes(s->type);
    for (uint64_t k = 0; k < least(p.whole, s->send); k++)
        store_value(block + k * size, s->type, value_given(&p, s->rank, k));
    int rc = 0;
    for (uint64_t i = 0; i < s->send && !rc; i += p.whole)
        rc = g->put_in((char *)send + i * size, block, least(p.whole, s->send - i) * size, stream);
    return rc ? rc : g->finish(stream);
}

static void describe_wrong(const struct data_shape *s, uint64_t first, size_t n, struct err *e)
{
    size_t size = data_type_bytes(s->type), k = 0;
    while (k < n && !memcmp(block + k * size, expected + k * size, size))
        k++;
    char got[3 * 8 + 1] = "", want[3 * 8 + 1] = "";
    for (size_t b = 0; b < size; b++) {
        snprintf(got + 2 * b, 3, "%02x", (unsigned char)block[k * size + b]);
        snprintf(want + 2 * b, 3, "%02x", (unsigned char)expected[k * size + b]);
    }
    unsigned long long at = first + k, all = s->recv;
    err_set(e, ERR_FAILED, "rank %d: element %llu of %llu holds bytes %s, expected %s", s->rank, at, all, got, want);
}

/* One block of the result, `n` elements from the `first` on, against what is expected. */
static int check_block(const struct gpu *g, void *stream, const struct data_shape *s, const char *recv, uint64_t first,
                       size_t n, struct err *e)
{
    size_t size = data_type_bytes(s->type);
    int rc = g->put_out(block, recv + first * size, n * size, stream);
    rc = rc ? rc : g->finish(stream);
    if (rc)
        return -err_set(e, ERR_FAILED, "rank %d: cannot read the result back: %s", s->rank, gpu_error(g, rc));
    if (!memcmp(block, expected, n * size))
        return 0;
    describe_wrong(s, first, n, e);
    return 1;
}

/* The first `n` elements from `at` on, at most a whole block. */
static void fill_expected(const struct data_shape *s, const struct pattern *p, uint64_t at, uint64_t n)
{
    size_t size = data_type_bytes(s->type);
    for (uint64_t k = 0; k < n; k++)
        if (k < p->repeat)
            store_value(expected + k * size, s->type, value_wanted(s, p, at + k));
        else
            memcpy(expected + k * size, expected + (k - p->repeat) * size, size);
}

int data_check(const struct gpu *g, void *stream, const struct data_shape *s, const void *recv, struct err *e)
{
    struct pattern p;
    if (choose_pattern(s, &p))
        return -err_set(e, ERR_FAILED, "rank %d: data type %d is unknown", s->rank, s->type);
    if (s->coll == COLL_REDUCE && s->rank != 0)
        return 0;
    int rc = 0;
    for (uint64_t at = 0; at < s->recv && !rc; at += s->part) {
        fill_expected(s, &p, at, least(p.whole, s->part));
        for (uint64_t i = 0; i < s->part && !rc; i += p.whole)
            rc = check_block(g, stream, s, recv, at + i, least(p.whole, s->part - i), e);
    }
    return rc;
}

/* ---- memory ---- */

#define ALIGNMENT ((size_t)4096)
#define HOT_BYTES ((size_t)1 << 20) /* up to here data is hot in real jobs too */
#define MAX_SLOTS 256

/* Twice the cache, so that a pair's turn comes when nothing of it is left. AMD's driver reports the L2 of one die: the
 * Infinity Cache of an MI300X behind it has 256 MiB. */
#define CACHE_TIMES 2
#define CACHE_HIP   ((size_t)256 << 20)

static size_t align_bytes(uint64_t bytes)
{
    return ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t count_send_bytes(const struct buffers *b)
{
    return align_bytes(b->shape.send * data_type_bytes(b->shape.type));
}

/* In place one of the two does without memory of its own. */
static size_t count_pair_bytes(const struct buffers *b)
{
    size_t send = count_send_bytes(b), recv = align_bytes(b->shape.recv * data_type_bytes(b->shape.type));
    return !b->in_place ? send + recv : send > recv ? send : recv;
}

static struct pair find_pair(const struct buffers *b, int slot)
{
    const struct data_shape *s = &b->shape;
    size_t part = (size_t)s->rank * s->count * data_type_bytes(s->type);
    char *at = b->memory + (size_t)slot * count_pair_bytes(b);
    if (!b->in_place)
        return (struct pair){at, at + count_send_bytes(b)};
    return (struct pair){at + (s->send < s->recv ? part : 0), at + (s->recv < s->send ? part : 0)};
}

struct pair buffers_pair(const struct buffers *b)
{
    return find_pair(b, b->cursor);
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
static int allocate(struct buffers *b, const struct buffers_owner *o, size_t need)
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

static int count_slots(size_t pair, size_t point, size_t cold)
{
    if (point <= HOT_BYTES || !pair)
        return 1;
    size_t n = cold / pair + 1;
    return n < 2 ? 2 : n < MAX_SLOTS ? (int)n : MAX_SLOTS;
}

/* Room for as many pairs as there is memory for. What an earlier point has left is used again. */
static int make_room(struct buffers *b, const struct buffers_owner *o, struct buffers *before, struct err *e)
{
    size_t pair = count_pair_bytes(b);
    if (before->registered == b->registered && before->bytes >= (size_t)b->slots * pair) {
        b->memory = before->memory;
        b->bytes = before->bytes;
        b->handle = before->handle;
        return 0;
    }
    buffers_drop(before, o);
    int rc = allocate(b, o, (size_t)b->slots * pair);
    while (rc && b->slots > 1) {
        b->slots = (b->slots + 1) / 2;
        rc = allocate(b, o, (size_t)b->slots * pair);
    }
    return !rc ? 0
               : err_set(e, ERR_FAILED, "rank %d: cannot allocate %zu bytes: %s", o->rank, pair,
                         b->registered ? nccl_error(o->nccl, o->comm, rc) : gpu_error(o->gpu, rc));
}

/* Every pair's send buffer: the first through the host, the others from it. */
static int fill_pairs(const struct buffers *b, const struct buffers_owner *o, struct err *e)
{
    const struct gpu *g = o->gpu;
    struct pair first = find_pair(b, 0);
    int rc = data_fill(g, o->stream, &b->shape, first.send);
    for (int i = 1; i < b->slots && !rc; i++)
        rc = g->put_across(find_pair(b, i).send, first.send, b->shape.send * data_type_bytes(b->shape.type), o->stream);
    rc = rc ? rc : g->finish(o->stream);
    return rc ? err_set(e, ERR_FAILED, "rank %d: cannot fill buffers: %s", o->rank, gpu_error(g, rc)) : 0;
}

int buffers_prepare(struct buffers *b, const struct buffers_owner *o, const struct nccl_point *p,
                    struct nccl_prepared *done, struct err *e)
{
    struct buffers before = *b, now = {.in_place = p->in_place, .registered = p->registered}, least = now;
    size_t cache = gpu_cache_bytes(o->gpu, o->device), most = o->gpu->hip && cache < CACHE_HIP ? CACHE_HIP : cache;
    if (p->registered && (!o->nccl->mem_alloc || !o->nccl->comm_register))
        return err_set(e, ERR_FAILED, "rank %d: this NCCL has no ncclMemAlloc and ncclCommRegister", o->rank);
    if (data_shape_of(p, o->nranks - 1, o->nranks, &least.shape) || data_shape_of(p, o->rank, o->nranks, &now.shape))
        return err_set(e, ERR_FAILED, "rank %d: %llu bytes leave no element for each of %d ranks", o->rank,
                       (unsigned long long)p->bytes, o->nranks);
    now.slots = count_slots(count_pair_bytes(&least), p->bytes, CACHE_TIMES * most); /* as many on every rank */
    int rc = make_room(&now, o, &before, e);
    *b = now;
    if (rc) {
        buffers_drop(b, o);
        return rc;
    }
    done->working_set = (uint64_t)b->slots * count_pair_bytes(b);
    done->cache = p->bytes > HOT_BYTES ? most : 0;
    snprintf(done->type, sizeof done->type, "%s", data_type_name(b->shape.type));
    return fill_pairs(b, o, e);
}
