/* NCCL's profiler interface, versions 1 to 6, declared by us: what NCCL 2.23 to 2.31 looks for in a profiler library.
 *
 *   NCCL          newest version it loads
 *   2.23          1
 *   2.24, 2.25    2
 *   2.26          3
 *   2.27          4
 *   2.28          5
 *   2.29 to 2.31  6
 *
 * Only the members of an event that a capture reads are described beyond their place; events are read where NCCL puts
 * them and never copied whole, so that their tails (proxy and network events) need no words here. tests/plugin-abi
 * compares all of it with NCCL's own headers where they are at hand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tuner/plugin/abi.h"

/* Bits of the activation mask, and what an event says it is. */
enum {
    NCCL_PROFILE_GROUP = 1 << 0,          /* the tasks of one launch */
    NCCL_PROFILE_COLL = 1 << 1,           /* its stop: enqueued, not finished */
    NCCL_PROFILE_P2P = 1 << 2,            /* one send or one receive; the same */
    NCCL_PROFILE_KERNEL_CHANNEL = 1 << 6, /* version 3 on: one channel of a task, when the GPU runs it */
    NCCL_PROFILE_COLL_API = 1 << 9,       /* version 5 on: the caller's call; comes with NCCL_PROFILE_COLL, unasked */
    NCCL_PROFILE_CE_COLL = 1 << 12,       /* version 6 on: a collective by copy engines */
};

/* The state that brings the end of a kernel channel, version 4 on. */
#define NCCL_PROFILE_KERNEL_CHANNEL_STOP 22

/* ---- collectives ------------------------------------------------------------------------------------------------ */

/* `count` is NCCL's task: AllGather and Broadcast count bytes, whatever the type was; AllGather and ReduceScatter the
 * share of one rank. func, datatype, algo and proto are numbers of NCCL's enumerations here, words from version 2 on.
 */
struct nccl_profile_coll_v1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t sequence;
    uint8_t func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t op;
    size_t traffic_bytes; /* bytes × ranks for AllGather and ReduceScatter */
    uint8_t max_channels; /* the most that the call may take */
    uint8_t warps;
    uint8_t algo, proto;
    int collnet, nvls;
};

struct nccl_profile_coll_v2 {
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    size_t traffic_bytes;
    uint8_t max_channels;
    uint8_t warps;
    const char *algo, *proto;
};

struct nccl_profile_coll_v3 {
    const char *comm_name;
    uint64_t comm_hash;
    uint64_t sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    uint8_t max_channels;
    uint8_t warps;
    const char *algo, *proto;
};

struct nccl_profile_coll_v4 {
    uint64_t sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels; /* the ones it takes */
    uint8_t warps;
    const char *algo, *proto;
    void *group; /* version 5 on */
};

/* As the caller gives it; its event's rank is 0 on every rank, up to 2.30. */
struct nccl_profile_coll_api_v5 {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graph_captured;
};

struct nccl_profile_ce_coll_v6 {
    uint64_t sequence;
    const char *func;
    const void *send;
    void *recv;
    size_t count; /* of one rank's block */
    int root;
    const char *datatype;
    const char *sync_strategy;
    bool intra_batch_sync;
    uint32_t batch_size, batches, ce_sequence;
    void *stream;
};

/* ---- point to point --------------------------------------------------------------------------------------------- */

struct nccl_profile_p2p_v1 {
    const char *comm_name;
    uint64_t comm_hash;
    uint8_t func;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int peer;
};

struct nccl_profile_p2p_v2 {
    const char *comm_name;
    uint64_t comm_hash;
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};

struct nccl_profile_p2p_v4 {
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void *group; /* version 5 on */
};

struct nccl_profile_kernel_channel_v4 {
    uint8_t channel;
    uint64_t start_ns; /* the GPU's clock */
};

/* ---- events ----------------------------------------------------------------------------------------------------- */

#define NCCL_PROFILE_EVENT(version, ...)                                            \
    struct nccl_profile_event_##version {                                           \
        uint8_t type;                                                               \
        void *parent; /* of coll and p2p: the group; of kernel_channel: the task */ \
        int rank;                                                                   \
        union {                                                                     \
            __VA_ARGS__                                                             \
        };                                                                          \
    }
