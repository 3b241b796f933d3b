/* The nodes of a run. On each of them runs one agent of nccltune, with one connection to this process, the conductor.
 * However agents came to be, they are the same struct agents and take the same orders:
 *
 *   - started by this process: as a child on this machine, or on all nodes by mpirun, srun or an ssh for each;
 *   - found started: a launcher (torchrun, a Kubernetes PyTorchJob, srun, mpirun, pdsh) has put a copy of this program
 *     on every node or rank. Rank 0 is the head and conducts; one process of every other node becomes its agent, all
 *     others wait for the one of their node.
 *
 * A command has its agents once and lends them through bench_setup.lent; all that it runs on nodes (probes, the fabric,
 * NCCL) borrows them with agents_open. Strangers on the port cost nothing: at most AGENTS_GUESTS connections that have
 * proven nothing are kept, each for at most AGENTS_PROOF_S. */
#pragma once

#include <signal.h>

#include "bench/launch/launch.h"
#include "core/wire/wire.h"

#define AGENTS_GUESTS  256
#define AGENTS_PROOF_S 5.0
#define AGENTS_HOST    64

/* ---- agents ---- */

struct agent {
    char host[AGENTS_HOST]; /* what its node calls itself */
    struct connection connection;
    int rank; /* among copies that were found started; -1 */
    int lost; /* gone, or given up: its connection is closed; 2 once agents_wait has reported it */
};

/* Copies of this program that a launcher has started on all nodes, as their head sees them. */
struct copies {
    const char *launcher; /* "torchrun", "srun", ... */
    int nodes;
    int per_node;        /* ranks; 0 unknown */
    const char *job;     /* what keeps this run apart on a node */
    const char *meeting; /* the file that tells where the head is; NULL none */
    int siblings;        /* the socket at which the other copies of this node wait */
};

/* A node whose agent has not come. */
struct agents_absent {
    const char *host, *why;
};

struct agents {
    struct arena *arena; /* of all that follows; NULL: there are none */
    struct pollfd *fds;  /* room for all that is polled together */
    struct agent *items; /* once all have come, in the order of their names, as people count: node2 before node10 */
    int count, wanted;
    int lost, reported; /* how many are gone, and how many of those agents_wait has reported */
    struct secret secret;
    int listener; /* -1 none */
    uint16_t port;
    struct guest *guests;
    int nguests;
    struct start *start;       /* the launchers that have started them; NULL none */
    struct proc here;          /* the agent of this node, on pipes */
    struct agents *lender;     /* whose they are; NULL their own */
    int *from;                 /* their numbers there */
    const struct places *some; /* those of these nodes that come are enough; NULL: all have to */
    int refused;               /* how many of another release have come */

    /* A lender's state when its agents end, in `keep`. */
    struct arena *keep;
    struct bench_setup *again;    /* how they are started anew when some or all are lost; NULL: not */
    struct agents_absent *absent; /* the nodes that it goes on without */
    int nabsent;
    struct copies *copies; /* this is the head of copies that were found started; NULL: it is not */
};

/* Borrow the agents of the nodes that `setup` names, or all, where it lends some; a lender that has lost some starts
 * all of them anew first. Else start an agent on every node that `setup` means and wait for all. Errors: a wrong
 * option, no launcher here (ERR_LACKS), a node that does not answer within `patience_s`, *stop; nothing is left running
 * then. */
int agents_open(struct agents *s, const struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct err *e);

/* Close all connections, which ends the agents and what they run, and stop what has started them. What was borrowed
 * goes back instead, after what it runs has been killed. A lender keeps what it needs to start them anew. */
void agents_close(struct agents *s);

enum agents_role {
    AGENTS_CONDUCT, /* alone, or the head of copies: go on; agents_end at the end */
    AGENTS_SERVED,  /* this process has served another one and is done: exit with *code */
    AGENTS_RANK,    /* the head wants a rank of MPI: become one */
    AGENTS_FAILED,  /* the error says why */
};

/* Find out which role this process has, before anything else is looked at. The head of copies on several nodes waits
 * for the agents of all and lends them through `setup`. Copies meet by a file in the directory `dir` (made if missing;
 * NULL: the present one), readable by its owner alone: where the head is, and the secret of this run. Where nothing is
 * shared, MASTER_ADDR and MASTER_PORT say where, and AGENTS_KEY, the same on all ranks, makes the secret. A `setup`
 * that names a launcher or hosts looks for no copies. Nobody is waited for longer than a minute; nodes that do not come
 * are listed in s->absent. `s` needs no initialisation; what it keeps is in `a`. */
