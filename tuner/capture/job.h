/* Whether this process is captured, and whose file it writes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tuner/observe/record.h"

#define PROFILER_PATH 4096

struct profiler_job {
    char dir[PROFILER_PATH]; /* absolute */
    char name[72];           /* of the job, fit for a file's name */
    char rank[144];          /* its number, or HOST-PID where no launcher tells it */
    int ranks, per_node;     /* 0 not known */
    char host[64];
    uint64_t began;       /* seconds since 1970 */
    int observed;         /* at its end its ranks and calls are judged (tuner/observe) */
    int ended;            /* nothing comes any more */
    int times;            /* wanted, and NCCL accounts for them rightly */
    int refused_times;    /* wanted, and it does not */
    uint64_t interval_ns; /* between two files; 0: only at the end */
    uint64_t seconds;     /* since the first communicator */
    unsigned missed;      /* communicators beyond PROFILER_COMMS */
    unsigned twins;       /* ranks beyond the first in this process */
    unsigned late;        /* files that were left out while an earlier one was being written */
    int pid;
};

/* Reads what NCCLTUNE_CAPTURE and the like ask for and what launchers say of this process. Returns 1, or 0 when nothing
 * is to be captured. `why` says what was asked for and is not done, or is "". */
int profiler_job_read(struct profiler_job *job, char *why, size_t size);

/* Takes the wish for times back where NCCL's own account of them is wrong: 1, with a sentence in `why`. `api`: version
 * of NCCL's profiler interface. */
int profiler_job_refuse_times(struct profiler_job *job, int api, char *why, size_t size);

/* No launcher's word is right where a communicator has more ranks than it says. */
void profiler_job_doubt(struct profiler_job *job, int comm_ranks);

/* ---- the file of a rank: made in memory from the counts, and written where nobody waits for it (file.c) ---- */

struct profiler_comm;

struct profiler_document {
    char path[PROFILER_PATH + 256], beside[PROFILER_PATH + 256]; /* beside: what is renamed to path */
    char dir[PROFILER_PATH];
    struct observe_text text;
};

/* Makes the document of what was counted so far; allocates, opens nothing. */
void profiler_file_make(struct profiler_document *d, const struct profiler_job *job, struct profiler_comm *const *comms,
                        size_t count);

/* Writes it beside its name, synced, and renames it: 0, or -1 and a sentence in `why`. May take as long as the file
 * system likes. The calling thread blocks SIGXFSZ, which a limit on the size of files would otherwise kill the job
 * with. */
int profiler_file_write(struct profiler_document *d, char *why, size_t size);
