/* The agents of a run, one a node, as the conductor sees them: taken in and proven, given orders, lost.
 *
 * agents_open does it all: starts them by bench/launch/start.h, takes in those that come back, and brings them into
 * order. A command does it once, with agents_open_some, and lends them to whatever it runs on nodes: probes, the
 * fabric, NCCL. The rest is for those who find agents started already. Strangers on the port cost nothing: there is
 * room for AGENTS_GUESTS at a time that have proven nothing, each for AGENTS_PROOF_S.
 */
#ifndef BENCH_LAUNCH_AGENTS_H
#define BENCH_LAUNCH_AGENTS_H

#include <signal.h>

#include "bench/launch/agent_protocol.h"
#include "bench/launch/start.h"
#include "core/proc.h"
#include "core/wire/proof.h"

#define AGENTS_GUESTS  256
#define AGENTS_PROOF_S 5.0
#define AGENTS_HOST    64

struct agent {
    char host[AGENTS_HOST]; /* what its node calls itself */
    struct connection connection;
    int lost; /* gone, or given up: its connection is closed; 2 once agents_wait has said so */
};

struct guest;

struct agents {
    struct arena *arena; /* of all that follows; NULL: there are none */
    struct pollfd *fds;  /* room for all that is listened to together */
    struct agent *items; /* after agents_gather in the order of their names, as people count: node2 before node10 */
    int count, wanted;
    int lost, reported; /* how many are gone, and how many of those agents_wait has told of */
    struct secret secret;
    int listener; /* -1 none */
    uint16_t port;
    struct guest *guests;
    int nguests;
    struct start *start;   /* what has started them, NULL nothing; listened to while they are waited for */
    struct proc here;      /* or the only one, on pipes */
    struct agents *lender; /* whose they are; NULL their own */
    int *from;             /* their numbers there */
    int some;              /* those that come are enough */

    const struct bench_setup *again; /* how a lender's are started anew when some are lost, or all; NULL: not */
};

/* Starts an agent on every node that `setup` means and waits for all; where it lends agents, borrows those of the nodes
 * that it names, or all, of a lender that has lost some after it has started all of them anew. Errors: as start_open,
 * agents_begin and agents_gather; nothing is left running then. */
int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *e);

/* A node whose agent has not come. */
struct agents_absent {
    const char *host, *why;
};

/* To lend: starts an agent on every node, and goes on without those that do not come, which are in `absent`, of
 * `nabsent`, in `a`. Where one launcher for all fails, there is one for each node. Errors as above, and nobody comes.
 * `setup` stays in use. */
int agents_open_some(struct agents *s, struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                     struct agents_absent **absent, int *nabsent, struct arena *a, struct err *e);

struct found;

/* The agents of a launch that was found (bench/launch/found.h), this process's node included: waits for all of them. */
int agents_open_found(struct agents *s, struct found *f, double patience_s, volatile sig_atomic_t *stop, struct err *e);

/* Room for `wanted` agents, and nothing else. agents_close frees. */
void agents_none(struct agents *s, int wanted);

/* The same with a new secret. Raises the limit of descriptors where that is needed. Errors: no
 * random numbers, too low a hard limit (with the number that is needed). */
int agents_begin(struct agents *s, int wanted, struct err *e);

/* Opens the port that agents come back to. */
int agents_listen(struct agents *s, struct err *e);

/* For the agents' command line, "--connect" and this, from `a`; and for the launcher's environment ("NAME=value") or,
 * as its hex digits and a newline, standard input. */
const char *agents_places(const struct agents *s, struct arena *a);
const char *agents_secret_variable(const struct agents *s, struct arena *a);

/* An agent on pipes that nobody else has (a child, or ssh): it needs no proof. Takes over both descriptors. */
int agents_add(struct agents *s, int from, int to, struct err *e);

/* Waits until all `wanted` agents have proven themselves and said their names, then closes the port. Errors name who
 * has not come as far as that is known; a host name that came twice is one. */
int agents_gather(struct agents *s, double deadline_s, volatile sig_atomic_t *stop, struct err *e);

/* The number of a node's agent, under its whole name, else what comes before the first dot; -1 none. */
int agents_find(const struct agents *s, const char *host);

/* An order for agent `i`, or for all with i < 0. Never waits. One that cannot be reached any more counts as lost. */
void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes);

/* Waits for frames and hands each to `hear`, until that returns nonzero (AGENTS_ENOUGH). AGENTS_LOST: agent *lost is
 * gone; the others can still be used. Time is progress_now_s()'s; `*deadline_s` may be changed by `hear`. */
enum agents_event { AGENTS_ENOUGH, AGENTS_LATE, AGENTS_STOPPED, AGENTS_LOST };
typedef int agents_hear(void *user, int agent, const struct frame *f);
enum agents_event agents_wait(struct agents *s, double *deadline_s, volatile sig_atomic_t *stop, agents_hear *hear,
                              void *user, int *lost);

/* Has every agent kill what it runs and waits up to `patience_s` for their word on it; one that does not give it is
 * given up. `last`, unless NULL, gets each of their last words. ^C is not looked at: this is what it leads to. */
typedef void agents_last_words(void *user, const char *last);
void agents_kill(struct agents *s, double patience_s, agents_last_words *last, void *user);

/* A program that is run on nodes, words and settings as in struct agent_start. */
struct agents_order {
    const char *const *argv;     /* NULL-terminated */
    const char *const *settings; /* "NAME=value" or "NAME"; NULL none */
    int copies;                  /* on every node; 0 is 1 */
};

struct agents_answer {
    int lost;     /* its agent was lost or has not answered in time: what follows is what came before */
    int status;   /* as from waitpid; -1 it did not start, `errors` says why */
    char *output; /* the first 16 MiB, \0-terminated, from the arena */
    size_t bytes;
    char *errors; /* the last 4 KiB of its standard error, \0-terminated */
};

/* Has every agent run a program, with its own number as {rank} and nothing to read, and collects what comes of it: an
 * answer an agent, from `a`; NULL with an error (interrupted, too long a command line). A node that is lost or late is
 * no error: it says so in its answer, and what it runs is killed. */
struct agents_answer *agents_run(struct agents *s, const char *const *argv, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e);

/* One more program on every node, which stays while others are started and killed; agents_end_beside ends its input,
 * waits for its end and brings back what it says at its end (an answer an agent). */
int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e);
struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *e);

/* An AGENT_START body of `o` for processes from `first_rank` on into body[FRAME_BODY]: its length, 0 when it is too
 * long. */
size_t agents_start_body(const struct agents_order *o, int first_rank, int frames, char *body);

/* Closes all connections, which ends the agents and what they run, and stops what has started them; of a lender that
 * can start them anew, that alone stays. What was borrowed goes back instead, after what it runs has been killed. */
void agents_close(struct agents *s);

#endif
