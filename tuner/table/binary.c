/* Reading the prepared form. All of it is checked once, in one pass, so that no look-up leaves it whatever it says. */
#include <stdlib.h>
#include <string.h>

#include "tuner/table/binary.h"
#include "tuner/table/index.h"

static const void *part(const struct tuner_binary *b, uint64_t at)
{
    return (const unsigned char *)b->data + at;
}

static int is_inside(const struct tuner_binary *b, uint64_t at, uint64_t count, size_t size)
{
    return at % 8 == 0 && at <= b->bytes && count <= (b->bytes - at) / size;
}

static int entry_ok(const struct tuner_entry *e)
{
    return e->algo >= TUNER_ANY && e->algo < ALGO_COUNT && e->proto >= TUNER_ANY && e->proto < PROTO_COUNT &&
           e->channels >= 0 && e->channels <= TUNER_MAX_CHANNELS;
}

/* Where the top bits of each size lead: to a bucket that has another behind it. */
static int octaves_ok(const struct tuner_binary_set *s)
{
    for (unsigned e = 0; e < 64; e++) {
        uint32_t shift = s->octave[e].shift;
        uint64_t low = e ? UINT64_C(1) << e : 0, high = ((UINT64_C(2) << e) - 1);
        if (shift > 63 || (high >> shift) - (low >> shift) >= s->buckets)
            return 0;
        uint32_t first = s->octave[e].base + (uint32_t)(low >> shift);
        if (first >= s->buckets || (high >> shift) - (low >> shift) >= s->buckets - 1 - first)
            return 0;
    }
    return 1;
}

static int buckets_ok(const struct tuner_binary_set *s, const uint32_t *buckets)
{
    uint32_t falls = 0;
    for (uint32_t i = 1; i < s->buckets; i++)
        falls |= buckets[i] < buckets[i - 1];
    return !falls && buckets[s->buckets - 1] < s->nodes;
}

static int nodes_ok(const struct tuner_binary_set *s, const struct tuner_node *nodes)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < s->nodes + TUNER_NODE_PADDING; i++)
        wrong |= nodes[i].first > s->entries || nodes[i].count > s->entries - nodes[i].first ||
                 nodes[i].channels > TUNER_MAX_CHANNELS ||
                 (nodes[i].cell != TUNER_NO_CELL && tuner_node_cell(&nodes[i]) >= ALGO_COUNT * PROTO_COUNT);
    return !wrong;
}

static int set_ok(const struct tuner_binary *b, const struct tuner_binary_set *s)
{
    uint64_t padded = s->nodes ? (uint64_t)s->nodes + TUNER_NODE_PADDING : 0;
    if (!is_inside(b, s->nodes_at, padded, sizeof(struct tuner_node)) ||
        !is_inside(b, s->entries_at, s->entries, sizeof(struct tuner_entry)) ||
        !is_inside(b, s->buckets_at, s->buckets, sizeof(uint32_t)) ||
        !is_inside(b, s->spans_at, s->spans, sizeof(struct tuner_span)))
        return 0;
    const struct tuner_entry *entries = part(b, s->entries_at);
    const struct tuner_span *spans = part(b, s->spans_at);
    for (uint32_t i = 0; i < s->entries; i++)
        if (!entry_ok(&entries[i]))
            return 0;
    for (uint32_t i = 0; i < s->spans; i++)
        if (!entry_ok(&spans[i].entry))
            return 0;
    return !s->nodes || (padded <= UINT32_MAX && s->buckets > 1 && octaves_ok(s) &&
                         buckets_ok(s, part(b, s->buckets_at)) && nodes_ok(s, part(b, s->nodes_at)));
}

static int cells_ok(const struct tuner_binary *b, const struct tuner_binary_head *h)
{
    uint64_t cells = 1;
    for (int i = 0; i < 3; i++) {
        if (h->cuts[i] >= TUNER_BINARY_CELLS || !is_inside(b, h->cuts_at[i], h->cuts[i], sizeof(int)))
            return 0;
        cells *= (uint64_t)h->cuts[i] + 1;
        if (cells > TUNER_BINARY_CELLS)
            return 0;
    }
    if (!is_inside(b, h->cells_at, cells, sizeof(uint32_t)))
        return 0;
    const uint32_t *views = part(b, h->cells_at);
    for (uint64_t i = 0; i < cells; i++)
        if (views[i] >= h->views)
            return 0;
    return 1;
}

