/* The file of a rank: made in memory from the counts, and written where nobody waits for it. */
#pragma once

#include "tuner/capture/comm.h"
#include "tuner/capture/job.h"
#include "tuner/observe/record.h"

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
