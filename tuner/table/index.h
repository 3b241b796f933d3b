/* The rules of a table that fit one communicator, ready to be asked per call. Lookups only read: any number of threads
 * may share an index. */
#pragma once

#include <string.h>

#include "core/coll.h"
#include "tuner/table/spans.h"
#include "tuner/table/table.h"

/* ---- a table's answer to NCCL for a call: a cell of its cost table ---- */

/* One question of NCCL's. `cost` is float[algos][protos], contiguous, predicted microseconds, -1 where a combination
 * is not available; NULL is a table without cells. */
struct tuner_call {
    int coll;
    uint64_t bytes;
    int pipe_ops, reg_buff; /* TUNER_UNKNOWN: not passed by this interface */
    const float *cost;
    int algos, protos;
};

struct tuner_choice {
    int found;       /* 0: no rule decides, leave everything to NCCL */
    int algo, proto; /* the cell to make cheapest; both TUNER_ANY: none */
    int channels;    /* 0: keep NCCL's */
};

static const struct tuner_choice tuner_no_choice = {0, TUNER_ANY, TUNER_ANY, 0};

/* Nonzero if a cost is a prediction at all: not -1, not NaN, not infinite. By its bits, a float from 0 to FLT_MAX: one
 * comparison leaves out every negative number, infinity and NaN. */
static inline uint32_t tuner_cost_bits(float cost)
{
    uint32_t bits;
    memcpy(&bits, &cost, sizeof bits);
    return bits;
}

static inline int tuner_is_available(float cost)
{
    return tuner_cost_bits(cost) <= 0x7f7fffff;
}

static inline int tuner_has_cell(const struct tuner_call *call, int algo, int proto)
{
    return call->cost && algo < call->algos && proto < call->protos &&
           tuner_is_available(call->cost[(size_t)algo * (size_t)call->protos + (size_t)proto]);
}

/* A cell for `algo` and `proto`, either of which may be TUNER_ANY: the cheapest that is available, the lowest numbered
 * of equals. Both TUNER_ANY: no cell, but some must be available. Channels are 0. */
struct tuner_choice tuner_choose_cell(int algo, int proto, const struct tuner_call *call);

/* ---- the rules that fit a communicator ---- */

struct tuner_index {
    struct tuner_spans calls[COLL_COUNT];  /* over the size of the collective */
    struct tuner_spans chunks[COLL_COUNT]; /* over one channel's slice */
    size_t rules;                          /* that fit the communicator */
    int is_borrowed;                       /* the memory behind it is a tuner_binary's ... */
    int is_placed;                         /* ... and so is this */
};

/* NULL without memory. The table is not needed afterwards. */
struct tuner_index *tuner_index_new(const struct tuner_table *t, const struct tuner_shape *s);
void tuner_index_free(struct tuner_index *ix); /* NULL is fine */

/* ---- the same, prepared: tuner.bin ----------------------------------------------------------------------------- */

struct tuner_binary {
    void *data;
    size_t bytes;
    char csv_sha256[65];         /* of the tuner.csv that it was made from */
    struct tuner_index *indexes; /* for its first shapes */
    unsigned used;               /* of these */
};

/* The prepared form of a table, freed by the caller. NULL: no memory, or more kinds of shapes than can be prepared. Not
 * in the plugin. */
void *tuner_binary_make(const struct tuner_table *t, const char *csv_sha256, size_t *bytes);

/* Checks all of it and fills `t` but for its rules. 0, or -1: it is none, of another machine, or damaged. The data is
 * only read, and has to stay; it is aligned as malloc's. */
int tuner_binary_open(struct tuner_binary *b, void *data, size_t bytes, struct tuner_table *t);

/* Build the index of the table. NULL without memory. */
struct tuner_index *tuner_binary_index(struct tuner_binary *b, const struct tuner_shape *s);

/* Frees the places of its first indexes; none of them may be used, or freed, any more. */
void tuner_binary_close(struct tuner_binary *b);

int tuner_index_is_scanned(const struct tuner_index *ix);

/* The first rule that matches the call, and for which tuner_choose_cell finds a cell, decides. */
struct tuner_choice tuner_index_choose(const struct tuner_index *ix, const struct tuner_call *call);

/* The chunk size for a channel's slice of a collective that NCCL runs with `algo` and `proto`: of the rules with
 * channels, and without conditions that this interface does not pass, the first that matches at slice × channels
 * decides. 0: keep NCCL's. */
uint32_t tuner_index_chunk(const struct tuner_index *ix, int coll, uint64_t slice_bytes, int algo, int proto);

/* ---- asking without a call, for the plugin's entry points ---- */

/* The cost table if it has the size that NCCL's has had since 2.23, else NULL. */
static inline const float *tuner_plain_cost(const float *cost, int algos, int protos)
{
    return algos == ALGO_COUNT && protos == PROTO_COUNT ? cost : NULL;
}

/* The common case of a call, and the whole of it for most tables: a plain cost table, a first candidate that asks for
 * nothing but regBuff, and a cell that is available. NULL says only that somebody has to look closer: also where Ring
 * with Simple is not offered or costs more than `dear`, in tuner_cost_bits; UINT32_MAX: that is never looked at. */
static inline const struct tuner_node *tuner_plain_answer(const struct tuner_index *ix, int coll, uint64_t bytes,
                                                          const float *cost, int reg_buff, uint32_t dear)
{
    if ((unsigned)coll >= COLL_COUNT || !cost || tuner_cost_bits(cost[ALGO_RING * PROTO_COUNT + PROTO_SIMPLE]) > dear)
        return NULL;
    const struct tuner_spans *m = &ix->calls[coll];
    const struct tuner_node *node = m->nodes ? tuner_spans_find_near(m, bytes) : NULL;
    return node && tuner_node_answers(node, reg_buff) && tuner_is_available(cost[tuner_node_cell(node)]) ? node : NULL;
}
