/* Environment, cores and numbers of a command line. */
#include "bench/nccltune-worker/worker.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES 65536 /* of a line */
#define MOST_CORES 65536

/* A byte at a time: what follows the empty line is not ours. */
static int read_line(char *line, size_t room)
{
    for (size_t n = 0; n < room;) {
        ssize_t got = read(STDIN_FILENO, line + n, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        if (line[n] == '\n') {
            line[n] = 0;
            return (int)n;
        }
        n++;
    }
    return -1;
}

int surroundings_read(void)
{
    char *line = malloc(MOST_BYTES);
    int n = -1;
    while (line && (n = read_line(line, MOST_BYTES)) > 0) {
        char *value = strchr(line, '=');
        if (!value || value == line)
            continue;
        *value = 0;
        if (setenv(line, value + 1, 1)) {
            n = -1;
            break;
        }
    }
    free(line);
    return n;
}

void surroundings_unpin(void)
{
    cpu_set_t *all = CPU_ALLOC(MOST_CORES);
    size_t bytes = CPU_ALLOC_SIZE(MOST_CORES);
    if (all) {
        memset(all, 0xff, bytes);
        sched_setaffinity(0, bytes, all);
        CPU_FREE(all);
    }
}
