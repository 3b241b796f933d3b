/* The options that say what to measure and where, for the commands that measure: one table, one help text. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <getopt.h>

#include "bench/search/bench.h"

/* Values that getopt_long returns for them; a command's own options begin at CLI_OPT_OWN. */
#define CLI_OPT_MEASURE 256
#define CLI_OPT_OWN     512

/* `own` (ended by a zero entry) and the options of measuring behind them, ended by a zero entry; in `a`. */
const struct option *cli_measure_options(const struct option *own, struct arena *a);

/* Stores what option `c` of getopt_long with argument `arg` says into `o`. `c` must be within
 * CLI_OPT_MEASURE ... CLI_OPT_OWN - 1. */
int cli_measure_take(int c, const char *arg, struct bench_options *o, struct err *e);

/* bench_options_default, less what depends on other options, and that once they are known: collectives, largest size,
 * whether --nccl was a library or, for an engine that predicts, a release, whose range goes to `low` and `high`
 * (unless NULL; 0: not said). Errors: a release where one is measured and nobody takes a range; hosts where nothing is
 * measured. */
void cli_measure_begin(struct bench_options *o);
int cli_measure_resolve_defaults(struct bench_options *o, int *low, int *high, struct err *e);

/* Lines for --help. */
#define CLI_MEASURE_HELP                                                                                               \
    "What to measure\n"                                                                                                \
    "      --engine E            mpi (the default): host memory, through OpenMPI; nccl: GPU memory, through NCCL or\n" \
    "                            RCCL; model: all is predicted; verbs (bench alone): every pair of RDMA ports\n"       \
    "      --collectives LIST    allreduce,allgather,reducescatter,broadcast (by default), alltoall, reduce (nccl)\n"  \
    "      --min-bytes N         smallest size; 8\n"                                                                   \
    "      --max-bytes N         largest size; 16M, with the model 1G\n"                                               \
    "      --step-factor X       from one size to the next; 4\n"                                                       \
    "      --sizes LIST          these sizes instead, ascending, such as 8,64K,1M\n"                                   \
    "      --workload FILE       measure what a job calls (see nccltune-workload(1)): its collectives and sizes, "     \
    "most\n"                                                                                                           \
    "                            time for what takes most of its step; launches are compared by it\n"                  \
    "\n"                                                                                                               \
    "Where\n"                                                                                                          \
    "      --hosts A,B,C         the nodes; without, those of the Slurm allocation, or this machine\n"                 \
    "      --hostfile FILE       the nodes, one a line\n"                                                              \
    "      --ranks-per-node N    default: a node's GPUs; without any, 1, or on a single node its cores (2 to 8)\n"     \
    "      --interfaces LIST     network interfaces to try; default: all that the topology shows as usable\n"          \
    "      --mpirun CMD          the launcher; mpirun\n"                                                               \
    "      --mpirun-args ARGS    more arguments for it, split at blanks, '...' and \"...\" keep them; no shell\n"      \
    "      --nccl PATH           the NCCL library that jobs use (found where PyTorch and the loader have it)\n"        \
    "      --launch-prefix ARGS  words in front of every NCCL worker, to run it in a container; split as above\n"      \
    "      --graphs              NCCL's calls up to 1M are captured in CUDA graphs, as inference engines run them\n"   \
    "      --share-gpus          allow more ranks than GPUs: proves that things work, says nothing about speed\n"      \
    "\n"                                                                                                               \
    "How long\n"                                                                                                       \
    "      --budget T            at most this long; 60s\n"                                                             \
    "      --watchdog T          kill what has not answered for this long, plus ten times what it should take; 10s\n"

#endif
