/* The prepared form of a table, tuner.bin: for every shape of communicator that the table tells apart, its index as it
 * lies in memory, so that a process maps it instead of parsing and sorting. Of the machine that wrote it: byte order
 * and the sizes of structures are in the head.
 *
 *   head | cuts of nodes, of ranks, of domains | view of each cell | views | sets | nodes, entries, buckets, spans
 *
 * The cuts are the numbers at which some rule begins or ceases to fit; a cell is a box between them. Offsets count from
 * the head and are multiples of 8. */
#pragma once

#include "core/coll.h"
#include "tuner/table/spans.h"
#include "tuner/table/table.h"

#define TUNER_BINARY_FORMAT "nccltune-tuner-bin/1\n"
#define TUNER_BINARY_ORDER  0x01020304U
#define TUNER_BINARY_CELLS  (1U << 16)
#define TUNER_BINARY_SETS   (2 * COLL_COUNT) /* of a view: calls, then chunks */

struct tuner_binary_head {
    char format[24];
    uint32_t order, head_bytes, set_bytes, node_bytes, entry_bytes, span_bytes;
    char csv_sha256[64]; /* of the text that it was made from */
    uint64_t bytes;      /* of the whole */
    uint64_t rules, broken;
    uint32_t next_auto, nccl_given, nccl_count;
    struct tuner_version nccl[TUNER_MAX_VERSIONS];
    uint32_t cuts[3], views, sets;
    uint64_t cuts_at[3], cells_at, views_at, sets_at;
};

struct tuner_binary_view {
    uint32_t rules, sets[TUNER_BINARY_SETS]; /* numbers from 1; 0: no rule */
};

struct tuner_binary_set {
    uint64_t nodes_at, entries_at, buckets_at, spans_at;
    uint32_t nodes, entries, buckets, spans; /* nodes 0: the spans are scanned */
    struct tuner_octave octave[64];
};
