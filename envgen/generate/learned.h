/* What jobs have learned while they ran (NCCLTUNE_ONLINE=tune), where several of them agree. */
#ifndef ENVGEN_GENERATE_LEARNED_H
#define ENVGEN_GENERATE_LEARNED_H

#include "bench/results/results.h"

struct env_learned {
    int jobs;   /* that have left a journal */
    int agreed; /* calls, at one size in one shape of communicator */
    int alone;  /* that one job alone has found, or that jobs do not agree on */
};

/* Reads all JOB.learned.RANK.jsonl of `dir` and writes to the journal `path`, a new file, what was measured of calls
 * that were faster than how their jobs ran in every job that has tried them, two at least. Whether that clears a margin
 * is decided by who reads it. An error: the directory cannot be read, the file cannot be written. */
int env_learned_merge(const char *dir, const char *path, struct env_learned *done, struct log *log, struct err *e);

#endif
