/* Commands that a launcher has started on every node or rank. */
#ifndef CLI_FOUND_H
#define CLI_FOUND_H

#include "bench/launch/agents.h"
#include "bench/launch/found.h"

struct cli_found {
    struct found found;
    struct agents agents;
    int head;
};

/* Before anything is looked at: -1 to go on, alone or as the head, whose `setup` lends the agents of all nodes then; or
 * the exit code of a process that has served and is done. `dir` is what all nodes share, NULL nothing; `name` the
 * command's, for its errors. A launcher or hosts that the user names are not looked for. */
int cli_found_begin(struct cli_found *c, struct bench_setup *setup, const char *dir, const char *name,
                    volatile sig_atomic_t *stop, struct arena *a);

/* The head's end: all others end with this exit code. Nothing for others. */
void cli_found_end(struct cli_found *c, struct bench_setup *setup, int code);

/* All others go on as ranks of MPI, of which this is rank 0. Nothing where nobody was found. ERR_LACKS: what has
 * started them knows no MPI. */
int cli_found_become_ranks(struct cli_found *c, struct bench_setup *setup, struct err *e);

#endif
