/* Rules over byte ranges, arranged so that the few that can apply to a size are found in O(log rules).
 *
 * The bounds of all ranges cut the sizes into intervals; each interval has the list of its candidates in the order of
 * the file, without those that an earlier one of the list always beats. The search starts from a table over the top
 * bits of the size (finer where bounds are dense) and ends with a short binary search. A set of ranges whose lists
 * would grow out of all proportion stays a plain array and is scanned. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Further conditions of a rule whose size, collective and communicator match, and its effect. */
struct tuner_entry {
    int pipe_ops; /* or TUNER_ANY, as in the next three */
    uint32_t chunk_bytes;
    short reg_buff, algo, proto;
    short channels;
};

struct tuner_span {
    uint64_t low, high; /* inclusive */
    struct tuner_entry entry;
};

#define TUNER_NODE_PADDING 2
#define TUNER_NO_CELL      255
#define TUNER_CELL_BITS    5 /* 21 cells; above them what is asked of regBuff: 0 nothing, else one more than the value */

struct tuner_node {
    uint64_t start;       /* the interval goes up to the next node's start */
    uint32_t first;       /* its candidates in `entries` ... */
    unsigned short count; /* ... and their number */
    unsigned char cell;   /* algo * PROTO_COUNT + proto of the first candidate when that asks for nothing but regBuff,
                             and its channels: most calls need no more than the node. TUNER_NO_CELL otherwise */
    unsigned char channels;
};

static inline unsigned tuner_node_cell(const struct tuner_node *n)
{
    return n->cell & ((1U << TUNER_CELL_BITS) - 1);
}

/* Nonzero if the node's own cell is the answer to a call with `reg_buff` of its size, if it is offered. */
static inline int tuner_node_answers(const struct tuner_node *n, int reg_buff)
{
    unsigned asks = n->cell >> TUNER_CELL_BITS;
    return !asks || (asks == (unsigned)reg_buff + 1 && n->cell != TUNER_NO_CELL);
}

/* A size n with highest bit e lies in bucket octave[e].base + (n >> octave[e].shift). */
struct tuner_octave {
    uint32_t base, shift;
};

struct tuner_spans {
    struct tuner_node *nodes; /* NULL: scan `spans` */
    struct tuner_entry *entries;
    uint32_t *buckets; /* the node of each bucket's lowest size; the bucket after the last is there too */
    struct tuner_octave octave[64];
    struct tuner_span *spans;
    size_t count;
};

/* Takes over `spans` (from malloc, in the order of the file; NULL when count is 0). Never fails: without memory for the
 * intervals the array is scanned. Free with tuner_spans_free. */
void tuner_spans_build(struct tuner_spans *m, struct tuner_span *spans, size_t count);
void tuner_spans_free(struct tuner_spans *m);

/* The interval of `n`, when two comparisons without a branch settle it: nearly always, because a bucket has about one
 * bound. NULL otherwise. m->nodes must not be NULL; they are padded for the second comparison. */
static inline const struct tuner_node *tuner_spans_find_near(const struct tuner_spans *m, uint64_t n)
{
    unsigned e = 63U - (unsigned)__builtin_clzll(n | 1);
    const uint32_t *bucket = m->buckets + (uint32_t)(m->octave[e].base + (uint32_t)(n >> m->octave[e].shift));
    const struct tuner_node *node = m->nodes + bucket[0];
    if (__builtin_expect(bucket[1] - bucket[0] > TUNER_NODE_PADDING, 0))
        return NULL;
    return node + (node[1].start <= n) + (node[2].start <= n);
}
