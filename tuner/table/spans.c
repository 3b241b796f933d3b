/* Builds the intervals: a sweep over the sorted bounds that keeps the open rules in the order of the file. */
#include "tuner/table/spans.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/hash.h"
#include "tuner/table/table.h"

/* Steps that a build may take before the ranges are judged not worth it: the lists of a sane table are a few entries
 * long, and 4 million steps are some ten milliseconds. */
#define WORK_LIMIT(count) (((size_t)4 << 20) + 64 * (count))

/* A bound: here span `span` begins, or has just ended. */
struct bound {
    uint64_t at;
    uint32_t span;
    uint32_t opens;
};

struct sweep {
    const struct tuner_span *spans;
    size_t count;
    struct bound *bounds;
    uint32_t *open; /* spans that hold the current interval, in the order of the file */
    size_t open_count;
    uint32_t *list; /* candidates of the current interval, as span numbers */
    size_t work;

    struct tuner_node *nodes;
    size_t node_count;
    struct tuner_entry *entries;
    size_t entry_count, entry_room;
    uint32_t *interned; /* hash table of nodes (number + 1) with distinct lists */
    size_t interned_mask;
};

/* ---- intervals ------------------------------------------------------------------------------------------------- */

static int by_position(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->span > y->span) - (x->span < y->span);
}

static size_t make_bounds(struct sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->bounds[n++] = (struct bound){s->spans[i].low, (uint32_t)i, 1};
        if (s->spans[i].high < UINT64_MAX)
            s->bounds[n++] = (struct bound){s->spans[i].high + 1, (uint32_t)i, 0};
    }
    qsort(s->bounds, n, sizeof *s->bounds, by_position);
    return n;
}

static void apply_bound(struct sweep *s, const struct bound *b)
{
    size_t at = s->open_count;
    while (at && s->open[at - 1] >= b->span)
        at--;
    uint32_t *place = s->open + at;
    size_t behind = s->open_count - at;
    s->work += behind + 1;
    if (b->opens) {
        memmove(place + 1, place, behind * sizeof *place);
        *place = b->span;
        s->open_count++;
    } else {
        memmove(place, place + 1, (behind - 1) * sizeof *place);
        s->open_count--;
    }
}

static int covers(int a, int b)
{
    return a == TUNER_ANY || a == b;
}

/* Whether a call that `b` could take is always taken by `a`, which comes first in the file. A cell that `b` asks for
 * lies in the row or column that `a` leaves open, so `a` finds an available cell wherever `b` does. */
static int entry_beats(const struct tuner_entry *a, const struct tuner_entry *b)
{
    return covers(a->pipe_ops, b->pipe_ops) && covers(a->reg_buff, b->reg_buff) && covers(a->algo, b->algo) &&
           covers(a->proto, b->proto);
}

/* Fills s->list for the interval that begins now; returns its length. */
static size_t candidates(struct sweep *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->open_count && s->work <= WORK_LIMIT(s->count); i++) {
        size_t j = 0;
        while (j < kept && !entry_beats(&s->spans[s->list[j]].entry, &s->spans[s->open[i]].entry))
            j++;
        s->work += j + 1;
        if (j == kept)
            s->list[kept++] = s->open[i];
    }
    return kept;
}

static int same_list(const struct sweep *s, const struct tuner_node *node, size_t count)
{
    if (node->count != count || !s->entries)
        return node->count == count && !count;
    for (size_t i = 0; i < count; i++)
        if (memcmp(&s->entries[node->first + i], &s->spans[s->list[i]].entry, sizeof *s->entries) != 0)
            return 0;
    return 1;
}

static uint64_t hash_list(const struct sweep *s, size_t count)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < count; i++) {
        uint32_t w[sizeof(struct tuner_entry) / 4];
        memcpy(w, &s->spans[s->list[i]].entry, sizeof w);
        for (size_t j = 0; j < sizeof w / sizeof *w; j++)
            h = hash_add(h, w[j]);
    }
    return h ^ h >> 29;
}

