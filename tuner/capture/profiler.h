/* What the files of the capture share: a job's calls, written down while it runs (nccltune-profiler(7)).
 *
 * NCCL's events become calls (profiler.c), calls are followed until the GPU has run them (calls.c) and counted
 * per communicator (table.h); the process (comm.c) writes the counts to a file of its rank
 * (job.c, file.c). Private to tuner/capture/. */
#ifndef TUNER_CAPTURE_PROFILER_H
#define TUNER_CAPTURE_PROFILER_H

#include <stddef.h>

#include "tuner/capture/abi.h"
#include "tuner/capture/table.h"

#define PROFILER_COMMS   1024 /* communicators of a process at one time */
#define PROFILER_FLIGHTS 512  /* calls of a communicator that wait for the GPU, and are followed */
#define PROFILER_GROUPS  8    /* launches of a communicator that are open at one time */
#define PROFILER_PEERS   256  /* sends of one launch that are told apart */
#define PROFILER_WORDS   64

/* ---- a communicator ---------------------------------------------------------------------------------------------- */

/* A call between its enqueueing and its end on the GPU. A slot is used again after PROFILER_FLIGHTS calls; a handle
 * that names another ticket than the slot's is stale and does nothing. */
struct profiler_flight {
    _Atomic uint64_t ticket;
    _Atomic int pending; /* kernel channels to come, and one while the host is not done */
    _Atomic int slot;    /* of the table; -1: its time is not wanted */
    _Atomic uint64_t first_ns, last_ns;
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
    int timed;               /* kernel channels are reported, with the GPU's time */
    _Atomic int ranks;       /* 0 not known */
    _Atomic int least_ranks; /* the highest rank that was named, and 1 */
    _Atomic uint64_t id;     /* 0 not known yet */
    _Atomic int twin;        /* another rank of this process is in the communicator: it stands for both */
    _Atomic uint64_t words[PROFILER_WORDS];
    _Atomic uint64_t flights_begun, groups_begun;
    struct profiler_flight flights[PROFILER_FLIGHTS];
    struct profiler_group groups[PROFILER_GROUPS];
    struct profiler_table table;
};

extern _Atomic(struct profiler_comm *) profiler_comms[PROFILER_COMMS];

/* ---- calls.c: events to counts; no lock, no allocation -------------------------------------------------- */

struct profiler_peer {
    struct profiler_call call; /* PROFILER_SENDRECV */
    int is_send;
    int peer; /* its rank */
};

/* Handles for NCCL: numbers, never followed as pointers. NULL: nothing more is wanted of this event. */
void *profiler_begin_group(struct profiler_comm *c);
void *profiler_begin_call(struct profiler_comm *c, const struct profiler_call *call);
void *profiler_begin_peer(struct profiler_comm *c, void *group, const struct profiler_peer *p);
void *profiler_begin_channel(void *task, uint64_t start_ns);
void profiler_end_channel(void *channel, uint64_t stop_ns);
void profiler_end(void *handle);

/* ---- comm.c: the process -------------------------------------------------------------------------------- */

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

/* Writes the file when its time has come; reads one cheap clock otherwise. */
void profiler_tick(void);

/* ---- job.c: whose file it is ---------------------------------------------------------------------------- */

#define PROFILER_PATH 4096

struct profiler_job {
    char dir[PROFILER_PATH]; /* absolute */
    char name[72];           /* of the job, fit for a file's name */
    char rank[144];          /* its number, or HOST-PID where no launcher tells it */
    int ranks, per_node;     /* 0 not known */
    int with_times;
    uint64_t interval_ns; /* between two files; 0: only at the end */
    uint64_t seconds;     /* since the first communicator */
    unsigned missed;      /* communicators beyond PROFILER_COMMS */
    unsigned twins;       /* ranks beyond the first in this process */
    int pid;
};

/* Reads what NCCLTUNE_CAPTURE and its kin ask for and what launchers say of this process. Returns 1, or 0 when nothing
 * is to be captured: then `why` says why, or is "" when nobody asked. */
int profiler_job_read(struct profiler_job *job, char *why, size_t size);

/* No launcher's word is right where a communicator has more ranks than it says. */
void profiler_job_doubt(struct profiler_job *job, int comm_ranks);

/* ---- file.c: one file ----------------------------------------------------------------------------------- */

/* Writes DIR/NAME.rank.RANK.json whole or not at all. Returns 0, or -1 with a sentence. Not for two threads at once. */
int profiler_file_write(const struct profiler_job *job, struct profiler_comm *const *comms, size_t count, char *why,
                        size_t size);

#endif
