/* Where and how to run: what a user may say about it, whatever the engine. */
#ifndef BENCH_LAUNCH_SETUP_H
#define BENCH_LAUNCH_SETUP_H

#include "bench/results/results.h"
#include "core/log.h"
#include "probe/topology/topology.h"

struct agents;

/* Strings may be NULL. */
struct bench_setup {
    const char *hosts;       /* "a,b,c" */
    const char *hostfile;    /* one host a line */
    struct agents *lent;     /* agents that run already, which whoever wants some borrows; NULL none */
    const char *launcher;    /* what starts agents: a name of bench/launch/start.h; NULL: what suits */
    const char *ssh;         /* called as COMMAND HOST PROGRAM...; NULL: $NCCLTUNE_SSH, or ssh */
    const char *mpirun;      /* the command */
    const char *mpirun_args; /* further arguments for it, split without a shell */
    int ranks_per_node;      /* 0: the engine chooses */
    const int *nodes;        /* where all is computed: how many nodes; one prediction each */
    int nnodes;              /* 0: as many as the topology has */
    int nccl_version;        /* and whose choices are predicted, 22809 is 2.28.9; 0: the newest known */
    unsigned collectives;    /* a bit for each (enum coll) that is to be measured; 0 unknown */
    const struct bench_knobs
        *jobs;       /* try nothing, compare these launches with the default as jobs run them; NULL: try */
    int njobs;       /* 0: the default alone */
    const void *own; /* the engine's own options, see struct bench_engine; NULL: none were said */
    const struct topology *topology; /* NULL unknown */
    struct log *log;
};

#endif
