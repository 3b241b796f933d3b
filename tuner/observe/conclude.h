/* The end of a job that is observed: what its ranks have left is read, judged, said and kept for the next job. */
#pragma once

#include <stdint.h>

#define OBSERVE_ENDING ".observed.json" /* of the file that it leaves: DIR/JOB.observed.json */

struct observe_end {
    const char *dir, *name;
    int ranks, pid;
    uint64_t began;       /* of this process, in seconds since 1970 */
    uint64_t patience_ns; /* for ranks that have not ended yet */
};

/* By one process of the job, in a thread that nobody waits for longer than he likes: reads the files of all ranks,
 * those of the latest 16 jobs before it that were observed in the same directory, says what it finds on standard error,
 * a line each and three at most, and writes DIR/JOB.observed.json. Whatever goes wrong, less is said. */
void observe_conclude(const struct observe_end *e);
