/* A communicator that is captured: what is known of it, its calls on their way, and what was counted. */
#pragma once

#include "tuner/capture/table.h"
#include "tuner/plugin/abi.h"

#define PROFILER_COMMS   1024 /* communicators of a process at one time */
#define PROFILER_FLIGHTS 512  /* calls of a communicator that wait for the GPU, and are followed */
#define PROFILER_GROUPS  8    /* launches of a communicator that are open at one time */
#define PROFILER_PEERS   256  /* sends of one launch that are told apart */
#define PROFILER_WORDS   64

/* A call between its enqueueing and its end on the GPU. A slot is used again after PROFILER_FLIGHTS calls; a handle
 * that names another ticket than the slot's is stale and does nothing. */
struct profiler_flight {
    _Atomic uint64_t ticket;
    _Atomic int pending; /* kernel channels to come, and one while the host is not done */
    _Atomic int slot;    /* of the table; -1: its time is not wanted */
    _Atomic uint64_t first_ns, last_ns;
    _Atomic uint64_t since_ns; /* the end of the launch before it, by the host's clock: its kernel begins later */
};

/* When the host entered a call; the calls of a communicator are numbered alike on all of its ranks. */
#define PROFILER_ENTRIES 256
struct profiler_entry {
    _Atomic uint64_t number; /* from 1; 0: none, or being written */
    _Atomic uint64_t at_ns;  /* since 1970 */
};

/* The sends and receives of one launch; only the thread that launches is in it. */
struct profiler_group {
    _Atomic uint64_t ticket;
    uint64_t flight; /* a ticket; 0: none yet */
    unsigned sends, receives;
    uint64_t peers; /* sum of the ranks that are sent to */
    uint64_t bytes; /* of all sends */
    struct profiler_call send[PROFILER_PEERS];
};

enum profiler_state {
    PROFILER_FREE,
    PROFILER_LIVE,
    PROFILER_PAST, /* holds the counts of closed communicators of its shape */
};

/* Communicators stay allocated, so that a late event never meets freed memory, and are used again. */
struct profiler_comm {
    unsigned index; /* in profiler_comms */
    enum profiler_state state;
    int api;   /* version of the interface */
    int nodes; /* 0 not known, as in versions 1 to 3 */
    int rank;
    _Atomic int timed;            /* kernel channels are reported, with the GPU's time */
    _Atomic uint64_t launched_ns; /* end of the last launch */
    _Atomic int ranks;            /* 0 not known */
    _Atomic int least_ranks;      /* the highest rank that was named, and 1 */
    _Atomic uint64_t id;          /* 0 not known yet */
    _Atomic int twin;             /* another rank of this process is in the communicator: it stands for both */
    _Atomic uint64_t words[PROFILER_WORDS];
    _Atomic uint64_t flights_begun, groups_begun, entered;
    struct profiler_entry entries[PROFILER_ENTRIES];
    struct profiler_flight flights[PROFILER_FLIGHTS];
    struct profiler_group groups[PROFILER_GROUPS];
    struct profiler_table table;
};

/* ---- events to counts, by NCCL's threads: no lock, no allocation (calls.c) ---- */

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

/* ---- opening and closing the communicators of a process, and writing its file in time (process.c) ---- */

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
