/* The histogram of a communicator: how often each kind of call was made, and how long it took.
 *
 * Its size is fixed and any thread may count at any time without a lock: what tells calls apart fits one word, so that
 * a place in the table is taken by one compare-and-swap. Times are kept in eighths of an octave from 1 µs to 17 s. */
#pragma once

#include <stdint.h>

#include "core/coll.h"

#define PROFILER_SLOTS 256
#define PROFILER_TIMES 192

/* ncclDataType_t, and one for what has no name. */
enum {
    PROFILER_DTYPES = 12,
    PROFILER_NO_DTYPE = 15,
};

struct profiler_call {
    uint64_t bytes;  /* 1 or more; of AllGather and ReduceScatter the share of one rank */
    int kind;        /* enum coll */
    int dtype;       /* PROFILER_NO_DTYPE: not known */
    int algo, proto; /* -1 not known */
    int channels;    /* 0 not known, up to 127 */
};

/* What is counted of a communicator beside its calls. */
enum profiler_counter {
    PROFILER_ROUNDED,  /* calls counted at a size near theirs, because the table is nearly full */
    PROFILER_LOST,     /* calls that found no place at all */
    PROFILER_CAPTURED, /* calls that were captured into CUDA graphs, if NCCL reports calls as their callers made them */
    PROFILER_DOUBTED,  /* communicators whose times are not believed from some call on */
    PROFILER_IMPOSSIBLE, /* times that are longer than what has passed */
    PROFILER_MADE,       /* and an enum coll: calls outside CUDA graphs, if NCCL reports them so */
    PROFILER_REPLAYED = PROFILER_MADE + COLL_COUNT, /* and an enum coll: what of the counted calls came of graphs */
    PROFILER_COUNTERS = PROFILER_REPLAYED + COLL_COUNT,
};

struct profiler_table {
    _Atomic uint64_t keys[PROFILER_SLOTS]; /* 0: free */
    _Atomic uint64_t counts[PROFILER_SLOTS];
    _Atomic uint32_t used;
    _Atomic uint64_t counters[PROFILER_COUNTERS];
    _Atomic uint64_t sums_ns[PROFILER_SLOTS];   /* of the times */
    _Atomic uint64_t beyond_ns[PROFILER_SLOTS]; /* of those in the last class, which has no end */
    _Atomic uint32_t times[PROFILER_SLOTS][PROFILER_TIMES];
};

/* Counts a call, and gives the slot for its time; -1: it found no place. A zeroed table is an empty one. */
int profiler_table_count(struct profiler_table *t, const struct profiler_call *call);

/* Takes one back, if there is one. */
void profiler_table_uncount(struct profiler_table *t, const struct profiler_call *call);

void profiler_table_time(struct profiler_table *t, int slot, uint64_t ns);

/* The call of a slot. 0 when the slot is free. */
int profiler_table_call(const struct profiler_table *t, int slot, struct profiler_call *call, uint64_t *count);

/* The median of a slot's times in microseconds, within 5 %; -1 without any. */
double profiler_table_median_us(const struct profiler_table *t, int slot);

/* The mean of a slot's times in microseconds without the longest eight, or quarter, of them: calls that had to wait for
 * something that comes once, like a connection or a checkpoint. -1 without any. */
double profiler_table_steady_us(const struct profiler_table *t, int slot);

/* Number of times in a slot, and their sum. */
uint64_t profiler_table_timed(const struct profiler_table *t, int slot, uint64_t *sum_ns);

/* Adds everything of `from`, which nobody counts into any more, and empties it. `into` NULL: it is forgotten. */
void profiler_table_drain(struct profiler_table *into, struct profiler_table *from);

/* "bfloat16"; NULL for what is not known. */
const char *profiler_dtype_name(int dtype);
int profiler_dtype_bytes(int dtype); /* 1 for what is not known: all that NCCL leaves unnamed has 1 byte */
