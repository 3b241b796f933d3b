/* The nodes of a cluster as one topology, and the switches that they are connected to. */
#pragma once

#include <signal.h>

#include "core/log.h"
#include "probe/topology/topology.h"

/* Every node of a cluster probes itself, all at once, through an agent like ssh: "AGENT HOST COMMAND". */
struct cluster_ask {
    const char *const *hosts;
    int nhosts;
    const char *agent;   /* split at blanks, no shell here; NULL: ssh */
    int without_shell;   /* the agent starts a program (srun, mpirun) instead of a line for a shell (ssh) */
    const char *command; /* run on the node; NULL: this program's "probe --json" */
    double deadline_s;   /* for each node */
    int parallel;        /* nodes asked at the same time; 0: 64 */
};

/* Output of a node's probe. */
struct cluster_answer {
    const char *host;
    const char *text; /* a topology.json; NULL: the node is missing */
    size_t bytes;
    const char *why; /* the reason why it is missing, or what it complained about; or NULL */
    int exited;      /* the agent, too; 0: what became of the command is not known */
};
/* Ask all nodes and hand on what they print, in the order of the hosts. Errors: no such agent, interrupted. */
typedef void cluster_take_fn(void *user, int host, const struct cluster_answer *answer);
int cluster_ask_each(const struct cluster_ask *ask, const volatile sig_atomic_t *stop, cluster_take_fn *take,
                     void *user, struct err *e);

/* Ask all nodes. A node that does not answer in time, or with something else than a topology, is in `missing` of the
 * result, with a warning; the others go on. `stop` (may be NULL) ends the gathering when it becomes non-zero. Errors:
 * no node answered, interrupted. topo_free frees. */
struct topology *cluster_gather(const struct cluster_ask *ask, struct log *log, const volatile sig_atomic_t *stop,
                                struct err *e);

/* The same from answers that are there already. */
struct topology *cluster_merge(const struct cluster_answer *answers, int n, struct log *log, struct err *e);

/* Add to every host the switches of its ports ("mlx5_0:1 leaf-3 port 7"), from a file that ibnetdiscover wrote. */
int ibnetdiscover_read(struct topology *t, const char *path, struct log *log, struct err *e);
