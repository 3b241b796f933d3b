/* Moving and reducing. */
#include "tests/doubles/nccl_move.h"

#include <stdlib.h>
#include <string.h>

#include "tests/doubles/nccl_law.h"

enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, TYPES };

size_t move_type_bytes(int type)
{
    static const size_t bytes[TYPES] = {1, 1, 4, 4, 8, 8, 0, 4, 8, 2};
    return type >= 0 && type < TYPES ? bytes[type] : 0;
}

size_t move_send_bytes(const struct move *m, int nranks)
{
    uint64_t sum = m->coll == COLL_REDUCESCATTER ? m->count * (uint64_t)nranks : m->coll == LAW_ALLTOALL ? 0 : m->count;
    for (int r = 0; m->coll == LAW_ALLTOALL && r < nranks; r++)
        sum += m->shares[r];
    return sum * move_type_bytes(m->type);
}

size_t move_recv_bytes(const struct move *m, int nranks)
{
    int many = m->coll == COLL_ALLGATHER || m->coll == LAW_ALLTOALL;
    uint64_t each = m->coll == LAW_ALLTOALL ? m->own : m->count;
    return each * move_type_bytes(m->type) * (size_t)(many ? nranks : 1);
}

static float from_bfloat(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t to_bfloat(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16); /* to nearest, ties to even */
}

#define ADD(type, n)                                \
    for (size_t i = 0; i < (n) / sizeof(type); i++) \
    ((type *)into)[i] += ((const type *)from)[i]

static void add(void *into, const void *from, size_t bytes, int type)
{
    switch (type) {
    case INT8:
    case UINT8:
        ADD(uint8_t, bytes);
        break;
    case INT32:
    case UINT32:
        ADD(uint32_t, bytes);
        break;
    case INT64:
    case UINT64:
        ADD(uint64_t, bytes);
        break;
    case FLOAT32:
        ADD(float, bytes);
        break;
    case FLOAT64:
        ADD(double, bytes);
        break;
    default:
        for (size_t i = 0; i < bytes / 2; i++)
            ((uint16_t *)into)[i] =
                to_bfloat(from_bfloat(((uint16_t *)into)[i]) + from_bfloat(((const uint16_t *)from)[i]));
    }
}

/* Rank 0: from what every rank sent to what every rank receives, all in `sent`'s and one more buffer. */
static void rearrange(const struct move *m, int nranks, const struct join_blob *sent, char *space,
                      struct join_blob *back)
{
    size_t part = m->count * move_type_bytes(m->type);
    for (int r = 0; r < nranks; r++)
        back[r] = (struct join_blob){space, move_recv_bytes(m, nranks)};
    switch (m->coll) {
    case COLL_BROADCAST:
        memcpy(space, sent[m->root].data, part);
        return;
    case COLL_ALLGATHER:
        for (int r = 0; r < nranks; r++)
            memcpy(space + (size_t)r * part, sent[r].data, part);
        return;
    case LAW_ALLTOALL:
        for (size_t r = 0, at = 0; r < (size_t)nranks; r++, at += part) {
            part = m->shares[r] * move_type_bytes(m->type);
            back[r] = (struct join_blob){space + at * (size_t)nranks, part * (size_t)nranks};
            for (int from = 0; from < nranks; from++)
                memcpy((char *)back[r].data + (size_t)from * part, (char *)sent[from].data + at, part);
        }
        return;
    case COLL_SENDRECV: /* `root` is how far */
        for (int r = 0; r < nranks; r++)
            back[r].data = sent[(r - m->root + nranks) % nranks].data;
        return;
    default:
        memcpy(space, sent[0].data, sent[0].bytes);
        for (int r = 1; r < nranks; r++)
            add(space, sent[r].data, sent[r].bytes, m->type);
    }
    for (int r = 0; r < nranks; r++) {
        if (m->coll == COLL_REDUCESCATTER)
            back[r].data = space + (size_t)r * part;
        else if (m->coll == COLL_REDUCE && r != m->root)
            back[r].bytes = 0;
    }
}

int move_data(struct join *j, const struct move *m)
{
    int n = j->nranks, rc = -1;
    size_t send = move_send_bytes(m, n), recv = move_recv_bytes(m, n);
    struct join_blob *sent = calloc((size_t)n, sizeof *sent), *back = calloc((size_t)n, sizeof *back);
    char *space = j->rank ? NULL : malloc((send > recv ? send : recv) * (size_t)(m->coll == LAW_ALLTOALL ? n : 1) + 1);
    if (m->coll == COLL_BROADCAST && j->rank != m->root)
        send = 0;
    if (m->coll == COLL_REDUCE && j->rank != m->root)
        recv = 0;
    if (!sent || !back || (!j->rank && !space) || join_gather(j, m->send, send, sent))
        goto out;
    if (!j->rank && space)
        rearrange(m, n, sent, space, back);
    rc = join_scatter(j, back, m->recv, recv);
out:
    for (int r = 0; sent && r < n; r++)
        free(sent[r].data);
    free(sent);
    free(back);
    free(space);
    return rc;
}
