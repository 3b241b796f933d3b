/* One rule of a tuner table. */
#pragma once

#include <stdint.h>

#define TUNER_ANY          (-1) /* any algorithm, protocol, numPipeOps, regBuff */
#define TUNER_UNKNOWN      (-2) /* a shape or call value that the running interface does not pass */
#define TUNER_MAX_CHANNELS 64   /* MAXCHANNELS of NCCL since 2.25; some paths take more unchecked */

/* A condition on a count: low..high inclusive; the whole range of int stands for "any". */
struct tuner_range {
    int low, high;
};

struct tuner_rule {
    uint64_t min_bytes, max_bytes; /* inclusive */
    uint32_t chunk_bytes;          /* 0: keep NCCL's */
    int channels;                  /* 0: keep NCCL's */
    int pipe_ops;                  /* TUNER_ANY or a number of pipelined operations */
    struct tuner_range nodes, ranks, domains;
    int coll;     /* enum coll */
    int algo;     /* enum algo or TUNER_ANY */
    int proto;    /* enum proto or TUNER_ANY */
    int reg_buff; /* TUNER_ANY, 0 or 1 */
    long line;
};
