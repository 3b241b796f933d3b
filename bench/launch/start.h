/* Getting an agent onto every node, by whatever the site has: mpirun, srun, an ssh for each node. Only their starting:
 * agents connect to whoever started them by themselves. */
#ifndef BENCH_LAUNCH_START_H
#define BENCH_LAUNCH_START_H

#include <poll.h>

#include "bench/launch/batch.h"
#include "bench/launch/setup.h"

/* What runs on every node. Both lists end with NULL. */
struct start_agent {
    const char *const *argv; /* the same everywhere; anybody can read it there: no secret */
    const char *const *env;  /* "NAME=value"; on no command line: for ssh it goes over the connection */
};

/* What runs here while agents run there. */
struct start;

/* How many nodes `setup` means; 0 after an error (hosts that are none). */
int start_nodes(const struct bench_setup *setup, struct err *e);

/* Whether it means this machine alone, which needs no launcher. */
int start_here_alone(const struct bench_setup *setup);

/* The names that --launcher takes, in the order in which they are looked for; NULL behind the last. Number 0 is "auto".
 */
const char *start_launcher_name(int i);

/* Whether one launcher would start all of them: where it fails for one node, it does for all. */
int start_is_common(const struct bench_setup *setup);

/* Starts them; `each` by a launcher for each node, in the order of the places that are meant, and as what they are
 * called there ("--as NAME"), whatever suits. NULL after an error: no launcher here (ERR_LACKS), a wrong option
 * (ERR_USAGE). */
struct start *start_open(const struct bench_setup *setup, const struct start_agent *what, int each, struct err *e);

/* Adds the descriptors that launchers write to, to `fds` with room for `room`; their number. As many as start_room. */
int start_pollfds(const struct start *s, struct pollfd *fds, int room);
int start_room(const struct start *s);

/* Reads what they have written; never waits. */
void start_listen(struct start *s);

/* Whether a launcher has ended, which ends the agents that it started: a sentence in `why` then, with the node where
 * there is a launcher for each ("node7: ssh exited with code 255: ssh: connect to host node7 port 22: ..."). */
int start_ended(struct start *s, char why[BENCH_DETAIL]);

/* The same of the launcher for node `i` alone, the sentence without its name; and that name. */
int start_node_ended(struct start *s, int i, char why[BENCH_DETAIL]);
const char *start_node(const struct start *s, int i);

/* What was complained about so far; "" nothing. Returns `text`. */
char *start_complaint(const struct start *s, char text[BENCH_DETAIL]);

/* Ends all that still run, after `grace_s` by force, and frees; NULL is fine. */
void start_close(struct start *s, double grace_s);

#endif
