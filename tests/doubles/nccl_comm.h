/* The inside of the NCCL double: a communicator, the log, and one call. Results are numbers of ncclResult_t. */
#pragma once

#include "tests/doubles/nccl_driver.h"
#include "tests/doubles/nccl_law.h"
#include "tests/doubles/nccl_move.h"
#include "tests/doubles/nccl_profiler.h"
#include "tests/doubles/nccl_tuner.h"

#define REMEMBERED 64 /* calls whose result still stands */

#define REGISTRATIONS 16
#define TOUCHED       128 /* buffers whose last use is known */

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };

/* What all ranks must say of a call; compared byte by byte. */
struct header {
    uint64_t count, chunk;
    int coll, type, root, algo, proto, channels;
};
struct done_call {
    struct header header;
    const void *send;
    void *recv;
};

/* A buffer, and how much was touched up to the end of its last use. */
struct touched {
    const void *start;
    uint64_t until;
};

struct ncclComm {
    struct join join;
    struct law law;
    struct tuner_double tuner;
    struct profiler_double *profiler;
    int rank, nranks, nnodes, stuck, async;
    int world_rank; /* of the process: what faults are told by */
    int others;     /* groups that were split off together with this one */
    uint64_t calls, writes, waits;
    struct header last; /* what the ranks have agreed on last */
    struct done_call done[REMEMBERED];
    int ndone;
    /* Time: when the calls before are over everywhere, the host that launches last, calls since the ranks have met. */
    double over_us, pace_us, factor;
    int run;
    /* Cost beside the law: calls since the last switch, cells that have been used, what is in the GPU's cache. */
    int since_switch;
    uint64_t used_cells[LAW_COLLS];
    unsigned connected; /* bit per algorithm */
    struct touched touched[TOUCHED];
    uint64_t touched_bytes;
    struct {
        const char *start;
        size_t bytes;
    } registered[REGISTRATIONS];
    int nonblocking, busy; /* looks at the state until what was begun is done */
};

/* As NCCL logs: to standard output when NCCL_DEBUG asks for it. */
extern tuner_log comm_say;
extern char comm_last_error[512];
#define WARN(...) comm_say(2, ~0UL, __FILE__, __LINE__, __VA_ARGS__)
#define INFO(...) comm_say(3, ~0UL, __FILE__, __LINE__, __VA_ARGS__)

/* The driver double that the program itself has loaded. */
struct comm_driver {
    double_host_spend *spend;
    double_host_time *host_us;
    double_host_set *set_host;
    double_stream_arrive *arrive;
    double_stream_finish *finish;
    double_stream_captured *captured;
    double_stream_stick *stick;
    double_stream_record *record;
    double_writes *count_writes, *count_waits;
    double_device *current_device;
    int (*alloc)(void **memory, size_t bytes);
    int (*release)(void *memory);
};
extern struct comm_driver comm_driver;
int comm_find_driver(void); /* 0 or -1 after a WARN */

/* A communicator to be: of the ranks that meet at `id`. */
struct comm_place {
    struct join_id id;
    int rank, nranks, world_rank, others, split;
};
int comm_create(struct ncclComm **comm, const struct comm_place *at);
int comm_split(struct ncclComm *parent, int color, int key, struct ncclComm **comm);
int comm_version(void); /* what ncclGetVersion says */

/* What the clocks of all ranks say at their latest; every rank's host is set to that. 0 or -1: a peer is gone. */
int comm_meet(struct ncclComm *c);

/* A call on its way, and what is chosen for it. */
struct comm_call {
    struct ncclComm *comm;
    struct move move;
    void *stream;
    struct header header;
    uint64_t bytes; /* NCCL's */
    int registered;
};

/* A call: 1, or 0 with its result: it needs no launch. It is chosen for as one of `bytes`, and launched: agreement,
 * data, time. */
int comm_begin(struct ncclComm *c, const struct move *m, void *stream, struct comm_call *x, int *rc);
int comm_choose(struct comm_call *x, uint64_t bytes);
int comm_choose_chunk(struct comm_call *x);
int comm_launch(struct comm_call *x);

/* ---- groups (nccl_group.c) ---- */

enum { COMM_GROUPED = 64 }; /* collectives of a group */

/* A collective: at once, or when the group ends whose depth is above 0. */
int comm_run(struct ncclComm *c, const struct move *m, void *stream, int depth);

/* The end of a group: by communicator, those that are alike and within a factor of 4 are chosen for as one of all their
 * bytes (NCCL 2.28.9, src/enqueue.cc, ncclPrepareTasks). */
int comm_end_group(void);
int comm_simulate_group(void); /* all questions, no launch */
