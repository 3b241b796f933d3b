/* A double of NCCL's side of the profiler interface, versions 1 to 6: it opens communicators, and launches tasks with
 * the events that a release of that version gives, in its order, and only those that the plugin asked for. */
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "tuner/capture/abi.h"

#define PROFILER_TASKS 512 /* of one launch */

struct profiler_loader {
    int api;
    void *library;
    const void *plugin;
    int mask; /* NCCL has one for all communicators */
};

/* What kernels and the proxy thread share of a channel (NCCL 2.28.9, src/device/common.h and
 * src/transport/profiler.cc). A kernel numbers its works and leaves number and times of those that were asked for in
 * one of so many places; the proxy numbers them, too, and waits until a place has its number or a later one. Messages
 * to oneself have no proxy and are missing in its numbers; so are broadcasts of several roots in a group from 2.29 on
 * (AllGatherV; 2.30.7, src/scheduler/allgatherv_sched.cc), which leave no times either. */
#define PROFILED_PLACES   64
#define PROFILED_CHANNELS 64
struct profiled_channel {
    uint64_t kernels, proxies;
    struct {
        uint64_t number, start_ns, stop_ns, awaited;
    } places[PROFILED_PLACES];
};

struct profiled_channels {
    struct profiled_channels *next;
    int taken;
    struct profiled_channel all[PROFILED_CHANNELS];
};

struct profiled_comm {
    struct profiler_loader *nccl;
    struct profiled_channel *channels; /* from version 4 on */
    void *context;
    uint64_t id;
    int nodes, ranks, rank;
    uint64_t gpu_ns; /* the GPU's clock */
    unsigned timed;  /* tasks whose channels were told of */
    void *said;      /* the call of the next launch where that was told before (profiled_say), ... */
    int is_said, said_mask;
};

struct profiled_task {
    const char *func; /* "AllReduce", "Send"... */
    size_t count;     /* as the caller of NCCL gives it */
    int dtype;        /* ncclDataType_t */
    int algo, proto, channels, peer;
    uint64_t ns; /* what it takes on the GPU; the channels start and stop in steps of 10 ns within */
    int symmetric, in_graph, root;
};

static inline struct profiler_loader profiler_load(int api)
{
    const char *path = getenv("NCCLTUNE_PROFILER_SO");
    char symbol[32];
    struct profiler_loader l = {.api = api};
    l.library = dlopen(path ? path : "build/libnccl-profiler-nccltune.so", RTLD_NOW | RTLD_LOCAL);
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", api);
    l.plugin = l.library ? dlsym(l.library, symbol) : NULL;
    if (!l.plugin) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return l;
}

/* They stay when a test ends without closing, and are used again. */
static struct profiled_channels *profiled_every;

static inline struct profiled_channel *profiled_take(void)
{
    struct profiled_channels *p = profiled_every;
    while (p && p->taken)
        p = p->next;
    if (!p) {
        p = calloc(1, sizeof *p);
        p->next = profiled_every;
        profiled_every = p;
    }
    memset(p->all, 0, sizeof p->all);
    p->taken = 1;
    return p->all;
}

static inline void profiled_give_back(const struct profiled_channel *channels)
{
    for (struct profiled_channels *p = profiled_every; p; p = p->next)
        if (p->all == channels)
            p->taken = 0;
}

static inline int profiled_open(struct profiler_loader *l, struct profiled_comm *c, nccl_logger log)
{
    const struct nccl_profiler_v1 *v1 = l->plugin; /* versions 1 to 3 start alike, and 5 and 6 */
    const struct nccl_profiler_v4 *v4 = l->plugin;
    const struct nccl_profiler_v5 *v5 = l->plugin;
    c->nccl = l;
    c->context = NULL;
    c->gpu_ns = 1000000;
    c->channels = l->api >= 4 ? profiled_take() : NULL;
    if (l->api <= 3)
        return v1->init(&c->context, &l->mask);
    if (l->api == 4)
        return v4->init(&c->context, &l->mask, "double", c->id, c->nodes, c->ranks, c->rank, log);
    return v5->init(&c->context, c->id, &l->mask, "double", c->nodes, c->ranks, c->rank, log);
}

/* Destroying a communicator waits for its proxies. */
static inline void profiled_wait(struct profiled_comm *c)
{
    for (int i = 0; i < PROFILED_CHANNELS * PROFILED_PLACES && c->channels; i++) {
        const struct profiled_channel *channel = &c->channels[i / PROFILED_PLACES];
        if (channel->places[i % PROFILED_PLACES].number < channel->places[i % PROFILED_PLACES].awaited) {
            fprintf(stderr, "ncclCommDestroy hangs: no kernel tells of work %llu on channel %d\n",
                    (unsigned long long)channel->places[i % PROFILED_PLACES].awaited, i / PROFILED_PLACES);
            exit(1);
        }
    }
    profiled_give_back(c->channels);
    c->channels = NULL;
}

