/* The inside of the NCCL double: a communicator, the log, and one call. Results are numbers of ncclResult_t. */
#ifndef TESTS_DOUBLES_NCCL_COMM_H
#define TESTS_DOUBLES_NCCL_COMM_H

#include "tests/doubles/nccl_driver.h"
#include "tests/doubles/nccl_law.h"
#include "tests/doubles/nccl_move.h"
#include "tests/doubles/nccl_profiler.h"
#include "tests/doubles/nccl_tuner.h"

#define REMEMBERED 64 /* calls whose result still stands */

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, REMOTE_ERROR = 6 };

/* What all ranks must say of a call; compared byte by byte. */
struct header {
    uint64_t count;
    int coll, type, root, algo, proto, channels;
};
struct done_call {
    struct header header;
    const void *send;
    void *recv;
};

struct ncclComm {
    struct join join;
    struct law law;
    struct tuner_double tuner;
    struct profiler_double *profiler;
    int rank, nranks, nnodes, stuck, async;
    uint64_t calls, writes;
    struct header last; /* what the ranks have agreed on last */
    struct done_call done[REMEMBERED];
    int ndone;
};

/* As NCCL logs: to standard output when NCCL_DEBUG asks for it. */
extern tuner_log comm_say;
extern char comm_last_error[512];
#define WARN(...) comm_say(2, ~0UL, __FILE__, __LINE__, __VA_ARGS__)
#define INFO(...) comm_say(3, ~0UL, __FILE__, __LINE__, __VA_ARGS__)

/* The driver double that the program itself has loaded. */
struct comm_driver {
    double_stream_work *put_work;
    double_stream_stick *stick;
    double_stream_record *record;
    double_writes *count_writes;
    double_device *current_device;
};
extern struct comm_driver comm_driver;
int comm_find_driver(void); /* 0 or -1 after a WARN */

/* One call of a collective: choice, agreement, data, time. */
int comm_run(struct ncclComm *c, const struct move *m, void *stream);

#endif
