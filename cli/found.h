/* The agents of a command: those that were found started, where a launcher has put a copy of the command on every node
 * or rank, or those that it starts, once. Whatever it runs on nodes borrows them. */
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

/* Unless `setup` lends some already: starts an agent on every node that it means and lends them. Who does not come is
 * in `absent`. Errors: as agents_open_some. */
int cli_found_start(struct cli_found *c, struct bench_setup *setup, volatile sig_atomic_t *stop,
                    struct agents_absent **absent, int *nabsent, struct arena *a, struct err *e);

/* All agents end, those that were found with this exit code; whoever waits with them, too. */
void cli_found_end(struct cli_found *c, struct bench_setup *setup, int code);

/* Before ranks of MPI are measured: agents that were started end, until they are wanted again; those that were found
 * go on as ranks, of which this is rank 0. ERR_LACKS: what has started them knows no MPI. */
int cli_found_become_ranks(struct cli_found *c, struct bench_setup *setup, struct err *e);

#endif
