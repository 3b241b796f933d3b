/* Writing the prepared form: a view for every set of rules that some shape of communicator can have. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/table/binary.h"
#include "tuner/table/index.h"

#define CONDITIONS 4096       /* on shapes, of a table that can be prepared */
#define WORK       (1U << 26) /* conditions times cells */
#define SPANS      (1U << 22) /* of all views */

struct writing {
    const struct tuner_table *table;
    unsigned char *data;
    size_t bytes, room;
    int failed; /* no memory, or more than can be prepared */
    struct tuner_shape_rule {
        struct tuner_range nodes, ranks, domains;
    } * conditions;
    size_t nconditions;
    int *cuts[3];
    uint32_t ncuts[3];
    unsigned char *fits; /* of each view, nconditions bytes */
    struct tuner_binary_view *views;
    struct tuner_binary_set *sets;
    uint32_t nviews, nsets, *cells;
    size_t ncells, spans;
};

static void *grow(struct writing *w, void *array, size_t count, size_t size)
{
    void *grown = count & (count - 1) ? array : realloc(array, (count ? 2 * count : 1) * size);
    w->failed |= !grown;
    return grown ? grown : array;
}

/* Appends at a multiple of 8; its offset. */
static uint64_t put(struct writing *w, const void *data, size_t bytes)
{
    size_t at = (w->bytes + 7) / 8 * 8;
    if (at + bytes > w->room) {
        size_t room = 2 * (at + bytes) + 4096;
        unsigned char *grown = room <= 4 * TUNER_BYTES_LIMIT ? realloc(w->data, room) : NULL;
        if (!grown) {
            w->failed = 1;
            return 0;
        }
        w->data = grown;
        w->room = room;
    }
    memset(w->data + w->bytes, 0, at - w->bytes);
    if (bytes)
        memcpy(w->data + at, data, bytes);
    w->bytes = at + bytes;
    return at;
}

/* ---- shapes that the table tells apart ------------------------------------------------------------------------- */

