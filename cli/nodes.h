/* Which nodes a command is about, and every one of them as it sees itself. */
#ifndef CLI_NODES_H
#define CLI_NODES_H

#include <signal.h>

#include "cli/found.h"

struct cli_nodes {
    const char **names; /* in the arena; NULL: this machine */
    int n;
    int here;              /* this machine alone */
    const char *partition; /* they are those of this Slurm partition; NULL not */
};

/* The nodes that are measured: --hosts, --hostfile, an allocation's, or this machine. Error: a list that is none, an
 * allocation that does not name its nodes. */
int cli_nodes_measured(const struct bench_setup *setup, struct arena *a, struct cli_nodes *nodes, struct err *e);

/* Those that --serve names, a list or partition=NAME, of which Slurm is asked. */
int cli_nodes_served(const char *text, struct arena *a, struct cli_nodes *nodes, struct err *e);

/* Every one of the nodes that are measured probes itself, through agents, which are started for that and lent on, where
 * this is not the only node; what they need lives in `a`. Who does not answer is in `missing`. Errors: nobody answers,
 * *stop is set. topo_free frees. */
struct topology *cli_nodes_probe(struct cli_found *c, struct bench_setup *setup, const struct cli_nodes *nodes,
                                 struct log *log, volatile sig_atomic_t *stop, struct arena *a, struct err *e);

/* The same of nodes that are not measured, each asked by a program of its own: those of a partition in a job each,
 * others through what `setup` says: mpirun where it or arguments for it are named, in a Slurm allocation srun, else
 * ssh. */
struct topology *cli_nodes_ask(const struct bench_setup *setup, const struct cli_nodes *nodes,
                               const volatile sig_atomic_t *stop, struct err *e);

#endif
