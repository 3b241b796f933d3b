/* Found started: a launcher (torchrun, a Kubernetes PyTorchJob, srun, mpirun, pdsh) has put a copy of this program on
 * every node or rank. Rank 0 becomes the head, which conducts; of every other node one process becomes its agent, and
 * all others wait for the one of their node. All end when the head does, or when one cannot go on.
 *
 * They meet by a file that the head leaves in a directory that all share, readable by its owner alone: where the head
 * is, and the secret of this run. Where nothing is shared, MASTER_ADDR and MASTER_PORT say where, and NCCLTUNE_KEY, the
 * same on all ranks, makes the secret. */
#ifndef BENCH_LAUNCH_FOUND_H
#define BENCH_LAUNCH_FOUND_H

#include "core/arena.h"
#include "core/err.h"
#include "core/sha256.h"

#define FOUND_KEY "NCCLTUNE_KEY"

/* The exit code of an agent whose process is to go on as a rank of MPI. */
#define FOUND_BECOME_RANK 99

struct found {
    const char *launcher; /* "torchrun", "srun", ... */
    int ranks, nodes;
    const char *job; /* what keeps this run apart on a node */
    int listener;    /* where agents come to; whoever takes it sets -1 */
    uint16_t port;
    char secret[SHA256_HEX]; /* 64 hex digits */
    const char *meeting;     /* the file; NULL none */
    int siblings;            /* see siblings.h */
    int local;               /* this process's number on its node */
};

enum found_role {
    FOUND_ALONE,  /* nobody else was started: go on as ever */
    FOUND_HEAD,   /* rank 0 of several: go on, with the agents that come to `f`; then found_end */
    FOUND_RANK,   /* the head wants a rank of MPI: become one */
    FOUND_SERVED, /* all is over: exit with *code */
    FOUND_FAILED, /* the error says why */
};

/* To be called before anything is looked at. `dir` is the shared directory of this run, NULL when there is none; it is
 * made. Whoever waits for others does so for `patience_s` at most. What is in `f` lives in `a`. */
enum found_role found_begin(struct found *f, const char *dir, double patience_s, struct arena *a, int *code,
                            struct err *e);

/* The head's end, with the exit code for all others of its node. Once; a zeroed `f` is fine. */
void found_end(struct found *f, int code);

#endif
