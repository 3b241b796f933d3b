/* The nodes that a command is about: its agents there, and what each node is. */
#pragma once

#include <signal.h>

#include "bench/launch/agents.h"
#include "probe/topology/topology.h"

struct cli_nodes {
    const char **names; /* in the arena; NULL: this machine */
    int n;
    int here;              /* this machine alone */
    const char *partition; /* they are those of this Slurm partition; NULL not */
};

/* Call agents_meet before anything else is looked at: -1 to go on, alone or as the head; or the exit code of a process
 * that has served and is done. `dir` is what all nodes share, NULL nothing; `name` the command's, for its errors. */
int cli_nodes_meet(struct agents *agents, struct bench_setup *setup, const char *dir, const char *name,
                   volatile sig_atomic_t *stop, struct arena *a);

/* Find the nodes that are measured: --hosts, --hostfile, an allocation's, or this machine. Errors: a malformed list, an
 * allocation that does not name its nodes. */
int cli_nodes_measured(const struct bench_setup *setup, struct arena *a, struct cli_nodes *nodes, struct err *e);

/* Find those that --serve names, a list or partition=NAME, of which Slurm is asked. */
int cli_nodes_served(const char *text, struct arena *a, struct cli_nodes *nodes, struct err *e);

/* Have every node that is measured probe itself. Where this is not the only one, that is done through agents, which are
 * started for that and lent on. What they need lives in `a`. Nodes that do not answer are in `missing`. Errors: no node
 * answers, *stop. topo_free frees. */
struct topology *cli_nodes_probe(struct agents *agents, struct bench_setup *setup, const struct cli_nodes *nodes,
                                 struct log *log, volatile sig_atomic_t *stop, struct arena *a, struct err *e);

/* Take a host out of those that are measured, to `missing`: 0 where it is not among them. */
int cli_nodes_drop(struct topology *t, const char *name, const char *why);

/* After a measurement has failed: leave out the nodes whose agents are lost whenever they are started, of topology and
 * setup, with a warning each; one node at least stays. Return how many. What is kept is in `a`. */
int cli_nodes_drop_lost(struct agents *agents, struct bench_setup *setup, struct topology *t, struct log *log,
                        struct arena *a);

/* Return the nodes of the Slurm cluster that this machine belongs to without being one of them, as on a login node,
 * folded ("n[0-3]"), from `a`; NULL: it stands alone, or is one. */
const char *cli_nodes_of_cluster(struct arena *a);

/* The same of nodes that are not measured, each asked by a program of its own: those of a partition by a job for each,
 * others through what `setup` says: mpirun where it or arguments for it are named, srun in a Slurm allocation, else
 * ssh.
 */
struct topology *cli_nodes_ask(const struct bench_setup *setup, const struct cli_nodes *nodes,
                               const volatile sig_atomic_t *stop, struct err *e);
