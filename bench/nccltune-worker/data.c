/* The pattern: element i of rank r is i % period + r % 5, so that a sum over ranks needs no loop over ranks. */
#include "bench/nccltune-worker/data.h"

#include <stdio.h>
#include <string.h>

#include "bench/nccltune-worker/nccl.h"
#include "core/coll.h"

#define BLOCK        ((size_t)1 << 18) /* bytes that go through the host at a time */
#define CHECK_BLOCKS 64                /* of a large result that are looked at */

/* Periods keep sums exact: float32 has 24 bits, bfloat16 eight (up to 42 ranks). int8 wraps, which is exact too. */
static const struct {
    int type;
    size_t bytes;
    uint64_t period;
} types[] = {{NCCL_INT8, 1, 3}, {NCCL_INT32, 4, 251}, {NCCL_FLOAT32, 4, 251}, {NCCL_BFLOAT16, 2, 3}};

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

int data_fill(const struct gpu *g, const struct data_shape *s, void *send)
{
    size_t size = data_type_bytes(s->type), per_block = size ? BLOCK / size : 0;
    if (!per_block)
        return -1;
    uint64_t period = types[type_index(s->type)].period;
    for (uint64_t i = 0; i < s->send; i += per_block) {
        size_t n = s->send - i < per_block ? (size_t)(s->send - i) : per_block;
        for (size_t k = 0; k < n; k++)
            store(block + k * size, s->type, given(period, s->rank, i + k));
        int rc = g->to_device((char *)send + i * size, block, n * size);
        if (rc)
            return rc;
    }
    return 0;
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

int data_check(const struct gpu *g, const struct data_shape *s, const void *recv, char *why, size_t bytes)
{
    size_t size = data_type_bytes(s->type), per_block = size ? BLOCK / size : 0;
    if (!per_block)
        return -1;
    uint64_t period = types[type_index(s->type)].period, sum = 0;
    uint64_t blocks = (s->recv + per_block - 1) / per_block, looks = blocks < CHECK_BLOCKS ? blocks : CHECK_BLOCKS;
    if (s->coll == COLL_REDUCE && s->rank != 0)
        return 0;
    for (int r = 0; r < s->nranks; r++)
        sum += of_rank(r);
    for (uint64_t look = 0; look < looks; look++) {
        uint64_t i = (looks > 1 ? look * (blocks - 1) / (looks - 1) : 0) * per_block;
        size_t n = s->recv - i < per_block ? (size_t)(s->recv - i) : per_block;
        int rc = g->to_host(block, (const char *)recv + i * size, n * size);
        if (rc) {
            snprintf(why, bytes, "rank %d: cannot read the result back: %s", s->rank, gpu_error(g, rc));
            return -1;
        }
        for (size_t k = 0; k < n; k++)
            store(expected + k * size, s->type, wanted(s, period, sum, i + k));
        if (memcmp(block, expected, n * size) != 0) {
            say_wrong(s, i, n, why, bytes);
            return 1;
        }
    }
    return 0;
}
