/* A process that an agent has started: three pipes, a group of its own, its last words. libc only. */
#pragma once

#include <sys/types.h>

#include "bench/launch/worker_protocol.h"

/* NCCL's warnings are what a reader wants: they push all other words out. */
#define PROCESS_WARNING "NCCL WARN"

struct process {
    pid_t pid; /* 0 none */
    int rank, err;
    struct connection io;  /* its standard output and input */
    char last[AGENT_TEXT]; /* the last line of its standard error */
};

/* Values of {self}, {bin}, {host}, {rank} and {local}. */
struct process_names {
    char self[4096], bin[4096], host[64];
    int rank, local;
};
void process_names_here(struct process_names *n, const char *host); /* NULL: what Slurm or the node itself says */

/* Starts `words` with this process's environment as `settings` change it, both with the names filled in. -1 with errno.
 */
int process_start(struct process *p, char *const *words, int nwords, char *const *settings, int nsettings,
                  const struct process_names *names);

/* Kills it and its group; process_reap waits. */
void process_kill(const struct process *p);

/* Waits for its end, in the end by killing it, and closes all; its status, as from waitpid. `last` and `rank` stay. */
int process_reap(struct process *p);

/* Keeps the last line of `text`, which is cut up. */
void process_keep_words(struct process *p, char *text);

void process_close_errors(struct process *p);

/* Closes its standard input. */
void process_end_input(struct process *p);