static void collect_conditions(struct writing *w)
{
    for (size_t i = 0; i < w->table->count && !w->failed; i++) {
        const struct tuner_rule *r = &w->table->rules[i];
        struct tuner_shape_rule c = {r->nodes, r->ranks, r->domains};
        size_t k = w->nconditions;
        while (k && memcmp(&w->conditions[k - 1], &c, sizeof c) != 0)
            k--;
        if (k)
            continue;
        w->failed |= w->nconditions == CONDITIONS;
        w->conditions = grow(w, w->conditions, w->nconditions, sizeof c);
        if (!w->failed)
            w->conditions[w->nconditions++] = c;
    }
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static const struct tuner_range *side_of(const struct tuner_shape_rule *c, int side)
{
    return side == 0 ? &c->nodes : side == 1 ? &c->ranks : &c->domains;
}

static void cut_side(struct writing *w, int side)
{
    int *cuts = calloc(2 * w->nconditions + 1, sizeof *cuts);
    uint32_t n = 0, kept = 0;
    w->cuts[side] = cuts;
    if (!cuts) {
        w->failed = 1;
        return;
    }
    for (size_t i = 0; i < w->nconditions; i++) {
        const struct tuner_range *r = side_of(&w->conditions[i], side);
        if (r->low < 0)
            continue;
        cuts[n++] = r->low;
        if (r->high < INT_MAX)
            cuts[n++] = r->high + 1;
    }
    qsort(cuts, n, sizeof *cuts, by_value);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || cuts[kept - 1] != cuts[i])
            cuts[kept++] = cuts[i];
    w->ncuts[side] = kept;
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

static uint32_t put_set(struct writing *w, const struct tuner_spans *m)
{
    struct tuner_binary_set s = {.spans = (uint32_t)m->count};
    if (!m->count)
        return 0;
    if (m->nodes) {
        s.buckets = m->octave[63].base + (uint32_t)(UINT64_MAX >> m->octave[63].shift) + 2; /* with the one behind */
        s.nodes = m->buckets[s.buckets - 1] + 1;
        for (uint32_t i = 0; i < s.nodes; i++)
            if (m->nodes[i].first + m->nodes[i].count > s.entries)
                s.entries = m->nodes[i].first + m->nodes[i].count;
        s.nodes_at = put(w, m->nodes, ((size_t)s.nodes + TUNER_NODE_PADDING) * sizeof *m->nodes);
        s.entries_at = put(w, m->entries, s.entries * sizeof *m->entries);
        s.buckets_at = put(w, m->buckets, s.buckets * sizeof *m->buckets);
        s.spans = 0;
        memcpy(s.octave, m->octave, sizeof s.octave);
    } else {
        s.spans_at = put(w, m->spans, m->count * sizeof *m->spans);
    }
    w->sets = grow(w, w->sets, w->nsets, sizeof s);
    if (w->failed)
        return 0;
    w->sets[w->nsets++] = s;
    return w->nsets;
}

static void add_view(struct writing *w, const struct tuner_shape *shape, const unsigned char *fits)
{
    struct tuner_index *ix = tuner_index_new(w->table, shape);
    struct tuner_binary_view v = {0};
    w->spans += ix ? ix->rules : 0;
    w->failed |= !ix || w->spans > SPANS;
    w->views = grow(w, w->views, w->nviews, sizeof v);
    w->fits = grow(w, w->fits, w->nviews, w->nconditions + 1);
    if (!w->failed) {
        v.rules = (uint32_t)ix->rules;
        for (int coll = 0; coll < COLL_COUNT; coll++) {
            v.sets[coll] = put_set(w, &ix->calls[coll]);
            v.sets[COLL_COUNT + coll] = put_set(w, &ix->chunks[coll]);
        }
        memcpy(w->fits + w->nviews * w->nconditions, fits, w->nconditions);
        w->views[w->nviews++] = v;
    }
    tuner_index_free(ix);
}

/* The view of a shape: that of an earlier one with the same rules, or a new one. */
static uint32_t view_of(struct writing *w, const struct tuner_shape *shape, unsigned char *fits)
{
    uint32_t view = 0;
    for (size_t i = 0; i < w->nconditions; i++) {
        const struct tuner_shape_rule *c = &w->conditions[i];
        const struct tuner_rule r = {.nodes = c->nodes, .ranks = c->ranks, .domains = c->domains};
        fits[i] = (unsigned char)tuner_rule_fits_shape(&r, shape);
    }
    while (view < w->nviews && memcmp(w->fits + view * w->nconditions, fits, w->nconditions) != 0)
        view++;
    if (view == w->nviews)
        add_view(w, shape, fits);
    return view;
}

static int first_of(const struct writing *w, int side, uint32_t box)
{
    return box ? w->cuts[side][box - 1] : TUNER_UNKNOWN;
}

static void make_cells(struct writing *w)
{
    unsigned char *fits = malloc(w->nconditions + 1);
    w->ncells = ((size_t)w->ncuts[0] + 1) * (w->ncuts[1] + 1) * (w->ncuts[2] + 1);
    w->failed |= !fits || w->ncells > TUNER_BINARY_CELLS || w->ncells * w->nconditions > WORK;
    w->cells = w->failed ? NULL : malloc(w->ncells * sizeof *w->cells);
    w->failed |= !w->cells;
    for (size_t cell = 0; cell < w->ncells && !w->failed; cell++) {
        size_t domains = w->ncuts[2] + 1, ranks = w->ncuts[1] + 1;
        struct tuner_shape shape = {first_of(w, 0, (uint32_t)(cell / domains / ranks)),
                                    first_of(w, 1, (uint32_t)(cell / domains % ranks)),
                                    first_of(w, 2, (uint32_t)(cell % domains))};
        w->cells[cell] = view_of(w, &shape, fits);
    }
    free(fits);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static void put_head(struct writing *w, const char *csv_sha256)
{
    const struct tuner_table *t = w->table;
    struct tuner_binary_head h = {.format = TUNER_BINARY_FORMAT,
                                  .order = TUNER_BINARY_ORDER,
                                  .head_bytes = sizeof h,
                                  .set_bytes = sizeof(struct tuner_binary_set),
                                  .node_bytes = sizeof(struct tuner_node),
                                  .entry_bytes = sizeof(struct tuner_entry),
                                  .span_bytes = sizeof(struct tuner_span),
                                  .rules = t->count,
                                  .broken = t->broken,
                                  .next_auto = (uint32_t)t->next_auto,
                                  .nccl_given = (uint32_t)t->nccl_given,
                                  .nccl_count = (uint32_t)t->nccl_count,
                                  .views = w->nviews,
                                  .sets = w->nsets};
    memcpy(h.csv_sha256, csv_sha256, sizeof h.csv_sha256);
    memcpy(h.nccl, t->nccl, sizeof h.nccl);
    for (int i = 0; i < 3; i++) {
        h.cuts[i] = w->ncuts[i];
        h.cuts_at[i] = put(w, w->cuts[i], w->ncuts[i] * sizeof **w->cuts);
    }
    h.cells_at = put(w, w->cells, w->ncells * sizeof *w->cells);
    h.views_at = put(w, w->views, w->nviews * sizeof *w->views);
    h.sets_at = put(w, w->sets, w->nsets * sizeof *w->sets);
    h.bytes = w->bytes;
    if (!w->failed)
        memcpy(w->data, &h, sizeof h);
}

void *tuner_binary_make(const struct tuner_table *t, const char *csv_sha256, size_t *bytes)
{
    struct writing w = {.table = t};
    static const struct tuner_binary_head room;
    put(&w, &room, sizeof room);
    collect_conditions(&w);
    for (int side = 0; side < 3 && !w.failed; side++)
        cut_side(&w, side);
    if (!w.failed)
        make_cells(&w);
    if (!w.failed)
        put_head(&w, csv_sha256);
    free(w.conditions);
    for (int side = 0; side < 3; side++)
        free(w.cuts[side]);
    free(w.fits);
    free(w.views);
    free(w.sets);
    free(w.cells);
    if (w.failed) {
        free(w.data);
        return NULL;
    }
    *bytes = w.bytes;
    return w.data;
}
