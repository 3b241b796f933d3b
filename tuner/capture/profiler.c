/* The entry points of libnccl-profiler-nccltune.so, one structure per version of NCCL's profiler interface: NCCL's
 * events become our calls.
 *
 * Off unless NCCLTUNE_CAPTURE names a directory. Every call answers success, whatever it is given. */
#include <stdatomic.h>
#include <string.h>

#include "tuner/capture/abi.h"
#include "tuner/capture/comm.h"

#define NAME "nccltune"

/* ncclFunc_t behind the collectives. */
enum { FUNC_SEND = 6, FUNC_RECV = 7 };

/* ---- NCCL's words ------------------------------------------------------------------------------------------------ */

static int parse_func(const char *s, size_t len)
{
    return !strcmp(s, "Send") ? FUNC_SEND : !strcmp(s, "Recv") ? FUNC_RECV : coll_parse(s, len);
}

/* "ncclBfloat16" is "bfloat16" with another first letter; what NCCL calls "Unknown" has no name here either. */
static int parse_dtype(const char *s, size_t len)
{
    static const char prefix[] = "nccl";
    size_t skip = sizeof prefix - 1;
    if (len <= skip || strncmp(s, prefix, skip) != 0)
        return PROFILER_NO_DTYPE;
    for (int i = 0; i < PROFILER_DTYPES; i++) {
        const char *name = profiler_dtype_name(i);
        if ((s[skip] | 0x20) == name[0] && !strcmp(s + skip + 1, name + 1))
            return i;
    }
    return PROFILER_NO_DTYPE;
}

enum word { WORD_FUNC, WORD_DTYPE, WORD_ALGO, WORD_PROTO };
static int (*const parsers[])(const char *, size_t) = {parse_func, parse_dtype, algo_parse, proto_parse};

/* NCCL's words are literals, so one that was read once is known by its address from then on. A communicator remembers
 * address, kind and meaning in one word: 56 bits are all of a user's address. */
#define MEANING_BITS 6
#define UNKNOWN      ((1 << MEANING_BITS) - 1)

