/* What ranks agree on: a change of one kind of call, in the 32 bits of a plan of tuner/online.
 *
 * A kind is a collective and a quarter of an octave of sizes, NCCL's nBytes as every rank is asked for them. A plan
 * says what calls of it run with from its call on, or that a few of them try something else: in each of `windows`
 * windows of 2^gap blocks one block, whichever, of 2^block calls is the other's, and then all is as it was, without a
 * word. So a trial costs no more than it was allowed to, whatever becomes of the coordinator. */
#ifndef TUNER_EXPLORE_PLAN_H
#define TUNER_EXPLORE_PLAN_H

#include <stdint.h>

#include "core/coll.h"

/* Collectives of which all ranks take as long: AllGather, ReduceScatter, AllReduce. In others a rank may be done while
 * the rest is still busy, so that the time of one says nothing. */
#define EXPLORE_BINS  176 /* up to 16 TiB */
#define EXPLORE_KINDS (3 * EXPLORE_BINS)

/* -1: calls of this collective are left alone. */
int explore_kind(int coll, uint64_t bytes);
int explore_coll(int kind);

/* Ring and Tree alone: what they can do here does not change from call to call or from rank to rank, as it may where
 * buffers are registered, and every further algorithm takes memory on every rank. */
enum { EXPLORE_CELLS = 6 }; /* Tree then Ring, each LL, LL128, Simple: as in NCCL's table */

/* Under a table one more: NCCL's own choice, whatever that is; without channels. */
enum { EXPLORE_LIBRARY = EXPLORE_CELLS };

struct explore_cell {
    int8_t cell;      /* -1: what the job would run with; of a table's rule: NCCL's own */
    uint8_t channels; /* 0: NCCL's */
    uint16_t chunk;   /* 0: NCCL's, else EXPLORE_CHUNK(chunk) bytes, and channels are said, too */
};
static const struct explore_cell explore_nothing = {.cell = -1};

#define EXPLORE_CHUNKS       16 /* 4 KiB, above NCCL's least (1,920 bytes, LL128), to 64 MiB */
#define EXPLORE_CHUNK(chunk) (UINT32_C(2048) << (chunk))

/* Whether it says algorithm and protocol. */
static inline int explore_is_cell(struct explore_cell c)
{
    return c.cell >= 0 && c.cell < EXPLORE_CELLS;
}

/* Whether a table has something for calls. */
static inline int explore_is_ruled(struct explore_cell rule)
{
    return rule.cell >= 0 || rule.channels;
}

struct explore_plan {
    int kind;
    struct explore_cell cell;
    int is_trial;
    unsigned windows, gap, block; /* of a trial, all as powers of two: 0 to 7, 1 to 3, 0 to 3 */
};

/* Never 0, which is the plan of a communicator where nothing was agreed on. */
uint32_t explore_pack(const struct explore_plan *p);
/* 0; -1: no such plan. */
int explore_unpack(uint32_t plan, struct explore_plan *p);

/* How many calls of its kind a trial takes, and how many of them are the other's. */
uint32_t explore_span(const struct explore_plan *trial);
uint32_t explore_tried(const struct explore_plan *trial);

/* What the call is that has so many of its kind since the trial began before it. The first call behind a change of
 * algorithm takes longer, one way and the other. */
enum explore_arm { EXPLORE_HOLD, EXPLORE_HOLD_FIRST, EXPLORE_TRIED_FIRST, EXPLORE_TRIED };
enum explore_arm explore_turn(const struct explore_plan *trial, uint32_t call);

#endif