NCCL_PROFILE_EVENT(v1, struct nccl_profile_coll_v1 coll; struct nccl_profile_p2p_v1 p2p;);
NCCL_PROFILE_EVENT(v2, struct nccl_profile_coll_v2 coll; struct nccl_profile_p2p_v2 p2p;);
NCCL_PROFILE_EVENT(v3, struct nccl_profile_coll_v3 coll; struct nccl_profile_p2p_v2 p2p;);
NCCL_PROFILE_EVENT(v4, struct nccl_profile_coll_v4 coll; struct nccl_profile_p2p_v4 p2p;
                   struct nccl_profile_kernel_channel_v4 kernel_channel;);
#undef NCCL_PROFILE_EVENT

/* Versions 5 and 6: of coll and p2p the parent is a call of NCCL's API, and the group a member of its own. */
struct nccl_profile_event_v5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct nccl_profile_coll_v4 coll;
        struct nccl_profile_p2p_v4 p2p;
        struct nccl_profile_kernel_channel_v4 kernel_channel;
        struct nccl_profile_coll_api_v5 coll_api;
        struct nccl_profile_ce_coll_v6 ce_coll;
    };
};

/* Arguments of recordEventState, from version 4 on. */
union nccl_profile_state_v4 {
    size_t transferred;
    int appended;
    void *data;
    uint64_t kernel_channel_stop_ns;
};

/* ---- the structures that NCCL looks for ------------------------------------------------------------------------- */

typedef int nccl_profile_init_v1(void **context, int *mask);
typedef int nccl_profile_init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
                                 int ranks, int rank, nccl_logger log);
typedef int nccl_profile_init_v5(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nodes,
                                 int ranks, int rank, nccl_logger log);

#define NCCL_PROFILER(version, init_version, state_data)                                              \
    struct nccl_profiler_##version {                                                                  \
        const char *name;                                                                             \
        nccl_profile_init_##init_version *init;                                                       \
        int (*start_event)(void *context, void **handle, struct nccl_profile_event_##version *event); \
        int (*stop_event)(void *handle);                                                              \
        int (*record_state)(void *handle, int state, state_data *args);                               \
        int (*finalize)(void *context);                                                               \
    }
NCCL_PROFILER(v1, v1, void);
NCCL_PROFILER(v2, v1, void);
NCCL_PROFILER(v3, v1, void);
NCCL_PROFILER(v4, v4, union nccl_profile_state_v4);
NCCL_PROFILER(v5, v5, union nccl_profile_state_v4);
#undef NCCL_PROFILER

#define AT(version, member, offset)                                                   \
    _Static_assert(offsetof(struct nccl_profile_event_##version, member) == (offset), \
                   #member " of version " #version " is where NCCL has it")
AT(v1, parent, 8);
AT(v1, rank, 16);
AT(v1, coll.comm_hash, 32);
AT(v1, coll.func, 48);
AT(v1, coll.count, 72);
AT(v1, coll.datatype, 84);
AT(v1, coll.traffic_bytes, 96);
AT(v1, coll.max_channels, 104);
AT(v1, coll.algo, 106);
AT(v1, coll.nvls, 112);
AT(v1, p2p.func, 40);
AT(v1, p2p.datatype, 56);
AT(v1, p2p.count, 64);
AT(v1, p2p.peer, 72);
AT(v2, coll.func, 48);
AT(v2, coll.datatype, 88);
AT(v2, coll.traffic_bytes, 96);
AT(v2, coll.max_channels, 104);
AT(v2, coll.proto, 120);
AT(v2, p2p.datatype, 56);
AT(v2, p2p.peer, 72);
AT(v3, coll.max_channels, 96);
AT(v3, coll.proto, 112);
AT(v4, parent, 8);
AT(v4, coll.func, 32);
AT(v4, coll.count, 56);
AT(v4, coll.datatype, 72);
AT(v4, coll.channels, 80);
AT(v4, coll.proto, 96);
AT(v4, p2p.peer, 56);
AT(v4, p2p.channels, 60);
AT(v4, kernel_channel.start_ns, 32);
AT(v5, parent, 8);
AT(v5, coll.group, 104);
AT(v5, p2p.group, 64);
AT(v5, coll_api.graph_captured, 64);
AT(v5, ce_coll.datatype, 72);
AT(v5, ce_coll.stream, 104);
#undef AT
_Static_assert(sizeof(struct nccl_profiler_v1) == 6 * sizeof(void *), "name and five functions");
_Static_assert(sizeof(struct nccl_profiler_v5) == 6 * sizeof(void *), "name and five functions");