static int meaning(struct profiler_comm *c, const char *text, enum word kind)
{
    uint64_t head = (uint64_t)(uintptr_t)text << 8 | (uint64_t)kind << MEANING_BITS;
    _Atomic uint64_t *place = &c->words[(head * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
    uint64_t known = atomic_load_explicit(place, memory_order_relaxed) ^ head;
    if (!text)
        return -1;
    if (known > UNKNOWN) {
        int parsed = parsers[kind](text, strlen(text));
        known = parsed < 0 ? UNKNOWN : (uint64_t)parsed;
        atomic_store_explicit(place, head | known, memory_order_relaxed);
    }
    return known == UNKNOWN ? -1 : (int)known;
}
_Static_assert(PROFILER_WORDS == 1 << (64 - 58), "the hash reaches every place");

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The number of NCCL's in `c`, made fit for a table. */
static int within(int number, int count, int otherwise)
{
    return number >= 0 && number < count ? number : otherwise;
}

/* NCCL turns AllGather and Broadcast into bytes before it reports them: their type is not known. */
static struct profiler_call collective(int kind, int dtype, uint64_t count, int algo, int proto, int channels)
{
    dtype = within(dtype, PROFILER_DTYPES, PROFILER_NO_DTYPE);
    struct profiler_call call = {.bytes = count * (uint64_t)profiler_dtype_bytes(dtype),
                                 .kind = kind,
                                 .dtype = dtype,
                                 .algo = within(algo, ALGO_COUNT, -1),
                                 .proto = within(proto, PROTO_COUNT, -1),
                                 .channels = channels};
    if (!dtype && (kind == COLL_ALLGATHER || kind == COLL_BROADCAST))
        call.dtype = PROFILER_NO_DTYPE;
    return call;
}

static struct profiler_peer peer_of(int func, int dtype, uint64_t count, int peer, int channels)
{
    struct profiler_peer p = {
        .call = collective(COLL_SENDRECV, dtype, count, -1, -1, channels), .is_send = func == FUNC_SEND, .peer = peer};
    return p;
}

static void *begin_collective(struct profiler_comm *c, const struct profiler_call *call)
{
    return call->kind >= 0 && call->kind < COLL_SENDRECV ? profiler_begin_call(c, call) : NULL;
}

/* ---- versions 1 to 3: what a communicator is comes with its events ----------------------------------------------- */

static void learn(struct profiler_comm *c, uint64_t hash, int rank, int other)
{
    int least = (rank > other ? rank : other) + 1;
    if (!atomic_load_explicit(&c->id, memory_order_relaxed))
        profiler_introduce(c, hash ? hash : UINT64_MAX);
    if (least > atomic_load_explicit(&c->least_ranks, memory_order_relaxed))
        atomic_store_explicit(&c->least_ranks, least, memory_order_relaxed);
}

/* AllGather and ReduceScatter move one rank's share once per rank. */
static void learn_ranks(struct profiler_comm *c, const struct profiler_call *call, uint64_t traffic)
{
    if ((call->kind != COLL_ALLGATHER && call->kind != COLL_REDUCESCATTER) || !call->bytes ||
        atomic_load_explicit(&c->ranks, memory_order_relaxed))
        return;
    uint64_t ranks = traffic / call->bytes;
    if (ranks > 1 && ranks < 1 << 24 && ranks * call->bytes == traffic)
        atomic_store_explicit(&c->ranks, (int)ranks, memory_order_relaxed);
}

/* Collectives, and sends and receives, of versions 2 to 6: their members have the same names everywhere. */
#define WORDED_CALL(c, e, channels)                                                                 \
    collective(meaning(c, (e)->func, WORD_FUNC), meaning(c, (e)->datatype, WORD_DTYPE), (e)->count, \
               meaning(c, (e)->algo, WORD_ALGO), meaning(c, (e)->proto, WORD_PROTO), channels)
#define WORDED_PEER(c, e, channels) \
    peer_of(meaning(c, (e)->func, WORD_FUNC), meaning(c, (e)->datatype, WORD_DTYPE), (e)->count, (e)->peer, channels)

/* Their events differ in how they word a call and a peer, and version 3 has lost the traffic. */
#define START_UNTOLD(version, as_call, as_peer, traffic)                                             \
    static int start_##version(void *context, void **handle, struct nccl_profile_event_##version *e) \
    {                                                                                                \
        struct profiler_comm *c = context;                                                           \
        *handle = NULL;                                                                              \
        if (c && e->type == NCCL_PROFILE_GROUP) {                                                    \
            *handle = profiler_begin_group(c);                                                       \
        } else if (c && e->type == NCCL_PROFILE_COLL) {                                              \
            struct profiler_call call = as_call;                                                     \
            learn(c, e->coll.comm_hash, e->rank, e->coll.root);                                      \
            learn_ranks(c, &call, traffic);                                                          \
            *handle = begin_collective(c, &call);                                                    \
        } else if (c && e->type == NCCL_PROFILE_P2P) {                                               \
            struct profiler_peer p = as_peer;                                                        \
            learn(c, e->p2p.comm_hash, e->rank, e->p2p.peer);                                        \
            *handle = profiler_begin_peer(c, e->parent, &p);                                         \
        }                                                                                            \
        return NCCLTUNE_SUCCESS;                                                                     \
    }
START_UNTOLD(v1,
             collective(within(e->coll.func, COLL_COUNT, -1), e->coll.datatype, e->coll.count, e->coll.algo,
                        e->coll.proto, e->coll.max_channels),
             peer_of(e->p2p.func, e->p2p.datatype, e->p2p.count, e->p2p.peer, 0), e->coll.traffic_bytes)
START_UNTOLD(v2, WORDED_CALL(c, &e->coll, e->coll.max_channels), WORDED_PEER(c, &e->p2p, 0), e->coll.traffic_bytes)
START_UNTOLD(v3, WORDED_CALL(c, &e->coll, e->coll.max_channels), WORDED_PEER(c, &e->p2p, 0), 0)

/* ---- versions 4 to 6: the communicator is described at its start, and channels have the GPU's times -------------- */

/* What its caller made, outside of NCCL's tasks. From 2.29 on nothing else tells of a broadcast: it is counted here,
 * and taken back where a task of it comes after all, with its algorithm and time. */
static void *learn_call(struct profiler_comm *c, const struct nccl_profile_coll_api_v5 *e)
{
    struct profiler_call call =
        collective(meaning(c, e->func, WORD_FUNC), meaning(c, e->datatype, WORD_DTYPE), e->count, -1, -1, 0);
    if (call.kind < 0 || call.kind >= COLL_COUNT || !call.bytes)
        return NULL;
    atomic_fetch_add_explicit(e->graph_captured ? &c->table.counters[PROFILER_CAPTURED]
                                                : &c->table.counters[PROFILER_MADE + call.kind],
                              1, memory_order_relaxed);
    if (!e->graph_captured)
        profiler_enter(c);
    if (call.kind == COLL_BROADCAST && c->api >= 6)
        profiler_table_count(&c->table, &(struct profiler_call){call.bytes, call.kind, PROFILER_NO_DTYPE, -1, -1, 0});
    return e->graph_captured ? (void *)PROFILER_IN_GRAPH : NULL; // NOLINT(performance-no-int-to-ptr)
}

static void *begin_task(struct profiler_comm *c, const struct profiler_call *call, const void *made)
{
    if ((uintptr_t)made == PROFILER_IN_GRAPH && call->kind >= 0 && call->kind < COLL_COUNT)
        atomic_fetch_add_explicit(&c->table.counters[PROFILER_REPLAYED + call->kind], 1, memory_order_relaxed);
    if (call->kind == COLL_BROADCAST && c->api >= 6)
        profiler_table_uncount(&c->table,
                               &(struct profiler_call){call->bytes, call->kind, PROFILER_NO_DTYPE, -1, -1, 0});
    return begin_collective(c, call);
}

/* Copy engines: no algorithm, no channels, and an all-to-all that counts one block of many. */
static void *begin_copy(struct profiler_comm *c, const struct nccl_profile_ce_coll_v6 *e, const void *made)
{
    struct profiler_call call =
        collective(meaning(c, e->func, WORD_FUNC), meaning(c, e->datatype, WORD_DTYPE), e->count, -1, -1, 0);
    if (call.kind == COLL_ALLTOALL)
        call.bytes *= (uint64_t)(unsigned)atomic_load_explicit(&c->ranks, memory_order_relaxed);
    return begin_task(c, &call, made);
}

/* Events of version 4 have their members where those of version 5 have them, but for type and group. */
static void *begin_v4(struct profiler_comm *c, uint64_t type, const struct nccl_profile_event_v5 *e, void *group)
{
    if (type == NCCL_PROFILE_COLL) {
        struct profiler_call call = WORDED_CALL(c, &e->coll, e->coll.channels);
        return begin_task(c, &call, e->parent);
    }
    if (type == NCCL_PROFILE_P2P) {
        struct profiler_peer p = WORDED_PEER(c, &e->p2p, e->p2p.channels);
        return profiler_begin_peer(c, group, &p);
    }
    if (type == NCCL_PROFILE_KERNEL_CHANNEL)
        return profiler_begin_channel(e->parent, e->kernel_channel.start_ns);
    return type == NCCL_PROFILE_GROUP ? profiler_begin_group(c) : NULL;
}

static int start_v4(void *context, void **handle, struct nccl_profile_event_v4 *e)
{
    *handle = context ? begin_v4(context, e->type, (const void *)e, e->parent) : NULL;
    return NCCLTUNE_SUCCESS;
}

static int start_v5(void *context, void **handle, struct nccl_profile_event_v5 *e)
{
    if (context && e->type == NCCL_PROFILE_CE_COLL)
        *handle = begin_copy(context, &e->ce_coll, e->parent);
    else if (context && e->type == NCCL_PROFILE_COLL_API)
        *handle = learn_call(context, &e->coll_api);
    else /* the group is read where it is one */
        *handle = context ? begin_v4(context, e->type, e, e->type == NCCL_PROFILE_P2P ? e->p2p.group : NULL) : NULL;
    return NCCLTUNE_SUCCESS;
}

/* ---- what versions share ----------------------------------------------------------------------------------------- */

/* The openings of versions 1 to 3, and of 5 and 6, differ in the version alone. */
#define INIT_UNTOLD(version)                                          \
    static int init_v##version(void **context, int *mask)             \
    {                                                                 \
        struct profiler_shape shape = {.rank = -1, .api = (version)}; \
        *context = profiler_open(&shape, NULL, mask);                 \
        return NCCLTUNE_SUCCESS;                                      \
    }
INIT_UNTOLD(1)
INIT_UNTOLD(2)
INIT_UNTOLD(3)

static int init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int ranks, int rank,
                   nccl_logger log)
{
    (void)comm_name;
    struct profiler_shape shape = {comm_hash, nodes, ranks, rank, 4};
    *context = profiler_open(&shape, log, mask);
    return NCCLTUNE_SUCCESS;
}

#define INIT_BY_ID(version)                                                                                    \
    static int init_v##version(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, \
                               int rank, nccl_logger log)                                                      \
    {                                                                                                          \
        (void)name;                                                                                            \
        struct profiler_shape shape = {id, nodes, ranks, rank, version};                                       \
        *context = profiler_open(&shape, log, mask);                                                           \
        return NCCLTUNE_SUCCESS;                                                                               \
    }
