/* The command line of mpirun, and the case that somebody else has started us under one. */
#ifndef BENCH_LAUNCH_MPIRUN_H
#define BENCH_LAUNCH_MPIRUN_H

#include "bench/launch/setup.h"

struct mpirun {
    const char **argv; /* NULL-terminated, the worker last */
    const char **env;  /* "NAME=value", nenv of them, with room for none */
    int nenv;
    int nodes, ranks_per_node;
};

/* How `worker` is started on all nodes that `setup` names: --hosts, --hostfile, a Slurm allocation's nodes, or this
 * machine. Ranks per node, unless said: the GPUs of a node; without any, 1 on several nodes and the cores (2 to 8) of
 * a single one. By srun --mpi=pmix where that is asked for with --launcher, or is all that an allocation has. Errors: a
 * host name with odd characters, an unreadable hostfile, ERR_LACKS without mpirun. */
int mpirun_command(const struct bench_setup *setup, const char *worker, struct arena *a, struct mpirun *m,
                   struct err *e);

/* What every process of a launch needs in its environment, whoever starts it: NULL-terminated "NAME=value". */
extern const char *const mpirun_worker_env[];

/* This process's rank when mpirun or srun has already started it as one of several, else -1. Errors (-2): srun started
 * several copies that do not know of one another. */
int mpirun_attached_rank(struct err *e);

#endif
