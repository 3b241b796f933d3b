/* Where and how to run: what a user may say about it. */
#ifndef BENCH_LAUNCH_SETUP_H
#define BENCH_LAUNCH_SETUP_H

#include "bench/results/results.h"
#include "core/log.h"
#include "probe/topology/topology.h"

/* Strings may be NULL. */
struct bench_setup {
    const char *hosts;              /* "a,b,c" */
    const char *hostfile;           /* one host a line */
    const char *interfaces;         /* "eth0,ib0": network interfaces to try instead of the topology's */
    const char *mpirun;             /* the command */
    const char *mpirun_args;        /* further arguments for it, split without a shell */
    int ranks_per_node;             /* 0: the engine chooses */
    const char *nccl;               /* nccl: the library that jobs use; NULL: search */
    const char *launch_prefix;      /* nccl: words in front of every worker ("enroot start image"), split as above */
    const int *nodes;               /* model: how many nodes; one prediction each */
    int nnodes;                     /* 0: as many as the topology has */
    int nccl_version;               /* model: whose choices are predicted, 22809 is 2.28.9; 0: the newest known */
    int graphs;                     /* nccl: small calls are captured in CUDA graphs, as inference engines do */
    int share_gpus;                 /* nccl: more ranks than GPUs; proves mechanics, never gains */
    const struct bench_knobs *jobs; /* nccl: try nothing, compare these launches with the default as jobs run them */
    int njobs;
    const struct topology *topology; /* NULL unknown */
    struct log *log;
};

#endif