#define AGENTS_KEY "NCCLTUNE_KEY"
enum agents_role agents_meet(struct agents *s, struct bench_setup *setup, const char *dir, volatile sig_atomic_t *stop,
                             struct arena *a, int *code, struct err *e);

/* Unless `setup` lends agents already: start one on every node that it means and lend them, as long as `a` lives. Nodes
 * that do not come are listed in s->absent and taken out of `setup`. Where one launcher for all fails, try one for each
 * node. Errors: as agents_open, and no node comes. */
int agents_lend(struct agents *s, struct bench_setup *setup, double patience_s, volatile sig_atomic_t *stop,
                struct arena *a, struct err *e);

/* Go on without a node whose agent was lent and has been given back: nobody gets it any more. */
void agents_leave_out(struct agents *s, struct bench_setup *setup, const char *host, const char *why);

/* Return why a node's agent cannot be had now: absent or lost; NULL: it can. */
const char *agents_gone(const struct agents *s, const char *host);

/* Before ranks of MPI are measured: started agents end until they are wanted again; copies go on as ranks, of which
 * this is rank 0. ERR_LACKS: their launcher does not speak MPI. */
int agents_become_ranks(struct agents *s, struct bench_setup *setup, struct err *e);

/* End all agents and copies, the latter with this exit code. Nothing is lent any more. */
void agents_end(struct agents *s, struct bench_setup *setup, int code);

/* Return the number of a node's agent, by its whole name, else by one that is alike; -1 none. */
int agents_find(const struct agents *s, const char *host);

/* ---- orders ---- */

/* Send a message to agent `i`, or to all with i < 0. Never waits. An agent that cannot be reached counts as lost. */
void agents_send(struct agents *s, int i, int message, int rank, const void *body, size_t bytes);

/* A program that is run on nodes, words and settings as in struct agent_start. */
struct agents_order {
    const char *const *argv;     /* NULL-terminated */
    const char *const *settings; /* "NAME=value" or "NAME"; NULL none */
    int copies;                  /* on every node; 0 is 1 */
    int frames;                  /* they speak frames, see struct agent_start */
};

/* Have agent `i`, or all with i < 0, start processes numbered from `first_rank` on. -1: the order is too long. */
int agents_start(struct agents *s, int i, const struct agents_order *o, int first_rank);

/* Wait for frames and hand each to `hear`, until that returns nonzero (AGENTS_ENOUGH). AGENTS_LOST: agent *lost is
 * gone; the others can still be used. Time is progress_now_s()'s; `hear` may change `*deadline_s`. */
enum agents_event { AGENTS_ENOUGH, AGENTS_LATE, AGENTS_STOPPED, AGENTS_LOST };
typedef int agents_hear(void *user, int agent, const struct frame *f);
enum agents_event agents_wait(struct agents *s, double *deadline_s, volatile sig_atomic_t *stop, agents_hear *hear,
                              void *user, int *lost);

/* Have every agent kill what it runs and wait up to `patience_s` for their reports; an agent that does not report is
 * given up. `last`, unless NULL, gets each of their last words. Ignores ^C, which leads here. */
typedef void agents_last_words(void *user, const char *last);
void agents_kill(struct agents *s, double patience_s, agents_last_words *last, void *user);

struct agents_answer {
    int lost;     /* its agent was lost or has not answered in time: what follows is what came before */
    int status;   /* as from waitpid; -1 it did not start, `errors` says why */
    char *output; /* the first 16 MiB, \0-terminated, from the arena */
    size_t bytes;
    char *errors; /* the last 4 KiB of its standard error, \0-terminated; if it has none, why the agent was lost */
};

/* Have every agent run a program, with its own number as {rank} and no input, and collect the answers: one for each
 * agent, from `a`; NULL with an error (interrupted, too long a command line). A node that is lost or late is no error:
 * its answer says so, and what it runs is killed. */
struct agents_answer *agents_run(struct agents *s, const char *const *argv, double deadline_s,
                                 volatile sig_atomic_t *stop, struct arena *a, struct err *e);

/* Start one more program on every node, which stays while others are started and killed. agents_end_beside ends its
 * input, waits for its end and returns its output (an answer for each agent). */
int agents_begin_beside(struct agents *s, const char *const *argv, struct err *e);
struct agents_answer *agents_end_beside(struct agents *s, double deadline_s, struct arena *a, struct err *e);
