/* The histogram: keys, places, times. */
#include "tuner/capture/table.h"

#include <stdatomic.h>
#include <stddef.h>

#define PROBES      16 /* places that are tried for a key */
#define EXACT_SLOTS (PROFILER_SLOTS * 3 / 4)
#define OCTAVE      8  /* classes of time in a doubling */
#define FIRST_BIT   10 /* the shortest time that is told apart: 2^10 ns */

/* ---- a call in one word ----------------------------------------------------------------------------------------- */

/* From the low end: bytes, kind, dtype, algorithm, protocol, channels. A call has at least one byte, so a key is never
 * 0, and 16 TiB are far beyond any. */
enum { BYTES_BITS = 44, KIND_BITS = 3, DTYPE_BITS = 4, ALGO_BITS = 4, PROTO_BITS = 2, CHANNEL_BITS = 7 };
_Static_assert(BYTES_BITS + KIND_BITS + DTYPE_BITS + ALGO_BITS + PROTO_BITS + CHANNEL_BITS == 64, "one word");
_Static_assert(COLL_MEASURED <= 1 << KIND_BITS && ALGO_COUNT < 1 << ALGO_BITS && PROTO_COUNT < 1 << PROTO_BITS,
               "room for one more, which is unknown");

#define ALL_ONES(bits) ((UINT64_C(1) << (bits)) - 1)

static uint64_t field(int value, int bits)
{
    return (uint64_t)(unsigned)value & ALL_ONES(bits);
}

static uint64_t key_of(const struct profiler_call *c)
{
    uint64_t key = c->channels < 1 << CHANNEL_BITS ? field(c->channels, CHANNEL_BITS) : ALL_ONES(CHANNEL_BITS);
    key = key << PROTO_BITS | field(c->proto, PROTO_BITS); /* unknown, -1, is all ones */
    key = key << ALGO_BITS | field(c->algo, ALGO_BITS);
    key = key << DTYPE_BITS | field(c->dtype, DTYPE_BITS);
    key = key << KIND_BITS | field(c->kind, KIND_BITS);
    return key << BYTES_BITS | (c->bytes < ALL_ONES(BYTES_BITS) ? c->bytes : ALL_ONES(BYTES_BITS));
}

static int take_key_bits(uint64_t *key, int bits)
{
    int value = (int)(*key & ALL_ONES(bits));
    *key >>= bits;
    return value;
}

static void call_of(uint64_t key, struct profiler_call *c)
{
    c->bytes = key & ALL_ONES(BYTES_BITS);
    key >>= BYTES_BITS;
    c->kind = take_key_bits(&key, KIND_BITS);
    c->dtype = take_key_bits(&key, DTYPE_BITS);
    c->algo = take_key_bits(&key, ALGO_BITS);
    c->proto = take_key_bits(&key, PROTO_BITS);
    c->channels = take_key_bits(&key, CHANNEL_BITS);
    c->algo = c->algo < ALGO_COUNT ? c->algo : -1;
    c->proto = c->proto < PROTO_COUNT ? c->proto : -1;
}

/* The same call at the nearest of 1, 1.25, 1.5 and 1.75 times a power of two. */
static uint64_t rounded(uint64_t key)
{
    uint64_t bytes = key & ALL_ONES(BYTES_BITS);
    int drop = 63 - __builtin_clzll(bytes) - 2;
    if (drop <= 0)
        return key;
    bytes = ((bytes >> (drop - 1)) + 1) >> 1 << drop;
    return (key & ~ALL_ONES(BYTES_BITS)) | (bytes < ALL_ONES(BYTES_BITS) ? bytes : ALL_ONES(BYTES_BITS));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The place of a key; a new one only while fewer than `limit` are taken. -1: none. */
static int find_place(struct profiler_table *t, uint64_t key, uint32_t limit)
{
    unsigned start = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56);
    for (unsigned i = 0; i < PROBES; i++) {
        unsigned slot = (start + i) % PROFILER_SLOTS;
        uint64_t have = atomic_load_explicit(&t->keys[slot], memory_order_relaxed);
        if (have == key)
            return (int)slot;
        if (have)
            continue;
        if (atomic_load_explicit(&t->used, memory_order_relaxed) >= limit)
            return -1;
        if (atomic_compare_exchange_strong(&t->keys[slot], &have, key)) {
            atomic_fetch_add(&t->used, 1);
            return (int)slot;
        }
        if (have == key) /* another thread was here first, with the same call */
            return (int)slot;
    }
    return -1;
}

