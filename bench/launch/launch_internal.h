/* Between the files of bench/launch: agents while they come, launchers, and what is left of a child's complaints. */
#pragma once

#include <poll.h>

#include "bench/launch/agents.h"
#include "bench/launch/worker_protocol.h"

/* ---- agents.c ---- */

/* Return room to poll agents (two descriptors each), guests, the port and launchers. */
struct pollfd *agents_poll_room(struct agents *s);

/* Write an AGENT_START body of `o` for processes from `first_rank` on; its length, 0 when it is too long. */
size_t agents_start_body(const struct agents_order *o, int first_rank, char body[FRAME_BODY]);

/* ---- gather.c ---- */

/* Make room for `wanted` agents, and forget all that a lender does not keep. agents_close frees. */
void agents_none(struct agents *s, int wanted);

/* The same with a new secret. Raises the limit of descriptors where that is needed. Errors: no random numbers, too low
 * a hard limit (with the number that is needed). */
int agents_begin(struct agents *s, int wanted, struct err *e);

/* Open the port s->port, 0 for any, for agents that connect to this process. */
int agents_listen(struct agents *s, struct err *e);

/* Return, from `a`, what follows "--connect" on an agent's command line; and "NAME=value" for its environment. */
const char *agents_places(const struct agents *s, struct arena *a);
const char *agents_secret_variable(const struct agents *s, struct arena *a);

/* Take in an agent on pipes that nobody else has (a child, or ssh): it needs no proof. Takes over both descriptors. */
int agents_add(struct agents *s, int from, int to, struct err *e);

/* Note that a node does not take part. */
void agents_add_absent(struct agents *s, const char *host, const char *why);

/* Start this node's agent as a child. */
int agents_start_here(struct agents *s, struct err *e);

/* Wait until all `wanted` agents have proven themselves and said their names, then close the port. With s->some those
 * that come are enough, and who is refused becomes absent. Errors name who has not come as far as that is known. */
int agents_gather(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e);

/* ---- copies.c ---- */

/* The part of agents_meet before agents are waited for: the head of copies on several nodes has opened its port. */
enum agents_role copies_begin(struct agents *s, const char *dir, double patience_s, struct arena *a, int *code,
                              struct err *e);

/* The exit code of an agent whose process is to go on as a rank of MPI. */
#define COPIES_BECOME_RANK 99

/* Of the copies on one node one works; the others wait for it and end as it does. They meet at an abstract socket,
 * which is gone with whoever opened it. Nobody answers before the end, so the working copy need not look at it.
 *
 * Open the socket of `job`: a descriptor to be kept until the end, -1 after an error. Closing it without a word is a
 * word, too: SIBLINGS_LOST. */
int siblings_open(const char *job, struct err *e);

/* Tell all that wait, or come within a moment, a number from 0 to 255, and close. */
void siblings_tell(int fd, int word);

#define SIBLINGS_LOST (-1) /* the other has gone without a word */
#define SIBLINGS_NONE (-2) /* nobody has opened the socket within `patience_s` */

/* Wait for the word. Whoever opened the socket must be the same user. */
int siblings_wait(const char *job, double patience_s);

/* ---- places.c ---- */

/* Return the file of hosts that mpirun uses by itself here; NULL none. */
const char *places_mpirun_file(void);

/* ---- start.c: what runs here while agents run on nodes ---- */

/* Command for every node. Both lists end with NULL. */
struct start_agent {
    const char *const *argv; /* the same everywhere; anybody can read it there: no secret */
    const char *const *env;  /* "NAME=value"; on no command line: for ssh it goes over the connection */
};

/* Return whether one launcher would start all of them: where it fails for one node, it does for all. */
int start_is_common(const struct bench_setup *setup);

/* Start them; `each` by a launcher for each node, in the order of the places that are meant, and with their names there
 * ("--as NAME"), whatever suits. NULL after an error: no launcher here (ERR_LACKS), a wrong option (ERR_USAGE). */
struct start *start_open(const struct bench_setup *setup, const struct start_agent *what, int each, struct err *e);

/* Add the descriptors that launchers write to, to `fds` with room for `room`; their number. As many as start_room. */
int start_pollfds(const struct start *s, struct pollfd *fds, int room);
int start_room(const struct start *s);

/* Read what they have written; never waits. */
void start_listen(struct start *s);

/* Return whether a launcher has ended, which ends the agents that it started: a sentence in `why` then, with the node
 * where there is a launcher for each ("node7: ssh exited with code 255: ssh: connect to host node7 port 22: ..."). */
int start_ended(struct start *s, char why[BENCH_DETAIL]);

/* The same of the launcher for that node alone, the sentence without its name, once it has ended or `grace_s` is over.
 */
int start_node_ended(struct start *s, const char *host, double grace_s, char why[BENCH_DETAIL]);

/* Write the first complaint so far; "" none. Returns `text`. */
char *start_complaint(const struct start *s, char text[BENCH_DETAIL]);

/* End all that still run, after `grace_s` by force, and free; NULL is fine. */
void start_close(struct start *s, double grace_s);

/* ---- launchers.c ---- */

/* A command that runs here. */
struct start_command {
    const char **argv, **env; /* end with NULL; `env` NULL: nothing to add */
    const char *input;        /* for its standard input; NULL nothing */
};

struct start_launcher {
    const char *name;
    int each; /* its command is for one node: there is one for each */
    /* Return whether it would be used without being asked for. */
    int (*suits)(const struct bench_setup *setup, const struct places *where, struct arena *a);
    /* Make its command, in `a`. */
    int (*make_command)(const struct bench_setup *setup, const struct places *where, const struct start_agent *what,
                        struct arena *a, struct start_command *c, struct err *e);
};

/* In the order in which they are looked for; ends with an empty one. */
extern const struct start_launcher start_launchers[];

/* ---- child.c ---- */

void complaint_add(struct complaint *c, const char *text, size_t bytes);

/* Read what there is from a descriptor that does not block. 0 when it has ended. */
int complaint_read(struct complaint *c, int fd);

/* Write "first / last", one of them when they are the same, "" without any. Returns `text`. */
char *complaint_text(const struct complaint *c, char *text, size_t bytes);
