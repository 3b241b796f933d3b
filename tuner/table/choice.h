/* A table's answer to NCCL for a call: a cell of its cost table. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "tuner/table/rule.h"

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