static int add_to_place(struct profiler_table *t, uint64_t key, uint64_t count)
{
    int slot = find_place(t, key, EXACT_SLOTS);
    if (slot < 0) {
        slot = find_place(t, rounded(key), PROFILER_SLOTS);
        atomic_fetch_add_explicit(slot < 0 ? &t->counters[PROFILER_LOST] : &t->counters[PROFILER_ROUNDED], count,
                                  memory_order_relaxed);
    }
    if (slot >= 0)
        atomic_fetch_add_explicit(&t->counts[slot], count, memory_order_relaxed);
    return slot;
}

int profiler_table_count(struct profiler_table *t, const struct profiler_call *call)
{
    return add_to_place(t, key_of(call), 1);
}

static int lower(_Atomic uint64_t *n)
{
    uint64_t have = atomic_load_explicit(n, memory_order_relaxed);
    while (have && !atomic_compare_exchange_weak(n, &have, have - 1))
        ;
    return have > 0;
}

void profiler_table_uncount(struct profiler_table *t, const struct profiler_call *call)
{
    uint64_t key = key_of(call);
    int slot = find_place(t, key, 0), near = slot < 0 ? find_place(t, rounded(key), 0) : -1;
    if (slot >= 0)
        lower(&t->counts[slot]);
    else if (near < 0)
        lower(&t->counters[PROFILER_LOST]);
    else if (lower(&t->counts[near]))
        lower(&t->counters[PROFILER_ROUNDED]);
}

