/* The pattern: element i of rank r is i % period + r % 5, so that a sum over ranks needs no loop over ranks. Blocks are
 * a multiple of the period, so that one on the host stands for all. */
#include "bench/nccltune-worker/data.h"

#include <stdio.h>
#include <string.h>

#include "bench/nccltune-worker/nccl.h"
#include "core/coll.h"

#define BLOCK ((size_t)1 << 20) /* bytes that go through the host at a time */

/* Periods keep sums exact: float32 has 24 bits, bfloat16 eight (up to 42 ranks). int8 wraps, which is exact too. */
static const struct {
    int type;
    size_t bytes;
    uint64_t period;
    const char *name;
} types[] = {{NCCL_INT8, 1, 3, "int8"},
             {NCCL_INT32, 4, 251, "int32"},
             {NCCL_FLOAT32, 4, 251, "float32"},
             {NCCL_BFLOAT16, 2, 3, "bfloat16"}};

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

/* Elements of a whole block; 0 for an unknown type. */
static uint64_t per_block(int type)
{
    int i = type_index(type);
    return i < 0 ? 0 : BLOCK / types[i].bytes / types[i].period * types[i].period;
}

int data_shape_of(const struct nccl_point *p, int rank, int nranks, struct data_shape *s)
{
    int spread = p->coll == COLL_ALLGATHER || p->coll == COLL_REDUCESCATTER || p->coll == COLL_ALLTOALL;
    uint64_t parts = spread ? (uint64_t)nranks : 1;
    int type = p->type;
    if (type == NCCL_TYPE_FITTING)
        type = p->bytes % (4 * parts) && p->bytes < (parts << 16) ? NCCL_INT8 : NCCL_FLOAT32;
    *s = (struct data_shape){.coll = p->coll, .type = type, .rank = rank, .nranks = nranks};
    size_t size = data_type_bytes(type);
    s->count = size ? p->bytes / size / parts : 0;
    s->send = s->count * (p->coll == COLL_ALLGATHER ? 1 : parts);
    s->recv = s->count * (p->coll == COLL_REDUCESCATTER ? 1 : parts);
    return s->count ? 0 : -1;
}

static uint64_t of_rank(int rank)
{
    return (uint64_t)rank % 5;
}

static uint64_t given(uint64_t period, int rank, uint64_t i)
{
    return i % period + of_rank(rank);
}

/* What element i of the receive buffer must hold; `sum` is that of of_rank() over all ranks. */
static uint64_t wanted(const struct data_shape *s, uint64_t period, uint64_t sum, uint64_t i)
{
    uint64_t mine = (uint64_t)s->rank * s->count;
    switch (s->coll) {
    case COLL_BROADCAST:
        return given(period, 0, i);
    case COLL_ALLGATHER:
        return given(period, (int)(i / s->count), i % s->count);
    case COLL_ALLTOALL:
        return given(period, (int)(i / s->count), mine + i % s->count);
    case COLL_REDUCESCATTER:
        return (uint64_t)s->nranks * ((mine + i) % period) + sum;
    default:
        return (uint64_t)s->nranks * (i % period) + sum;
    }
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
    uint64_t whole = per_block(s->type);
    if (!whole)
        return -1;
    size_t size = data_type_bytes(s->type);
    uint64_t period = types[type_index(s->type)].period;
    for (uint64_t k = 0; k < least(whole, s->send); k++)
        store(block + k * size, s->type, given(period, s->rank, k));
    int rc = 0;
    for (uint64_t i = 0; i < s->send && !rc; i += whole)
        rc = g->put_in((char *)send + i * size, block, least(whole, s->send - i) * size, stream);
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

int data_check(const struct gpu *g, void *stream, const struct data_shape *s, const void *recv, char *why, size_t bytes)
{
    uint64_t whole = per_block(s->type), sum = 0;
    if (!whole)
        return -1;
    if (s->coll == COLL_REDUCE && s->rank != 0)
        return 0;
    size_t size = data_type_bytes(s->type);
    uint64_t period = types[type_index(s->type)].period;
    /* A part from every rank, or one for all. */
    uint64_t part = s->coll == COLL_ALLGATHER || s->coll == COLL_ALLTOALL ? s->count : s->recv;
    for (int r = 0; r < s->nranks; r++)
        sum += of_rank(r);
    int rc = 0;
    for (uint64_t at = 0; at < s->recv && !rc; at += part) {
        for (uint64_t k = 0; k < least(whole, part); k++)
            store(expected + k * size, s->type, wanted(s, period, sum, at + k));
        for (uint64_t i = 0; i < part && !rc; i += whole)
            rc = check_block(g, stream, s, recv, at + i, least(whole, part - i), why, bytes);
    }
    return rc;
}
