/* Rank of this process, by the variables of torchrun, mpirun and srun. libc only: the
 * plugin asks, too. */
#pragma once

struct launcher_rank {
    const char *launcher; /* "torchrun", "mpirun", "mpiexec", "srun": whose variables they are */
    int rank, ranks;
    int nodes;       /* that they are on; 0 unknown */
    int local;       /* among those of its node; -1 unknown */
    int per_node;    /* how many a node; 0 unknown */
    const char *job; /* what keeps this job apart from the next; NULL unknown */
};

/* Look up a variable: NULL or "" if it is not set. */
typedef const char *launcher_get(const void *arg, const char *name);
launcher_get launcher_environment; /* in the environment of this process */

/* Nonzero if a launcher tells. `get` NULL: of this process's environment. */
int launcher_find(launcher_get *get, const void *arg, struct launcher_rank *found);

/* A rank or a number of them, digits alone; -1 otherwise, and for NULL. (strtol binds a symbol of glibc 2.38 where that
 * is installed.) */
int launcher_number(const char *text);
