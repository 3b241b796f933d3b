/* Builds the intervals: a sweep over the sorted bounds that keeps, for every kind of condition, the first open rule. */
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

#define MAX_BUCKET_BITS 20

/* A bound: here span `span` begins, or has just ended. */
struct bound {
    uint64_t at;
    uint32_t span;
    uint32_t opens;
};

struct keyed {
    uint64_t key;
    uint32_t span;
};

/* Rules with the same condition: only the first of those that are open can ever be taken. `heap` is a binary heap of
 * span numbers, smallest first; spans that have ended are dropped when they come to the top. */
struct kind {
    uint32_t *heap;
    uint32_t size;
    int listed; /* in sweep.open */
};

struct sweep {
    const struct tuner_span *spans;
    size_t count;
    struct bound *bounds;
    struct keyed *keys;
    uint32_t *heaps;      /* the memory of all kinds' heaps */
    uint32_t *kind_of;    /* per span */
    unsigned char *alive; /* per span */
    struct kind *kinds;
    uint32_t *open; /* kinds with something open */
    size_t open_count;
    uint32_t *list; /* candidates of the current interval, as span numbers */
    size_t work;

    struct tuner_node *nodes;
    size_t node_count;
    struct tuner_entry *entries;
    size_t entry_count, entry_room;
    uint32_t *interned; /* hash table of nodes (number + 1) with distinct lists */
    size_t interned_mask;
    void *memory; /* of all of it but nodes and entries */
};

/* ---- kinds ----------------------------------------------------------------------------------------------------- */

static uint64_t condition_key(const struct tuner_entry *e)
{
    return (uint64_t)(uint32_t)e->pipe_ops << 32 | (uint64_t)(unsigned char)e->algo << 16 |
           (uint64_t)(unsigned char)e->proto << 8 | (unsigned char)e->reg_buff;
}

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->span > y->span) - (x->span < y->span);
}

static void make_kinds(struct sweep *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->keys[i] = (struct keyed){condition_key(&s->spans[i].entry), (uint32_t)i};
    qsort(s->keys, s->count, sizeof *s->keys, by_key);
    struct kind *kind = s->kinds - 1;
    for (size_t i = 0; i < s->count; i++) {
        if (i == 0 || s->keys[i].key != s->keys[i - 1].key)
            *++kind = (struct kind){.heap = s->heaps + i};
        s->kind_of[s->keys[i].span] = (uint32_t)(kind - s->kinds);
    }
}

static void heap_push(struct kind *k, uint32_t span)
{
    uint32_t i = k->size++;
    for (; i && k->heap[(i - 1) / 2] > span; i = (i - 1) / 2)
        k->heap[i] = k->heap[(i - 1) / 2];
    k->heap[i] = span;
}

static void heap_pop(struct kind *k)
{
    uint32_t last = k->heap[--k->size], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < k->size; i = child) {
        if (child + 1 < k->size && k->heap[child + 1] < k->heap[child])
            child++;
        if (k->heap[child] >= last)
            break;
        k->heap[i] = k->heap[child];
    }
    if (k->size)
        k->heap[i] = last;
}

/* ---- intervals ------------------------------------------------------------------------------------------------- */

