/* Whether this process is captured, and whose file it writes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
