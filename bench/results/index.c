/* Two hash tables with chains in the order of the results: with the size in the key, and without. */
#include "bench/results/index.h"

#include "core/hash.h"

struct entry {
    uint64_t hash;
    int next; /* in its chain; -1 none */
};

struct chain {
    int first, last; /* -1 none */
};

struct table {
    struct entry *entries;
    struct chain *chains;
    size_t nchains; /* a power of two, more than there are entries */
};

struct bench_index {
    struct table tables[2];
    int count;
};

static uint64_t hash_of(const struct bench_result *r, int here)
{
    const int words[] = {r->coll, r->nodes, r->ranks, r->others, r->buffers};
    uint64_t hash = hash_add(hash_text(r->call.label), hash_text(r->launch.label));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hash_add(hash, (uint64_t)words[i]);
    return here ? hash_add(hash, r->bytes) : hash;
}

static struct chain *chain_of(const struct table *t, uint64_t hash)
{
    return &t->chains[(hash ^ hash >> 32) & (t->nchains - 1)];
}

static void append(struct table *t, int number)
{
    struct chain *c = chain_of(t, t->entries[number].hash);
    t->entries[number].next = -1;
    if (c->last < 0)
        c->first = number;
    else
        t->entries[c->last].next = number;
    c->last = number;
}

/* Twice as many chains, with all entries before `count` in them. */
static void spread(struct table *t, int count, struct arena *a)
{
    t->nchains = t->nchains ? 2 * t->nchains : 64;
    t->chains = arena_alloc(a, t->nchains * sizeof *t->chains);
    for (size_t i = 0; i < t->nchains; i++)
        t->chains[i] = (struct chain){-1, -1};
    for (int i = 0; i < count; i++)
        append(t, i);
}

struct bench_index *bench_index_add(struct bench_index *x, const struct bench_result *r, struct arena *a)
{
    x = x ? x : ARENA_NEW(a, struct bench_index);
    for (int here = 0; here < 2; here++) {
        struct table *t = &x->tables[here];
        if ((size_t)x->count >= t->nchains)
            spread(t, x->count, a);
        t->entries = arena_grow(a, t->entries, (size_t)x->count, sizeof *t->entries);
        t->entries[x->count].hash = hash_of(r, here);
        append(t, x->count);
    }
    x->count++;
    return x;
}

/* `number`, or the first behind it in its chain with that hash. */
static int skip(const struct table *t, int number, uint64_t hash)
{
    while (number >= 0 && t->entries[number].hash != hash)
        number = t->entries[number].next;
    return number;
}

int bench_index_first(const struct bench_index *x, const struct bench_result *like, int here)
{
    const struct table *t = &x->tables[here];
    uint64_t hash = hash_of(like, here);
    return skip(t, chain_of(t, hash)->first, hash);
}

int bench_index_next(const struct bench_index *x, int number, int here)
{
    const struct table *t = &x->tables[here];
    return skip(t, t->entries[number].next, t->entries[number].hash);
}
