/* The nodes of a cluster as one topology, and the switches that they hang on. */
#ifndef PROBE_CLUSTER_CLUSTER_H
#define PROBE_CLUSTER_CLUSTER_H

#include <signal.h>

#include "core/log.h"
#include "probe/topology/classes.h"

/* Every node of a cluster probes itself, all at once, through an agent like ssh: "AGENT HOST COMMAND". */
struct cluster_ask {
    const char *const *hosts;
    int nhosts;
    const char *agent;   /* split at blanks, no shell here; NULL: ssh */
    int without_shell;   /* it starts the program that it is told (srun, mpirun) instead of a line for a shell (ssh) */
    const char *command; /* run on the node: prints a topology.json; NULL: this program's "probe --json" */
    double deadline_s;   /* for each node */
    int parallel;        /* nodes asked at the same time; 0: 64 */
};

/* A node that does not answer in time, or with something else, is in `missing` of the result; the rest goes on.
 * `stop` (may be NULL) ends it when it becomes non-zero. Errors: no node answered, a host name that is none. */
struct topology *cluster_gather(const struct cluster_ask *ask, struct log *log, const volatile sig_atomic_t *stop,
                                struct err *e);

/* One node's answer into `t`: `text` is a topology.json with perhaps a greeting before it; its class joins the one that
 * it is identical to, by `index`. No text, or one that is none, makes the node a missing one, with `why` if there is a
 * reason, and a warning. Hosts are named as they were asked for. Afterwards cluster_order sorts them. */
void cluster_add(struct topology *t, struct class_index *index, const char *host, const char *text, size_t bytes,
                 const char *why, struct log *log);
void cluster_order(struct topology *t);

/* Sets the node's own clock, which its probe read between these two moments of ours (seconds since 1970), against ours:
 * the sign "clock" of `h` becomes "clock-skew", the seconds by which it must be wrong at least. 0, 0: not known when.
 */
void cluster_judge_clock(struct topology *t, struct topo_host *h, double asked_s, double answered_s);
double cluster_clock_s(void); /* our clock, so */

/* What a node printed, however it was asked. */
struct cluster_answer {
    const char *host;
    const char *text; /* a topology.json; NULL: it is missing, */
    size_t bytes;
    const char *why;            /* for this reason; else what it complained about, or NULL */
    double asked_s, answered_s; /* as cluster_judge_clock takes them */
};

/* The same of answers that are there already. */
struct topology *cluster_merge(const struct cluster_answer *answers, int n, struct log *log, struct err *e);

/* The same inside a job that a launcher (mpirun, srun) started with a process or more on every node: each calls this
 * with its own node's topology, which goes through files in `dir` on a shared file system. Returns the whole cluster on
 * rank 0 and a topology without hosts on the others; takes `own` over. Errors: no launcher, `dir` not writable. */
struct topology *ranks_gather(struct topology *own, const char *dir, double deadline_s, struct log *log, struct err *e);

/* Whether this process is the first of its node in such a job, or there is no job. */
int ranks_first_on_node(void);

/* Adds to every host which switch its ports hang on ("mlx5_0:1 leaf-3 port 7"), out of a file that ibnetdiscover wrote.
 */
int ibnetdiscover_read(struct topology *t, const char *path, struct log *log, struct err *e);

#endif
