/* The capture of a process: opening and closing its communicators, and writing its file in time. */
#pragma once

#include "tuner/capture/comm.h"
#include "tuner/plugin/abi.h"

extern _Atomic(struct profiler_comm *) profiler_comms[PROFILER_COMMS];

struct profiler_shape {
    uint64_t id;            /* 0: told by the first event */
    int nodes, ranks, rank; /* 0, 0 and -1 where the interface does not tell */
    int api;
};

/* A communicator to count into, and the events that are wanted. NULL and no events: nothing is captured. */
struct profiler_comm *profiler_open(const struct profiler_shape *shape, nccl_logger log, int *mask);
void profiler_close(struct profiler_comm *c);

/* The identity that versions 1 to 3 tell with each event; takes a lock, once per communicator. */
void profiler_introduce(struct profiler_comm *c, uint64_t id);

/* Not 0: the writer of the file has something to say, and profiler_say says it with NCCL's logger, once. */
extern _Atomic int profiler_unsaid;
void profiler_say(void);