int profiler_table_call(const struct profiler_table *t, int slot, struct profiler_call *call, uint64_t *count)
{
    uint64_t key = atomic_load_explicit(&t->keys[slot], memory_order_relaxed);
    *count = atomic_load_explicit(&t->counts[slot], memory_order_relaxed);
    call_of(key, call);
    return key != 0;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

_Static_assert(OCTAVE == 8, "three bits behind the first choose among eight");

static int class_of(uint64_t ns)
{
    int bit = ns ? 63 - __builtin_clzll(ns) : 0;
    if (bit < FIRST_BIT)
        return 0;
    int at = (bit - FIRST_BIT) * OCTAVE + (int)(ns >> (bit - 3) & 7);
    return at < PROFILER_TIMES ? at : PROFILER_TIMES - 1;
}

/* Where a class begins, in ns. */
static double edge(int at)
{
    return (double)(UINT64_C(1) << (FIRST_BIT + at / OCTAVE)) * (1 + at % OCTAVE / (double)OCTAVE);
}

void profiler_table_time(struct profiler_table *t, int slot, uint64_t ns)
{
    int at = class_of(ns);
    atomic_fetch_add_explicit(&t->times[slot][at], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->sums_ns[slot], ns, memory_order_relaxed);
    if (at == PROFILER_TIMES - 1)
        atomic_fetch_add_explicit(&t->beyond_ns[slot], ns, memory_order_relaxed);
}

uint64_t profiler_table_timed(const struct profiler_table *t, int slot, uint64_t *sum_ns)
{
    uint64_t n = 0;
    for (int i = 0; i < PROFILER_TIMES; i++)
        n += atomic_load_explicit(&t->times[slot][i], memory_order_relaxed);
    *sum_ns = atomic_load_explicit(&t->sums_ns[slot], memory_order_relaxed);
    return n;
}

/* Times of a class as if they lay in its middle; the last class has no end, and its sum. */
static double class_ns(const struct profiler_table *t, int slot, int at, uint64_t *count)
{
    *count = atomic_load_explicit(&t->times[slot][at], memory_order_relaxed);
    if (at < PROFILER_TIMES - 1 || !*count)
        return (edge(at) + edge(at + 1)) / 2;
    return (double)atomic_load_explicit(&t->beyond_ns[slot], memory_order_relaxed) / (double)*count;
}

double profiler_table_steady_us(const struct profiler_table *t, int slot)
{
    uint64_t sum_ns, n = profiler_table_timed(t, slot, &sum_ns), longest = n / 4 < 8 ? n / 4 : 8, left = longest, here;
    double all_ns = 0, rest_ns = 0;
    for (int i = PROFILER_TIMES - 1; i >= 0 && n; i--) {
        double each_ns = class_ns(t, slot, i, &here);
        uint64_t leaves = here < left ? here : left;
        left -= leaves;
        all_ns += (double)here * each_ns;
        rest_ns += (double)(here - leaves) * each_ns;
    }
    return all_ns > 0 ? rest_ns / all_ns * (double)sum_ns / (double)(n - longest) / 1e3 : -1;
}

double profiler_table_median_us(const struct profiler_table *t, int slot)
{
    uint64_t sum_ns, n = profiler_table_timed(t, slot, &sum_ns), seen = 0;
    for (int i = 0; i < PROFILER_TIMES && n; i++) {
        uint64_t here = atomic_load_explicit(&t->times[slot][i], memory_order_relaxed);
        if (here && 2 * (seen + here) >= n) /* within the class, as if its times were spread evenly */
            return (edge(i) + (edge(i + 1) - edge(i)) * ((double)n / 2 - (double)seen) / (double)here) / 1e3;
        seen += here;
    }
    return -1;
}

/* ---- one into another -------------------------------------------------------------------------------------------- */

static void add_up(_Atomic uint64_t *into, _Atomic uint64_t *from)
{
    uint64_t n = atomic_exchange(from, 0);
    if (n && into)
        atomic_fetch_add(into, n);
}

void profiler_table_drain(struct profiler_table *into, struct profiler_table *from)
{
    for (int i = 0; i < PROFILER_SLOTS; i++) {
        uint64_t key = atomic_exchange(&from->keys[i], 0), count = atomic_exchange(&from->counts[i], 0);
        int slot = key && into ? add_to_place(into, key, count) : -1;
        add_up(slot >= 0 ? &into->sums_ns[slot] : NULL, &from->sums_ns[i]);
        add_up(slot >= 0 ? &into->beyond_ns[slot] : NULL, &from->beyond_ns[i]);
        for (int k = 0; key && k < PROFILER_TIMES; k++) {
            uint32_t n = atomic_exchange(&from->times[i][k], 0);
            if (n && slot >= 0)
                atomic_fetch_add(&into->times[slot][k], n);
        }
    }
    for (int i = 0; i < PROFILER_COUNTERS; i++)
        add_up(into ? &into->counters[i] : NULL, &from->counters[i]);
    atomic_store(&from->used, 0);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int bytes;
} dtypes[PROFILER_DTYPES] = {{"int8", 1},    {"uint8", 1},    {"int32", 4},      {"uint32", 4},
                             {"int64", 8},   {"uint64", 8},   {"float16", 2},    {"float32", 4},
                             {"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}};

const char *profiler_dtype_name(int dtype)
{
    return dtype >= 0 && dtype < PROFILER_DTYPES ? dtypes[dtype].name : NULL;
}

int profiler_dtype_bytes(int dtype)
{
    return dtype >= 0 && dtype < PROFILER_DTYPES ? dtypes[dtype].bytes : 1;
}
