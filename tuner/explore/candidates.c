/* What can be tried for a kind of calls, in its order. */
#include <stdlib.h>
#include <string.h>

#include "tuner/explore/decide_internal.h"

#define RISK    2.0 /* times what NCCL predicts, before a candidate was seen */
#define DEAREST 8.0 /* times: what NCCL predicts to be slower is not tried */

static int has_candidate(const struct topic *t, struct explore_cell cell)
{
    for (int i = 0; i < t->ncandidates; i++)
        if (!memcmp(&t->candidates[i].cell, &cell, sizeof cell))
            return 1;
    return 0;
}

static void add(struct topic *t, struct explore_cell cell, double risk)
{
    if (t->ncandidates < EXPLORE_MOST && !has_candidate(t, cell))
        t->candidates[t->ncandidates++] = (struct explore_candidate){.cell = cell, .risk = risk};
}

void explore_hinted(struct explore_decider *d, int kind, struct explore_cell cell, double over)
{
    struct hint *more = realloc(d->hints, (d->nhints + 1) * sizeof *more);
    size_t at = d->nhints;
    if (!more)
        return;
    for (d->hints = more; at && more[at - 1].over > over; at--)
        more[at] = more[at - 1];
    more[at] = (struct hint){kind, cell, over};
    d->nhints++;
}

static int was_slower(const struct explore_decider *d, const struct topic *t, struct explore_cell cell)
{
    for (size_t i = 0; i < d->nhints && !explore_is_ruled(t->rule); i++)
        if (d->hints[i].kind == t->kind && !memcmp(&d->hints[i].cell, &cell, sizeof cell))
            return d->hints[i].over > 1 - EXPLORE_MARGIN;
    return 0;
}

/* Up to three: there has to be room for what nobody has tried. */
static void list_hinted(const struct explore_decider *d, struct topic *t, unsigned offered)
{
    int most = t->ncandidates + 3;
    for (size_t i = 0; i < d->nhints && t->ncandidates < most && !explore_is_ruled(t->rule); i++) {
        const struct hint *h = &d->hints[i];
        int is_own = h->cell.cell == t->own_cell && !h->cell.channels;
        if (h->kind == t->kind && h->over < 1 - EXPLORE_MARGIN && offered >> h->cell.cell & 1 && !is_own)
            add(t, h->cell, h->over);
    }
}

void explore_list(const struct explore_decider *d, struct topic *t, const struct explore_seen *seen)
{
    double least = 1e30;
    int order[EXPLORE_CELLS] = {0}, n = 0;
    for (int i = 0; i < EXPLORE_CELLS; i++) {
        if (!(seen->offered >> i & 1))
            continue;
        int at = n++;
        for (; at && seen->predicted_us[order[at - 1]] > seen->predicted_us[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        least =
            (double)seen->predicted_us[i] < least && seen->predicted_us[i] > 0 ? (double)seen->predicted_us[i] : least;
    }
    t->is_listed = 1;
    add(t, explore_nothing, 1);
    if (explore_is_ruled(t->rule)) /* beside it others see what the table and all that was tried are worth */
        add(t, (struct explore_cell){.cell = EXPLORE_LIBRARY}, RISK);
    list_hinted(d, t, seen->offered);
    for (int i = 0; i < n; i++) {
        double over = (double)seen->predicted_us[order[i]] / least;
        struct explore_cell cell = {.cell = (int8_t)order[i]};
        if (order[i] != t->own_cell && over < DEAREST && !was_slower(d, t, cell))
            add(t, cell, RISK * (over > 1 ? over : 1));
    }
}

/* What calls run with, where that is a cell; -1. */
static int cell_now(const struct topic *t)
{
    return t->hold.cell < 0 ? t->own_cell : explore_is_cell(t->hold) ? t->hold.cell : -1;
}

static int channels_now(const struct topic *t)
{
    return t->hold.channels ? t->hold.channels : t->own_channels;
}

void explore_list_channels(struct topic *t)
{
    int cell = cell_now(t), now = channels_now(t);
    const int counts[] = {now / 2, t->widest > now ? t->widest : 0, now / 4};
    for (int i = 0; cell >= 0 && i < 3; i++)
        if (counts[i] > 0 && counts[i] <= 64)
            add(t, (struct explore_cell){(int8_t)cell, (uint8_t)counts[i], t->hold.chunk}, RISK);
}

void explore_list_chunks(struct topic *t, const struct explore_seen *seen)
{
    int cell = cell_now(t), channels = channels_now(t), own = 0;
    while (own + 1 < EXPLORE_CHUNKS && EXPLORE_CHUNK(own + 1) <= seen->chunk_bytes)
        own++;
    const int chunks[] = {own - 1, cell == PROTO_LL128 ? own + 1 : 0, own - 2};
    for (int i = 0; own && cell >= 0 && channels > 0 && channels <= 64 && i < 3; i++)
        if (chunks[i] > 0 && chunks[i] < EXPLORE_CHUNKS)
            add(t, (struct explore_cell){(int8_t)cell, (uint8_t)channels, (uint16_t)chunks[i]}, RISK);
}