static int by_position(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
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
    struct kind *k = &s->kinds[s->kind_of[b->span]];
    s->alive[b->span] = (unsigned char)b->opens;
    if (!b->opens)
        return;
    heap_push(k, b->span);
    if (!k->listed)
        s->open[s->open_count++] = s->kind_of[b->span];
    k->listed = 1;
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

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Fills s->list for the interval that begins now; returns its length. */
static size_t candidates(struct sweep *s)
{
    size_t found = 0, kept = 0;
    for (size_t i = 0; i < s->open_count;) {
        struct kind *k = &s->kinds[s->open[i]];
        while (k->size && !s->alive[k->heap[0]])
            heap_pop(k);
        if (k->size) {
            s->list[found++] = k->heap[0];
            i++;
        } else {
            k->listed = 0;
            s->open[i] = s->open[--s->open_count];
        }
    }
    qsort(s->list, found, sizeof *s->list, by_number);
    for (size_t i = 0; i < found && s->work <= WORK_LIMIT(s->count); i++) {
        size_t j = 0;
        while (j < kept && !entry_beats(&s->spans[s->list[j]].entry, &s->spans[s->list[i]].entry))
            j++;
        s->work += j + 1;
        if (j == kept)
            s->list[kept++] = s->list[i];
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
    make_kinds(s);
    if (bounds == 0 || s->bounds[0].at > 0)
        add_node(s, 0, 0);
    while (i < bounds) {
        uint64_t at = s->bounds[i].at;
        for (; i < bounds && s->bounds[i].at == at; i++)
            apply_bound(s, &s->bounds[i]);
        size_t count = candidates(s);
        if (s->work > WORK_LIMIT(s->count) || add_node(s, at, count))
            return -1;
    }
    struct tuner_node pad = s->nodes[s->node_count - 1]; /* the same list: the largest size of all may land there */
    pad.start = UINT64_MAX;
    for (i = 0; i < TUNER_NODE_PADDING; i++)
        s->nodes[s->node_count + i] = pad;
    return 0;
}

/* ---- the table over the top bits ------------------------------------------------------------------------------- */

/* Octave e holds the sizes 2^e to 2^(e+1)-1 (and 0 is with 1), in about as many buckets as it has bounds. */
static int make_buckets(struct tuner_spans *m, size_t nodes)
{
    size_t bounds[64] = {0}, first[65] = {0};
    for (size_t i = 0; i < nodes; i++)
        bounds[63U - (unsigned)__builtin_clzll(m->nodes[i].start | 1)]++;
    for (unsigned e = 0; e < 64; e++) {
        unsigned most = e == 0 ? 1 : e < MAX_BUCKET_BITS ? e : MAX_BUCKET_BITS, bits = e == 0 ? 1 : 0;
        while (bits < most && ((size_t)1 << bits) < bounds[e])
            bits++;
        unsigned width = e == 0 ? 1 : e; /* octave 0 is two sizes wide, octave e has 2^e */
        m->octave[e].shift = width - bits;
        m->octave[e].base = (uint32_t)first[e] - (e ? (uint32_t)(((uint64_t)1 << e) >> m->octave[e].shift) : 0);
        first[e + 1] = first[e] + ((size_t)1 << bits);
    }
    m->buckets = malloc((first[64] + 1) * sizeof *m->buckets);
    if (!m->buckets)
        return -1;
    uint32_t node = 0;
    for (unsigned e = 0; e < 64; e++)
        for (size_t b = first[e]; b < first[e + 1]; b++) {
            uint64_t low = (e ? (uint64_t)1 << e : 0) + ((uint64_t)(b - first[e]) << m->octave[e].shift);
            while (node + 1 < nodes && m->nodes[node + 1].start <= low)
                node++;
            m->buckets[b] = node;
        }
    m->buckets[first[64]] = (uint32_t)nodes - 1;
    return 0;
}

/* ---- public ---------------------------------------------------------------------------------------------------- */

/* One piece of memory for all, what needs the most alignment first. */
static int reserve(struct sweep *s)
{
    size_t n = s->count, slots = 64;
    while (slots < 4 * n + 4)
        slots *= 2;
    s->interned_mask = slots - 1;
    s->memory = calloc(1, n * (2 * sizeof *s->bounds + sizeof *s->keys + sizeof *s->kinds + 4 * sizeof(uint32_t) + 1) +
                              slots * sizeof *s->interned);
    s->nodes = malloc((2 * n + 1 + TUNER_NODE_PADDING) * sizeof *s->nodes);
    if (!s->memory || !s->nodes)
        return -1;
    s->bounds = s->memory;
    s->keys = (struct keyed *)(s->bounds + 2 * n);
    s->kinds = (struct kind *)(s->keys + n);
    s->heaps = (uint32_t *)(s->kinds + n);
    s->kind_of = s->heaps + n;
    s->open = s->kind_of + n;
    s->list = s->open + n;
    s->interned = s->list + n;
    s->alive = (unsigned char *)(s->interned + slots);
    return 0;
}

void tuner_spans_build(struct tuner_spans *m, struct tuner_span *spans, size_t count)
{
    *m = (struct tuner_spans){.spans = spans, .count = count};
    struct sweep s = {.spans = spans, .count = count};
    if (count && !reserve(&s) && !sweep(&s)) {
        m->nodes = s.nodes;
        m->entries = s.entries;
        s.nodes = NULL;
        s.entries = NULL;
        if (make_buckets(m, s.node_count)) {
            free(m->nodes);
            free(m->entries);
            m->nodes = NULL;
            m->entries = NULL;
        }
    }
    free(s.memory);
    free(s.nodes);
    free(s.entries);
    if (m->nodes) {
        struct tuner_node *fitted = realloc(m->nodes, (s.node_count + TUNER_NODE_PADDING) * sizeof *fitted);
        if (fitted)
            m->nodes = fitted;
        free(m->spans);
        m->spans = NULL;
    }
}

void tuner_spans_free(struct tuner_spans *m)
{
    free(m->nodes);
    free(m->entries);
    free(m->buckets);
    free(m->spans);
    *m = (struct tuner_spans){0};
}