INIT_BY_ID(5)
INIT_BY_ID(6)

static int stop_event(void *handle)
{
    if (handle)
        profiler_end(handle);
    return NCCLTUNE_SUCCESS;
}

static int no_state(void *handle, int state, void *args)
{
    (void)handle, (void)state, (void)args;
    return NCCLTUNE_SUCCESS;
}

static int record_state(void *handle, int state, union nccl_profile_state_v4 *args)
{
    if (handle && state == NCCL_PROFILE_KERNEL_CHANNEL_STOP && args)
        profiler_end_channel(handle, args->kernel_channel_stop_ns);
    return NCCLTUNE_SUCCESS;
}

static int finalize(void *context)
{
    if (context)
        profiler_close(context);
    return NCCLTUNE_SUCCESS;
}

PLUGIN_EXPORT const struct nccl_profiler_v1 ncclProfiler_v1 = {NAME, init_v1, start_v1, stop_event, no_state, finalize};
PLUGIN_EXPORT const struct nccl_profiler_v2 ncclProfiler_v2 = {NAME, init_v2, start_v2, stop_event, no_state, finalize};
PLUGIN_EXPORT const struct nccl_profiler_v3 ncclProfiler_v3 = {NAME, init_v3, start_v3, stop_event, no_state, finalize};
PLUGIN_EXPORT const struct nccl_profiler_v4 ncclProfiler_v4 = {NAME,       init_v4,      start_v4,
                                                               stop_event, record_state, finalize};
PLUGIN_EXPORT const struct nccl_profiler_v5 ncclProfiler_v5 = {NAME,       init_v5,      start_v5,
                                                               stop_event, record_state, finalize};
PLUGIN_EXPORT const struct nccl_profiler_v5 ncclProfiler_v6 = {NAME,       init_v6,      start_v5,
                                                               stop_event, record_state, finalize};
