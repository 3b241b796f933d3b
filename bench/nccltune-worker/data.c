/* The pattern: element i of rank r is 1 + i % period + r % 5. Where the sum over so many ranks would no longer be exact
 * in the type, a reduction gets that from every n-th rank alone, in each element from others, and zeros from the rest.
 * Blocks are a multiple of what repeats, so that one on the host stands for all. */
#include "bench/nccltune-worker/data.h"

#include <stdio.h>
#include <string.h>

#include "bench/nccltune-worker/nccl.h"
#include "core/coll.h"

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

static int type_index(int type)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (types[i].type == type)
            return i;
    return -1;
}

size_t data_type_bytes(int type)
{
    int i = type_index(type);
    return i < 0 ? 0 : types[i].bytes;
}

const char *data_type_name(int type)
{
    int i = type_index(type);
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

static int reduces(int coll)
{
    return coll == COLL_ALLREDUCE || coll == COLL_REDUCE || coll == COLL_REDUCESCATTER;
}

/* -1: the type is unknown. */
static int pattern_of(const struct data_shape *s, struct pattern *p)
{
    int i = type_index(s->type);
    if (i < 0)
        return -1;
    uint64_t period = types[i].period, most = types[i].exact / (period + RANK_PERIOD - 1);
    uint64_t stride = reduces(s->coll) ? ((uint64_t)s->nranks + most - 1) / most : 1, repeat = period * stride;
    *p = (struct pattern){period, stride, repeat, BLOCK / types[i].bytes / repeat * repeat};
    return 0;
}

static uint64_t given(const struct pattern *p, int rank, uint64_t i)
{
    uint64_t r = (uint64_t)rank;
    return i % p->stride == r % p->stride ? 1 + i % p->period + r % RANK_PERIOD : 0;
}

/* What element i of the receive buffer must hold. */
static uint64_t wanted(const struct data_shape *s, const struct pattern *p, uint64_t i)
{
    uint64_t sum = 0;
    if (s->coll == COLL_SENDRECV)
        return given(p, (s->rank + s->nranks - 1) % s->nranks, i);
    if (!reduces(s->coll)) /* from one after the other, Broadcast from the first alone */
        return given(p, (int)(i / s->part), s->first + i % s->part);
    for (int r = 0; r < s->nranks; r++)
        sum += given(p, r, s->first + i);
    return sum;
}

static void store(char *to, int type, uint64_t value)
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
    if (pattern_of(s, &p))
        return -1;
    size_t size = data_type_bytes(s->type);
    for (uint64_t k = 0; k < least(p.whole, s->send); k++)
        store(block + k * size, s->type, given(&p, s->rank, k));
    int rc = 0;
    for (uint64_t i = 0; i < s->send && !rc; i += p.whole)
        rc = g->put_in((char *)send + i * size, block, least(p.whole, s->send - i) * size, stream);
    return rc ? rc : g->finish(stream);
}

static void say_wrong(const struct data_shape *s, uint64_t first, size_t n, char *why, size_t bytes)
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
    snprintf(why, bytes, "rank %d: element %llu of %llu holds bytes %s, expected %s", s->rank, at, all, got, want);
}

/* One block of the result, `n` elements from the `first` on, against what is expected. */
static int check_block(const struct gpu *g, void *stream, const struct data_shape *s, const char *recv, uint64_t first,
                       size_t n, char *why, size_t bytes)
{
    size_t size = data_type_bytes(s->type);
    int rc = g->put_out(block, recv + first * size, n * size, stream);
    rc = rc ? rc : g->finish(stream);
    if (rc) {
        snprintf(why, bytes, "rank %d: cannot read the result back: %s", s->rank, gpu_error(g, rc));
        return -1;
    }
    if (!memcmp(block, expected, n * size))
        return 0;
    say_wrong(s, first, n, why, bytes);
    return 1;
}

/* The first `n` elements from `at` on, at most a whole block. */
static void expect(const struct data_shape *s, const struct pattern *p, uint64_t at, uint64_t n)
{
    size_t size = data_type_bytes(s->type);
    for (uint64_t k = 0; k < n; k++)
        if (k < p->repeat)
            store(expected + k * size, s->type, wanted(s, p, at + k));
        else
            memcpy(expected + k * size, expected + (k - p->repeat) * size, size);
}

int data_check(const struct gpu *g, void *stream, const struct data_shape *s, const void *recv, char *why, size_t bytes)
{
    struct pattern p;
    if (pattern_of(s, &p)) {
        snprintf(why, bytes, "rank %d: data type %d is unknown", s->rank, s->type);
        return -1;
    }
    if (s->coll == COLL_REDUCE && s->rank != 0)
        return 0;
    int rc = 0;
    for (uint64_t at = 0; at < s->recv && !rc; at += s->part) {
        expect(s, &p, at, least(p.whole, s->part));
        for (uint64_t i = 0; i < s->part && !rc; i += p.whole)
            rc = check_block(g, stream, s, recv, at + i, least(p.whole, s->part - i), why, bytes);
    }
    return rc;
}
