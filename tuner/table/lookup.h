/* The inside of an index, for index.c and for the plugin's entry points, which inline the common case. */
#pragma once

#include "core/coll.h"
#include "tuner/table/index.h"
#include "tuner/table/spans.h"

struct tuner_index {
    struct tuner_spans calls[COLL_COUNT];  /* over the size of the collective */
    struct tuner_spans chunks[COLL_COUNT]; /* over one channel's slice */
    size_t rules;                          /* that fit the communicator */
    int is_borrowed;                       /* the memory behind it is a tuner_binary's ... */
    int is_placed;                         /* ... and so is this */
};

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
