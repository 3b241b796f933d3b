/* Events to counts, by NCCL's threads: no lock, no allocation. */
#pragma once

#include "tuner/capture/comm.h"

struct profiler_peer {
    struct profiler_call call; /* COLL_SENDRECV */
    int is_send;
    int peer; /* its rank */
};

/* The handle of a call that was captured into a graph: NCCL names it with every replay. */
#define PROFILER_IN_GRAPH 7

/* A collective outside of CUDA graphs, as its caller makes it. The times of some are kept, the same on all ranks. */
void profiler_enter(struct profiler_comm *c);

/* Handles for NCCL: numbers, never followed as pointers. NULL: nothing more is wanted of this event. */
void *profiler_begin_group(struct profiler_comm *c);
void *profiler_begin_call(struct profiler_comm *c, const struct profiler_call *call);
void *profiler_begin_peer(struct profiler_comm *c, void *group, const struct profiler_peer *p);
void *profiler_begin_channel(void *task, uint64_t start_ns);
void profiler_end_channel(void *channel, uint64_t stop_ns);
void profiler_end(void *handle);
