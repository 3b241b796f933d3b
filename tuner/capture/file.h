/* The file of a rank. */
#ifndef TUNER_CAPTURE_FILE_H
#define TUNER_CAPTURE_FILE_H

#include "tuner/capture/comm.h"
#include "tuner/capture/job.h"

/* Writes DIR/NAME.rank.RANK.json whole or not at all. Returns 0, or -1 with a sentence. Not for two threads at once. */
int profiler_file_write(const struct profiler_job *job, struct profiler_comm *const *comms, size_t count, char *why,
                        size_t size);

#endif
