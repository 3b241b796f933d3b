/* A communicator as the plugin holds it, and the answers of its table. */
#pragma once

#include <float.h>

#include "tuner/table/index.h"

struct plugin_chain;

/* A communicator to the plugin: all that look alike share one, which lives as long as the process, unless another tuner
 * is asked first and has a context of its own for each. */
struct plugin_context {
    struct tuner_index *index;  /* NULL: inert */
    struct tuner_index *alone;  /* the same, NULL where another tuner is asked first */
    struct plugin_chain *chain; /* that tuner's side; NULL: there is none */
    struct tuner_shape shape;
    int api;            /* version of the interface that opened it */
    float dear_us;      /* what no usual ring costs, see plugin_is_relegated; FLT_MAX: NCCL relegates nothing here */
    uint32_t dear_bits; /* for tuner_plain_answer */
    struct plugin_context *next;
};

/* Arguments of getChunkSize. NCCL passes one channel's slice and channels 1, or the whole and their number (CollNet,
 * NVLS over nodes). */
struct plugin_slice {
    int coll;
    uint64_t bytes;
    int algo, proto, channels;
};

/* Above eight ranks NCCL makes Ring 1024 times dearer for reductions of fp8, because it loses precision there (2.24 to
 * 2.30, updateCollCostTable). A tuner is not told the type, but no usual ring costs that: its steps are 2 for each rank
 * and take tens of microseconds, and its bandwidth is within a small factor of the others'. */
#define PLUGIN_RELEGATED_RANKS 8
#define PLUGIN_DEAR_RANK_US    300.0F /* of latency for each rank, for each operation of a group */
#define PLUGIN_DEAR_TIMES      64.0F  /* the cheapest of the others */
int plugin_is_relegated(const struct plugin_context *c, const struct tuner_call *call, const float *given);

/* Settles nearly all calls: Ring with Simple is offered, at a usual cost. */
static inline int plugin_is_usual(const struct plugin_context *c, const struct tuner_call *call, const float *given)
{
    return c->dear_us == FLT_MAX || (given && call->algos > ALGO_RING && call->protos == PROTO_COUNT &&
                                     tuner_cost_bits(given[ALGO_RING * PROTO_COUNT + PROTO_SIMPLE]) <= c->dear_bits);
}

/* The answers of the table alone; 0: leave it to NCCL. `c` may be NULL. `given`: the costs as NCCL gave them. */
static inline struct tuner_choice plugin_table_choose(const struct plugin_context *c, const struct tuner_call *call,
                                                      const float *given)
{
    if (!c || !c->index || (!plugin_is_usual(c, call, given) && plugin_is_relegated(c, call, given)))
        return tuner_no_choice;
    return tuner_index_choose(c->index, call);
}

static inline uint32_t plugin_table_chunk(const struct plugin_context *c, const struct plugin_slice *s)
{
    if (!c || !c->index)
        return 0;
    uint64_t slice = s->channels > 1 ? s->bytes / (uint64_t)s->channels : s->bytes;
    return tuner_index_chunk(c->index, s->coll, slice, s->algo, s->proto);
}

/* A cost table for versions 1 and 2, which pass none: -1 for what NCCL 2.19 to 2.21 could not run and would take
 * unchecked. `nodes` 0: not known (legacy.c). */
void plugin_legacy_costs(float cost[ALGO_COUNT * PROTO_COUNT], int coll, int collnet, int nvls, int nodes);

/* ---- the control interface as the plugin's entry points see it (control.c) ---- */

extern _Atomic int plugin_armed;

/* Answers of plugin_choose and plugin_chunk while the plugin is armed. `c` may be NULL. `given`: the costs as NCCL
 * gave them, as many as the call's, which may be what another tuner made of them. */
struct tuner_choice plugin_control_choose(const struct plugin_context *c, const struct tuner_call *call,
                                          const float *given);
uint32_t plugin_control_chunk(const struct plugin_context *c, const struct plugin_slice *slice);
