/* Plans as words, and whose turn it is. */
#include "tuner/explore/plan.h"

enum { KIND_BITS = 10, CELL_BITS = 3, CHANNEL_BITS = 7, WINDOW_BITS = 3, GAP_BITS = 2, BLOCK_BITS = 2, CHUNK_BITS = 4 };
_Static_assert(EXPLORE_KINDS < 1 << KIND_BITS, "one more, so that no plan is 0");
_Static_assert(KIND_BITS + CELL_BITS + CHANNEL_BITS + 1 + WINDOW_BITS + GAP_BITS + BLOCK_BITS + CHUNK_BITS <= 32,
               "one word");

static const int colls[] = {COLL_ALLGATHER, COLL_REDUCESCATTER, COLL_ALLREDUCE};

int explore_kind(int coll, uint64_t bytes)
{
    int place = coll == COLL_ALLGATHER ? 0 : coll == COLL_REDUCESCATTER ? 1 : coll == COLL_ALLREDUCE ? 2 : -1;
    if (place < 0 || !bytes)
        return -1;
    int octave = 63 - __builtin_clzll(bytes);
    int quarter = (int)((octave >= 2 ? bytes >> (octave - 2) : bytes << (2 - octave)) & 3);
    int bin = 4 * octave + quarter;
    return bin < EXPLORE_BINS ? place * EXPLORE_BINS + bin : -1;
}

int explore_coll(int kind)
{
    return colls[kind / EXPLORE_BINS];
}

static uint32_t put(uint32_t word, int bits, unsigned value)
{
    return word << bits | (value & ((1U << bits) - 1));
}

static unsigned take(uint32_t *word, int bits)
{
    unsigned value = *word & ((1U << bits) - 1);
    *word >>= bits;
    return value;
}

uint32_t explore_pack(const struct explore_plan *p)
{
    uint32_t word = put(put(0, CHUNK_BITS, p->cell.chunk), BLOCK_BITS, p->block);
    word = put(word, GAP_BITS, p->gap);
    word = put(word, WINDOW_BITS, p->windows);
    word = put(word, 1, p->is_trial != 0);
    word = put(word, CHANNEL_BITS, p->cell.channels);
    word = put(word, CELL_BITS, (unsigned)(p->cell.cell + 1));
    return put(word, KIND_BITS, (unsigned)(p->kind + 1));
}

int explore_unpack(uint32_t plan, struct explore_plan *p)
{
    p->kind = (int)take(&plan, KIND_BITS) - 1;
    p->cell.cell = (int8_t)((int)take(&plan, CELL_BITS) - 1);
    p->cell.channels = (uint8_t)take(&plan, CHANNEL_BITS);
    p->is_trial = (int)take(&plan, 1);
    p->windows = take(&plan, WINDOW_BITS);
    p->gap = take(&plan, GAP_BITS);
    p->block = take(&plan, BLOCK_BITS);
    p->cell.chunk = (uint16_t)take(&plan, CHUNK_BITS);
    int known = p->kind >= 0 && p->kind < EXPLORE_KINDS && p->cell.channels <= 64 && !plan;
    int fits = (explore_is_cell(p->cell) || !p->cell.channels) && (p->cell.channels || !p->cell.chunk);
    return known && fits && (p->gap || !p->is_trial) ? 0 : -1;
}

uint32_t explore_span(const struct explore_plan *trial)
{
    return 1U << (trial->windows + trial->gap + trial->block);
}

uint32_t explore_tried(const struct explore_plan *trial)
{
    return 1U << (trial->windows + trial->block);
}

/* Jobs repeat themselves: the other's block has to come at any place of a step. Never the first block of a window, so
 * that two of them are never one. */
enum explore_arm explore_turn(const struct explore_plan *trial, uint32_t call)
{
    uint32_t block = call >> trial->block, window = block >> trial->gap, others = (1U << trial->gap) - 1;
    uint32_t place = 1 + (uint32_t)((window + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % others;
    int is_first = !(call & ((1U << trial->block) - 1)), at = (int)(block & others);
    if (at == (int)place)
        return is_first ? EXPLORE_TRIED_FIRST : EXPLORE_TRIED;
    int is_behind = at ? at == (int)place + 1 : 0;
    if (!at && window) { /* the last block of the window before this */
        uint32_t before = 1 + (uint32_t)(window * UINT64_C(0x9e3779b97f4a7c15) >> 40) % others;
        is_behind = before == others;
    }
    return is_behind && is_first ? EXPLORE_HOLD_FIRST : EXPLORE_HOLD;
}