static int head_ok(const struct tuner_binary *b, const struct tuner_binary_head *h)
{
    return b->bytes >= sizeof *h && !memcmp(h->format, TUNER_BINARY_FORMAT, sizeof TUNER_BINARY_FORMAT) &&
           h->order == TUNER_BINARY_ORDER && h->head_bytes == sizeof *h &&
           h->set_bytes == sizeof(struct tuner_binary_set) && h->node_bytes == sizeof(struct tuner_node) &&
           h->entry_bytes == sizeof(struct tuner_entry) && h->span_bytes == sizeof(struct tuner_span) &&
           h->bytes == b->bytes && h->nccl_count <= TUNER_MAX_VERSIONS &&
           is_inside(b, h->views_at, h->views, sizeof(struct tuner_binary_view)) &&
           is_inside(b, h->sets_at, h->sets, sizeof(struct tuner_binary_set));
}

int tuner_binary_open(struct tuner_binary *b, void *data, size_t bytes, struct tuner_table *t)
{
    const struct tuner_binary_head *h = data;
    *b = (struct tuner_binary){.data = data, .bytes = bytes};
    if (!head_ok(b, h) || !cells_ok(b, h))
        return -1;
    const struct tuner_binary_view *views = part(b, h->views_at);
    const struct tuner_binary_set *sets = part(b, h->sets_at);
    for (uint32_t i = 0; i < h->views; i++)
        for (int k = 0; k < TUNER_BINARY_SETS; k++)
            if (views[i].sets[k] > h->sets)
                return -1;
    for (uint32_t i = 0; i < h->sets; i++)
        if (!set_ok(b, &sets[i]))
            return -1;
    memset(t, 0, sizeof *t);
    t->count = h->rules;
    t->broken = h->broken;
    t->next_auto = h->next_auto != 0;
    t->nccl_given = h->nccl_given != 0;
    t->nccl_count = h->nccl_count;
    memcpy(t->nccl, h->nccl, sizeof t->nccl);
    memcpy(b->csv_sha256, h->csv_sha256, sizeof h->csv_sha256);
    return 0;
}

/* How many of the cuts a number is not below. */
static uint32_t count_cuts(const int *cuts, uint32_t count, int value)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        *(cuts[middle] <= value ? &low : &high) = cuts[middle] <= value ? middle + 1 : middle;
    }
    return low;
}

static void borrow(struct tuner_spans *m, const struct tuner_binary *b, const struct tuner_binary_set *s)
{
    unsigned char *data = b->data;
    memcpy(m->octave, s->octave, sizeof m->octave);
    m->count = s->spans;
    if (s->nodes) {
        m->nodes = (struct tuner_node *)(void *)(data + s->nodes_at);
        m->entries = (struct tuner_entry *)(void *)(data + s->entries_at);
        m->buckets = (uint32_t *)(void *)(data + s->buckets_at);
    } else {
        m->spans = (struct tuner_span *)(void *)(data + s->spans_at);
    }
}

/* Memory that was written to once: a page's first use takes as long as all the rest of a communicator's init. */
#define PLACES 6

static struct tuner_index *take_place(struct tuner_binary *b)
{
    if (!b->indexes && !b->used) {
        b->indexes = malloc(PLACES * sizeof *b->indexes);
        if (b->indexes)
            memset(b->indexes, 0, PLACES * sizeof *b->indexes);
    }
    if (!b->indexes || b->used == PLACES)
        return calloc(1, sizeof(struct tuner_index));
    struct tuner_index *ix = &b->indexes[b->used++];
    *ix = (struct tuner_index){.is_placed = 1};
    return ix;
}

void tuner_binary_close(struct tuner_binary *b)
{
    free(b->indexes);
    b->indexes = NULL;
}

struct tuner_index *tuner_binary_index(struct tuner_binary *b, const struct tuner_shape *s)
{
    const struct tuner_binary_head *h = b->data;
    const int values[3] = {s->nodes, s->ranks, s->domains};
    uint32_t cell = 0;
    for (int i = 0; i < 3; i++)
        cell = cell * (h->cuts[i] + 1) + count_cuts(part(b, h->cuts_at[i]), h->cuts[i], values[i]);
    const struct tuner_binary_view *view = part(b, h->views_at);
    const struct tuner_binary_set *sets = part(b, h->sets_at);
    view += ((const uint32_t *)part(b, h->cells_at))[cell];
    struct tuner_index *ix = take_place(b);
    if (!ix)
        return NULL;
    ix->rules = view->rules;
    ix->is_borrowed = 1;
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        if (view->sets[coll])
            borrow(&ix->calls[coll], b, &sets[view->sets[coll] - 1]);
        if (view->sets[COLL_COUNT + coll])
            borrow(&ix->chunks[coll], b, &sets[view->sets[COLL_COUNT + coll] - 1]);
    }
    return ix;
}