/* Up to 2.27 NCCL asks even when init gave no context. */
static inline int profiled_close(struct profiled_comm *c)
{
    const struct nccl_profiler_v1 *p = c->nccl->plugin;
    profiled_wait(c);
    return c->context || c->nccl->api <= 4 ? p->finalize(c->context) : 0;
}

static inline int profiled_mask(const struct profiled_comm *c)
{
    return __atomic_load_n(&c->nccl->mask, __ATOMIC_RELAXED);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Room for the event of any version; the members that a plugin may not read are set to what would harm it. */
union profiled_event {
    struct nccl_profile_event_v1 v1;
    struct nccl_profile_event_v2 v2;
    struct nccl_profile_event_v3 v3;
    struct nccl_profile_event_v4 v4;
    struct nccl_profile_event_v5 v5;
    unsigned char bytes[256];
};

static inline void *profiled_start(const struct profiled_comm *c, union profiled_event *e)
{
    const struct nccl_profiler_v5 *p = c->nccl->plugin; /* all start_event take a pointer to their event */
    void *handle = e;                                   /* NCCL does not clear it */
    if (p->start_event(c->context, &handle, &e->v5)) {
        fprintf(stderr, "startEvent failed\n");
        exit(1);
    }
    return handle;
}

static inline void profiled_stop(const struct profiled_comm *c, void *handle)
{
    const struct nccl_profiler_v1 *p = c->nccl->plugin;
    if (handle && p->stop_event(handle)) {
        fprintf(stderr, "stopEvent failed\n");
        exit(1);
    }
}

static inline union profiled_event profiled_event(const struct profiled_comm *c, uint64_t type, void *parent)
{
    union profiled_event e;
    memset(&e, 0x5a, sizeof e);
    if (c->nccl->api <= 4)
        e.v1.type = (uint8_t)type;
    else
        e.v5.type = type;
    e.v1.parent = parent; /* the same place in every version */
    e.v1.rank = c->rank;
    return e;
}

static inline void *profiled_start_simple(const struct profiled_comm *c, uint64_t type)
{
    union profiled_event e = profiled_event(c, type, NULL);
    return profiled_start(c, &e);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static const char *const profiled_dtypes[] = {"ncclInt8",    "Unknown",      "ncclInt32",      "ncclUint32",
                                              "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                              "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
static const char *const profiled_algos[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                             "NVLS_TREE", "PAT"};
static const char *const profiled_protos[] = {"LL", "LL128", "SIMPLE"};

static inline size_t profiled_size(int dtype)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return sizes[dtype];
}

static inline int profiled_is_peer(const struct profiled_task *t)
{
    return !strcmp(t->func, "Send") || !strcmp(t->func, "Recv");
}

static inline uint8_t profiled_func(const char *word)
{
    int coll = coll_parse(word, strlen(word));
    return (uint8_t)(coll >= 0 ? coll : !strcmp(word, "Send") ? 6 : 7);
}

static inline void *profiled_start_coll(const struct profiled_comm *c, struct profiled_task t, void *group, void *call)
{
    union profiled_event e = profiled_event(c, NCCL_PROFILE_COLL, c->nccl->api <= 4 ? group : call);
    int coll = coll_parse(t.func, strlen(t.func));
    if (coll == COLL_ALLGATHER || coll == COLL_BROADCAST) {
        t.count *= profiled_size(t.dtype);
        t.dtype = 0;
    }
    size_t bytes = t.count * profiled_size(t.dtype);
    size_t factor = coll == COLL_ALLREDUCE ? 2 : 1;
    if (coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER)
        factor = (size_t)c->ranks;
    const char *dtype = profiled_dtypes[t.dtype], *algo = profiled_algos[t.algo], *proto = profiled_protos[t.proto];
    uint8_t channels = (uint8_t)t.channels;
    if (c->nccl->api == 1)
        e.v1.coll = (struct nccl_profile_coll_v1){.comm_hash = c->id,
                                                  .func = profiled_func(t.func),
                                                  .count = t.count,
                                                  .datatype = (uint8_t)t.dtype,
                                                  .traffic_bytes = bytes * factor,
                                                  .max_channels = channels,
                                                  .algo = (uint8_t)t.algo,
                                                  .proto = (uint8_t)t.proto};
    else if (c->nccl->api == 2)
        e.v2.coll = (struct nccl_profile_coll_v2){.comm_hash = c->id,
                                                  .func = t.func,
                                                  .count = t.count,
                                                  .datatype = dtype,
                                                  .traffic_bytes = bytes * factor,
                                                  .max_channels = channels,
                                                  .algo = algo,
                                                  .proto = proto};
    else if (c->nccl->api == 3)
        e.v3.coll = (struct nccl_profile_coll_v3){.comm_hash = c->id,
                                                  .func = t.func,
                                                  .count = t.count,
                                                  .datatype = dtype,
                                                  .max_channels = channels,
                                                  .algo = algo,
                                                  .proto = proto};
    else /* in version 4 the group is behind the end, where nobody looks */
        e.v5.coll = (struct nccl_profile_coll_v4){.func = t.func,
                                                  .count = t.count,
                                                  .datatype = dtype,
                                                  .channels = channels,
                                                  .algo = algo,
                                                  .proto = proto,
                                                  .group = group};
    return profiled_start(c, &e);
}

static inline void *profiled_start_peer(const struct profiled_comm *c, struct profiled_task t, void *group)
{
    union profiled_event e = profiled_event(c, NCCL_PROFILE_P2P, c->nccl->api <= 4 ? group : NULL);
    const char *dtype = profiled_dtypes[t.dtype];
    if (c->nccl->api == 1)
        e.v1.p2p = (struct nccl_profile_p2p_v1){.comm_hash = c->id,
                                                .func = profiled_func(t.func),
                                                .datatype = (uint8_t)t.dtype,
                                                .count = t.count,
                                                .peer = t.peer};
    else if (c->nccl->api <= 3)
        e.v2.p2p = (struct nccl_profile_p2p_v2){
            .comm_hash = c->id, .func = t.func, .datatype = dtype, .count = t.count, .peer = t.peer};
    else
        e.v5.p2p = (struct nccl_profile_p2p_v4){.func = t.func,
                                                .datatype = dtype,
                                                .count = t.count,
                                                .peer = t.peer,
                                                .channels = (uint8_t)t.channels,
                                                .group = group};
    return profiled_start(c, &e);
}

static inline int profiled_is_own(const struct profiled_comm *c, const struct profiled_task *t)
{
    return profiled_is_peer(t) && t->peer == c->rank;
}

static inline int profiled_gathers(void)
{
    const char *gathers = getenv("NCCL_ALLGATHERV_ENABLE");
    return !(gathers && !strcmp(gathers, "0"));
}

/* Whether a launch is an AllGatherV: a broadcast among others of other roots. */
static inline int profiled_is_gather(const struct profiled_comm *c, const struct profiled_task *t,
                                     const struct profiled_task *launch, size_t count)
{
    int others = 0;
    for (size_t i = 0; i < count; i++)
        others |= !strcmp(launch[i].func, "Broadcast") && launch[i].root != t->root;
    return c->nccl->api >= 6 && profiled_gathers() && others && !strcmp(t->func, "Broadcast");
}

/* The kernel of a task; sending to oneself and receiving that is one work. */
static inline void profiled_run(struct profiled_comm *c, const struct profiled_task *t, int mask)
{
    if (!c->channels || t->symmetric || (profiled_is_own(c, t) && !strcmp(t->func, "Recv")))
        return;
    for (int i = 0; i < t->channels && i < PROFILED_CHANNELS; i++) {
        struct profiled_channel *channel = &c->channels[i];
        uint64_t number = ++channel->kernels, place = number % PROFILED_PLACES;
        if (!(mask & NCCL_PROFILE_KERNEL_CHANNEL))
            continue;
        channel->places[place].number = number;
        channel->places[place].start_ns = c->gpu_ns + 10 * (uint64_t)i;
        channel->places[place].stop_ns = c->gpu_ns + t->ns - 10 * (uint64_t)i;
    }
}

/* What the proxy thread does for a task: all channels start, one after another, then all stop. */
static inline void profiled_channels(struct profiled_comm *c, const struct profiled_task *t, void *task, int mask)
{
    const struct nccl_profiler_v5 *p = c->nccl->plugin;
    void *handles[PROFILED_CHANNELS];
    uint64_t places[PROFILED_CHANNELS];
    int asked = (mask & NCCL_PROFILE_KERNEL_CHANNEL) != 0 && task;
    if (!c->channels || t->symmetric || profiled_is_own(c, t) || t->channels > PROFILED_CHANNELS)
        return;
    c->timed += (unsigned)asked;
    for (int i = 0; i < t->channels; i++) {
        struct profiled_channel *channel = &c->channels[i];
        uint64_t number = ++channel->proxies;
        places[i] = number % PROFILED_PLACES;
        handles[i] = NULL;
        if (!asked)
            continue;
        if (channel->places[places[i]].number < number) {
            channel->places[places[i]].awaited = number;
            continue;
        }
        union profiled_event e = profiled_event(c, NCCL_PROFILE_KERNEL_CHANNEL, task);
        e.v5.kernel_channel = (struct nccl_profile_kernel_channel_v4){(uint8_t)i, channel->places[places[i]].start_ns};
        handles[i] = profiled_start(c, &e);
    }
    for (int i = t->channels - 1; i >= 0; i--) {
        union nccl_profile_state_v4 state = {.kernel_channel_stop_ns = c->channels[i].places[places[i]].stop_ns};
        if (handles[i])
            p->record_state(handles[i], NCCL_PROFILE_KERNEL_CHANNEL_STOP, &state);
        profiled_stop(c, handles[i]);
    }
}

/* The caller's call, from version 5 on unasked: in a group of its own, and of rank 0 whatever the rank is. */
static inline void *profiled_call(const struct profiled_comm *c, const struct profiled_task *t)
{
    void *group = profiled_start_simple(c, 1 << 8);
    union profiled_event e = profiled_event(c, profiled_is_peer(t) ? 1 << 10 : NCCL_PROFILE_COLL_API, group);
    e.v5.rank = 0;
    e.v5.coll_api = (struct nccl_profile_coll_api_v5){
        .func = t->func, .count = t->count, .datatype = profiled_dtypes[t->dtype], .graph_captured = t->in_graph};
    void *call = profiled_start(c, &e);
    profiled_stop(c, call);
    profiled_stop(c, group);
    return call;
}

/* NCCL runs it and tells of no task: on symmetric memory, and a broadcast from 2.29 on, unless that is switched off. */
static inline int profiled_hides(const struct profiled_comm *c, const struct profiled_task *t)
{
    return t->symmetric || (c->nccl->api >= 6 && !strcmp(t->func, "Broadcast") && profiled_gathers());
}

static inline void *profiled_start_task(const struct profiled_comm *c, const struct profiled_task *t, void *group,
                                        void *call)
{
    if (profiled_hides(c, t))
        return NULL;
    return profiled_is_peer(t) ? profiled_start_peer(c, *t, group) : profiled_start_coll(c, *t, group, call);
}

/* A call before NCCL asks its tuner what to do with it; else profiled_launch tells of it. */
static inline void profiled_say(struct profiled_comm *c, const struct profiled_task *t)
{
    c->said_mask = profiled_mask(c);
    c->is_said = c->nccl->api >= 5 && c->said_mask & NCCL_PROFILE_COLL;
    c->said = c->is_said ? profiled_call(c, t) : NULL;
}

/* One launch. Up to 2.27 tasks are reported only under a group that the plugin wants. NCCL looks at the mask when a
 * call is made. */
static inline void profiled_launch(struct profiled_comm *c, const struct profiled_task *tasks, size_t count)
{
    void *handles[PROFILER_TASKS], *calls[PROFILER_TASKS] = {NULL};
    char gathered[PROFILER_TASKS];
    int wanted = NCCL_PROFILE_GROUP | NCCL_PROFILE_COLL | NCCL_PROFILE_P2P | NCCL_PROFILE_KERNEL_CHANNEL;
    int mask = c->is_said ? c->said_mask : profiled_mask(c);
    uint64_t longest = 0;
    if (!(mask & wanted) || count > PROFILER_TASKS)
        return;
    for (size_t i = 0; i < count && c->nccl->api >= 5; i++)
        calls[i] = c->is_said ? c->said : profiled_call(c, &tasks[i]);
    c->is_said = 0;
    for (size_t i = 0; i < count; i++) {
        gathered[i] = (char)profiled_is_gather(c, &tasks[i], tasks, count);
        profiled_run(c, &tasks[i], gathered[i] ? 0 : mask);
    }
    void *group = profiled_start_simple(c, NCCL_PROFILE_GROUP);
    if (!group && c->nccl->api < 5)
        return;
    for (size_t i = 0; i < count; i++)
        handles[i] = profiled_start_task(c, &tasks[i], group, calls[i]);
    for (size_t i = 0; i < count / 2; i++) /* the GPU may be done before the host is */
        if (!gathered[i])
            profiled_channels(c, &tasks[i], handles[i], mask);
    for (size_t i = 0; i < count; i++)
        profiled_stop(c, handles[i]);
    profiled_stop(c, group);
    for (size_t i = count / 2; i < count; i++)
        if (!gathered[i])
            profiled_channels(c, &tasks[i], handles[i], mask);
    for (size_t i = 0; i < count; i++)
        longest = tasks[i].ns > longest ? tasks[i].ns : longest;
    c->gpu_ns += longest + 1000;
}
