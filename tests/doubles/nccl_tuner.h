/* The tuner side of the NCCL double: finds the plugin and asks it as NCCL does. The interface is declared here once
 * more, from the recorded facts and not from tuner/plugin/abi.h, so that the two check one another. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/coll.h"

typedef void tuner_log(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

struct tuner_double {
    int version; /* of the interface; 0: no plugin */
    int nccl;    /* the release */
    const void *symbol;
    void *context;
};

struct tuner_comm {
    uint64_t id; /* commHash, the same to the profiler */
    int rank, nranks, nnodes;
};

/* What NCCL of `version` (22809 for 2.28.9) loads for NCCL_TUNER_PLUGIN, newest symbol first, and its init. An
 * ncclResult_t. */
int tuner_load(struct tuner_double *t, int version, const struct tuner_comm *c, tuner_log *log);
int tuner_unload(struct tuner_double *t);

/* The choice for one call: `cost` is NCCL's table and is changed by the plugin; the cell with the lowest cost that is
 * not negative wins, the first of equals. `*channels` 0: NCCL's. An ncclResult_t. */
int tuner_ask(const struct tuner_double *t, int coll, size_t bytes, int registered, float cost[ALGO_COUNT][PROTO_COUNT],
              int *algo, int *proto, int *channels);

/* The chunk size for a slice, version 6 alone. */
int tuner_ask_chunk(const struct tuner_double *t, int coll, size_t slice_bytes, int algo, int proto,
                    size_t *chunk_bytes);
