/* Per collective, two sets of ranges: over the whole size for choices, over one channel's slice for chunk sizes. */
#include "tuner/table/index.h"

#include <stdlib.h>

/* ---- building -------------------------------------------------------------------------------------------------- */

static struct tuner_entry entry_of(const struct tuner_rule *r)
{
    return (struct tuner_entry){.pipe_ops = r->pipe_ops,
                                .reg_buff = (short)r->reg_buff,
                                .algo = (short)r->algo,
                                .proto = (short)r->proto,
                                .channels = (short)r->channels};
}

static int call_span(const struct tuner_rule *r, struct tuner_span *s)
{
    *s = (struct tuner_span){r->min_bytes, r->max_bytes, entry_of(r)};
    return 1;
}

/* The rule's range divided by its channels, so that slices are looked up as they come. */
static int chunk_span(const struct tuner_rule *r, struct tuner_span *s)
{
    /* NCCL does not say here whether buffers are registered: what was measured without counts. */
    if (!r->channels || r->pipe_ops != TUNER_ANY || r->reg_buff > 0)
        return 0;
    uint64_t channels = (uint64_t)r->channels;
    s->low = r->min_bytes / channels + (r->min_bytes % channels != 0);
    s->high = r->max_bytes == UINT64_MAX ? UINT64_MAX : r->max_bytes / channels;
    s->entry = entry_of(r);
    s->entry.channels = 0;
    s->entry.chunk_bytes = r->chunk_bytes;
    return s->low <= s->high;
}

typedef int make_span(const struct tuner_rule *r, struct tuner_span *s);

/* The spans of one collective's rules that fit the shape. 0, or -1 without memory. */
static int build_spans(struct tuner_spans *m, const struct tuner_table *t, const struct tuner_shape *shape, int coll,
                       make_span *make)
{
    struct tuner_span *spans = t->count ? malloc(t->count * sizeof *spans) : NULL;
    size_t count = 0;
    if (t->count && !spans)
        return -1;
    for (size_t i = 0; i < t->count; i++)
        if (t->rules[i].coll == coll && tuner_rule_fits_shape(&t->rules[i], shape))
            count += (size_t)make(&t->rules[i], &spans[count]);
    if (!count) {
        free(spans);
        spans = NULL;
    }
    tuner_spans_build(m, spans, count);
    return 0;
}

struct tuner_index *tuner_index_new(const struct tuner_table *t, const struct tuner_shape *s)
{
    struct tuner_index *ix = calloc(1, sizeof *ix);
    if (!ix)
        return NULL;
    int chunks = 0;
    for (size_t i = 0; i < t->count; i++)
        chunks |= t->rules[i].chunk_bytes != 0;
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        if (build_spans(&ix->calls[coll], t, s, coll, call_span) ||
            (chunks && build_spans(&ix->chunks[coll], t, s, coll, chunk_span))) {
            tuner_index_free(ix);
            return NULL;
        }
        ix->rules += ix->calls[coll].count;
    }
    return ix;
}

void tuner_index_free(struct tuner_index *ix)
{
    for (int coll = 0; ix && !ix->is_borrowed && coll < COLL_COUNT; coll++) {
        tuner_spans_free(&ix->calls[coll]);
        tuner_spans_free(&ix->chunks[coll]);
    }
    if (ix && !ix->is_placed)
        free(ix);
}

/* The interval of any `n`; m->nodes must not be NULL. */
static const struct tuner_node *find_node(const struct tuner_spans *m, uint64_t n)
{
    unsigned e = 63U - (unsigned)__builtin_clzll(n | 1);
    const uint32_t *bucket = m->buckets + (uint32_t)(m->octave[e].base + (uint32_t)(n >> m->octave[e].shift));
    const struct tuner_node *node = m->nodes + bucket[0];
    for (uint32_t left = bucket[1] - bucket[0]; left;) { /* it is one of node[0..left] */
        uint32_t half = (left + 1) / 2;
        node = node[half].start <= n ? node + half : node;
        left -= half;
    }
    return node;
}

int tuner_index_is_scanned(const struct tuner_index *ix)
{
    for (int coll = 0; coll < COLL_COUNT; coll++)
        if (ix->calls[coll].spans || ix->chunks[coll].spans)
            return 1;
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

struct tuner_choice tuner_choose_cell(int algo, int proto, const struct tuner_call *call)
{
    struct tuner_choice choice = tuner_no_choice;
    int any = algo == TUNER_ANY && proto == TUNER_ANY;
    float best = 0;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            if ((algo != TUNER_ANY && algo != a) || (proto != TUNER_ANY && proto != p) || !tuner_has_cell(call, a, p))
                continue;
            float cost = call->cost[(size_t)a * (size_t)call->protos + (size_t)p];
            if (choice.found && cost >= best)
                continue;
            best = cost;
            choice.found = 1;
            choice.algo = any ? TUNER_ANY : a;
            choice.proto = any ? TUNER_ANY : p;
        }
    return choice;
}

static int span_contains(const struct tuner_span *s, uint64_t bytes)
{
    return bytes >= s->low && bytes <= s->high;
}

static int take_entry(const struct tuner_entry *e, const struct tuner_call *call, struct tuner_choice *choice)
{
    if ((e->pipe_ops != TUNER_ANY && e->pipe_ops != call->pipe_ops) ||
        (e->reg_buff != TUNER_ANY && e->reg_buff != call->reg_buff))
        return 0;
    if (e->algo != TUNER_ANY && e->proto != TUNER_ANY) {
        choice->found = tuner_has_cell(call, e->algo, e->proto);
        choice->algo = e->algo;
        choice->proto = e->proto;
    } else {
        *choice = tuner_choose_cell(e->algo, e->proto, call);
    }
    choice->channels = e->channels;
    return choice->found;
}

struct tuner_choice tuner_index_choose(const struct tuner_index *ix, const struct tuner_call *call)
{
    struct tuner_choice choice;
    if ((unsigned)call->coll >= COLL_COUNT)
        return tuner_no_choice;
    const struct tuner_spans *m = &ix->calls[call->coll];
    if (m->nodes) {
        const struct tuner_node *node = find_node(m, call->bytes);
        const struct tuner_entry *e = m->entries + node->first;
        for (const struct tuner_entry *end = e + node->count; e < end; e++)
            if (take_entry(e, call, &choice))
                return choice;
        return tuner_no_choice;
    }
    for (size_t i = 0; i < m->count; i++)
        if (span_contains(&m->spans[i], call->bytes) && take_entry(&m->spans[i].entry, call, &choice))
            return choice;
    return tuner_no_choice;
}

static int runs_with(const struct tuner_entry *e, int algo, int proto)
{
    return (e->algo == TUNER_ANY || e->algo == algo) && (e->proto == TUNER_ANY || e->proto == proto);
}

uint32_t tuner_index_chunk(const struct tuner_index *ix, int coll, uint64_t slice_bytes, int algo, int proto)
{
    if ((unsigned)coll >= COLL_COUNT)
        return 0;
    const struct tuner_spans *m = &ix->chunks[coll];
    if (m->nodes) {
        const struct tuner_node *node = find_node(m, slice_bytes);
        const struct tuner_entry *e = m->entries + node->first;
        for (const struct tuner_entry *end = e + node->count; e < end; e++)
            if (runs_with(e, algo, proto))
                return e->chunk_bytes;
        return 0;
    }
    for (size_t i = 0; i < m->count; i++)
        if (span_contains(&m->spans[i], slice_bytes) && runs_with(&m->spans[i].entry, algo, proto))
            return m->spans[i].entry.chunk_bytes;
    return 0;
}
