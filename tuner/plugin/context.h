/* A communicator as the plugin holds it, and the answers of its table. */
#ifndef TUNER_PLUGIN_CONTEXT_H
#define TUNER_PLUGIN_CONTEXT_H

#include "tuner/explore/explore.h"
#include "tuner/plugin/abi.h"
#include "tuner/table/index.h"
#include "tuner/table/lookup.h"

struct plugin_chain;

/* A communicator to the plugin: all that look alike share one, which lives as long as the process, unless another tuner
 * is asked first and has a context of its own for each. */
struct plugin_context {
    struct tuner_index *index;       /* NULL: inert */
    struct tuner_index *alone;       /* the same, NULL where something else is asked, too */
    struct plugin_chain *chain;      /* that tuner's side; NULL: there is none */
    struct explore_member *explored; /* NULL: nothing is tried */
    nccl_logger log;                 /* of those that are explored */
    struct tuner_shape shape;
    int api; /* version of the interface that opened it */
    struct plugin_context *next;
};

/* What getChunkSize is asked. NCCL passes one channel's slice and channels 1, or the whole and their number (CollNet,
 * NVLS over nodes). */
struct plugin_slice {
    int coll;
    uint64_t bytes;
    int algo, proto, channels;
    uint64_t chunk_bytes; /* NCCL's own */
};

/* The answers of the table alone; 0: leave it to NCCL. `c` may be NULL. */
static inline struct tuner_choice plugin_table_choose(const struct plugin_context *c, const struct tuner_call *call)
{
    return c && c->index ? tuner_index_choose(c->index, call) : tuner_no_choice;
}

static inline uint32_t plugin_table_chunk(const struct plugin_context *c, const struct plugin_slice *s)
{
    if (!c || !c->index)
        return 0;
    uint64_t slice = s->channels > 1 ? s->bytes / (uint64_t)s->channels : s->bytes;
    return tuner_index_chunk(c->index, s->coll, slice, s->algo, s->proto);
}

#endif