static int add_entries(struct sweep *s, size_t count)
{
    if (s->entry_count + count > s->entry_room) {
        size_t room = 2 * (s->entry_count + count);
        struct tuner_entry *entries = room <= UINT32_MAX ? realloc(s->entries, room * sizeof *entries) : NULL;
        if (!entries)
            return -1;
        s->entries = entries;
        s->entry_room = room;
    }
    for (size_t i = 0; i < count; i++)
        s->entries[s->entry_count++] = s->spans[s->list[i]].entry;
    return 0;
}

/* The cell of a candidate that asks for nothing but that and regBuff. */
static unsigned char cell_of(const struct tuner_entry *e)
{
    int plain = e->pipe_ops == TUNER_ANY && e->algo != TUNER_ANY && e->proto != TUNER_ANY;
    int asks = e->reg_buff == TUNER_ANY ? 0 : e->reg_buff + 1;
    return (unsigned char)(plain ? asks << TUNER_CELL_BITS | (e->algo * PROTO_COUNT + e->proto) : TUNER_NO_CELL);
}

/* Appends the interval from `start` unless it continues the one before; equal lists are stored once. */
static int add_node(struct sweep *s, uint64_t start, size_t count)
{
    if (s->node_count && same_list(s, &s->nodes[s->node_count - 1], count))
        return 0;
    struct tuner_node *node = &s->nodes[s->node_count];
    const struct tuner_entry *best = count ? &s->spans[s->list[0]].entry : NULL;
    if (count > USHRT_MAX)
        return -1;
    *node = (struct tuner_node){start, (uint32_t)s->entry_count, (unsigned short)count,
                                best ? cell_of(best) : TUNER_NO_CELL, (unsigned char)(best ? best->channels : 0)};
    size_t slot = hash_list(s, count) & s->interned_mask;
    for (; s->interned[slot]; slot = (slot + 1) & s->interned_mask) {
        const struct tuner_node *old = &s->nodes[s->interned[slot] - 1];
        if (same_list(s, old, count)) {
            node->first = old->first;
            break;
        }
    }
    s->node_count++;
    if (s->interned[slot])
        return 0;
    s->interned[slot] = (uint32_t)s->node_count;
    return add_entries(s, count);
}

static int sweep(struct sweep *s)
{
    size_t bounds = make_bounds(s), i = 0;
    if (bounds == 0 || s->bounds[0].at > 0)
        add_node(s, 0, 0);
    while (i < bounds) {
        uint64_t at = s->bounds[i].at;
        for (; i < bounds && s->bounds[i].at == at && s->work <= WORK_LIMIT(s->count); i++)
            apply_bound(s, &s->bounds[i]);
        size_t count = candidates(s);
        if (s->work > WORK_LIMIT(s->count) || add_node(s, at, count))
            return -1;
    }
    return 0;
}

/* ---- public ---------------------------------------------------------------------------------------------------- */

static int reserve(struct sweep *s)
{
    size_t n = s->count, slots = 64;
    while (slots < 4 * n + 4)
        slots *= 2;
    s->interned_mask = slots - 1;
    s->bounds = malloc(2 * n * sizeof *s->bounds);
    s->open = malloc(n * sizeof *s->open);
    s->list = malloc(n * sizeof *s->list);
    s->nodes = malloc((2 * n + 1) * sizeof *s->nodes);
    s->interned = calloc(slots, sizeof *s->interned);
    return s->bounds && s->open && s->list && s->nodes && s->interned ? 0 : -1;
}

void tuner_spans_build(struct tuner_spans *m, struct tuner_span *spans, size_t count)
{
    *m = (struct tuner_spans){.spans = spans, .count = count};
    struct sweep s = {.spans = spans, .count = count};
    if (count && !reserve(&s) && !sweep(&s)) {
        struct tuner_node *fitted = realloc(s.nodes, s.node_count * sizeof *fitted);
        m->nodes = fitted ? fitted : s.nodes;
        m->node_count = (uint32_t)s.node_count;
        m->entries = s.entries;
        s.nodes = NULL;
        s.entries = NULL;
        free(m->spans);
        m->spans = NULL;
    }
    free(s.bounds);
    free(s.open);
    free(s.list);
    free(s.nodes);
    free(s.entries);
    free(s.interned);
}

void tuner_spans_free(struct tuner_spans *m)
{
    free(m->nodes);
    free(m->entries);
    free(m->spans);
    *m = (struct tuner_spans){0};
}
