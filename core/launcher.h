/* Which of a job's processes this is, by what torchrun, mpirun and srun tell those that they start. libc only: the
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

/* Where variables are looked up: NULL or "" when there is no such one. */
typedef const char *launcher_get(const void *arg, const char *name);

/* Whether a launcher tells. `get` NULL: of this process's environment. */
int launcher_find(launcher_get *get, const void *arg, struct launcher_rank *found);
