/* Which nodes are meant: those of --hosts or --hostfile, of a file that a job was given (a Kubernetes MPIJob, PBS), of
 * a Slurm allocation, or this machine alone; where agents are lent, theirs. */
#ifndef BENCH_LAUNCH_PLACES_H
#define BENCH_LAUNCH_PLACES_H

#include "bench/launch/setup.h"

struct places {
    const char **hosts; /* `nodes` names in `a`; NULL: the allocation does not tell them, or this machine */
    int nodes;          /* 1 for this machine */
    int said;           /* the user has named them */
    int given;          /* the surroundings have: an allocation, a job */
    const char *file;   /* the user's or the job's file of hosts; NULL none */
};

/* Errors: a list or a file that is none. What the surroundings say and cannot be read counts as not said. */
int places_find(const struct bench_setup *setup, struct arena *a, struct places *p, struct err *e);

/* Whether that is this machine and no other: an agent is started without a launcher. */
int places_here_alone(const struct places *p);

/* The file of hosts that mpirun takes by itself here; NULL none. */
const char *places_mpirun_file(void);

#endif
