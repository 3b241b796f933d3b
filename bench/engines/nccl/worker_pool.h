/* The nccl engine's pool: an agent on every node, and under them one worker a GPU for the launch that runs now.
 *
 * Agents live as long as the pool; workers as long as one launch, because NCCL reads most of its variables once a
 * process. On one node the agent is a child on a pipe. On several, mpirun starts the agents (it is only a launcher: no
 * MPI is spoken) and they come back over TCP on whatever network reaches this machine, so that the fabric under test
 * carries nothing but NCCL. */
#pragma once

#include <signal.h>

#include "bench/engines/nccl/engine.h"
#include "bench/launch/launch.h"
#include "bench/launch/worker_protocol.h"
#include "core/finding.h"
#include "core/log.h"

struct nccl_pool;

/* Starts the agents on the nodes that `setup` names and waits for them; both must outlive the pool. NULL after an error
 * (ERR_LACKS: no worker program, no mpirun) and when *stop is set. */
struct nccl_pool *nccl_pool_open(const struct bench_setup *setup, const struct nccl_options *own, double patience_s,
                                 volatile sig_atomic_t *stop, struct err *e);
/* Nonzero if agents are lost, and which, unless `detail` is NULL: a new pool must be opened before anything else can be
 * asked. */
int nccl_pool_broken(const struct nccl_pool *t, char detail[BENCH_DETAIL]);
/* Ends everything; NULL is fine. */
void nccl_pool_close(struct nccl_pool *t);

int nccl_pool_nodes(const struct nccl_pool *t);
int nccl_pool_ranks(const struct nccl_pool *t); /* 0 before nccl_pool_look */

/* Starts one worker a node, just to learn what there is. All nodes must have the same NCCL; ranks per node are those of
 * the set-up or the GPUs of the node with the fewest. */
int nccl_pool_look(struct nccl_pool *t, struct nccl_hello *hello, double patience_s, volatile sig_atomic_t *stop,
                   struct err *e);

/* Settings of a launch's start. */
struct nccl_start {
    const struct bench_setting *settings; /* added to the environment */
    int nsettings;
    const char *plugin; /* NCCL_TUNER_PLUGIN; NULL leaves the environment's */
    int control;        /* the plugin is steered by us; else it works as in a job */
    int site; /* what the site sets for its jobs stays, its tuner too; only what nccltune has installed does not */
};

/* Starts all workers and joins them into one communicator; `free` is the least of any rank. A launch that runs already
 * is killed. After an error nothing is left running. */
int nccl_pool_start(struct nccl_pool *t, const struct nccl_start *s, struct nccl_joined *joined, double patience_s,
                    volatile sig_atomic_t *stop, struct err *e);

/* A request to all workers, and where their answers go. */
struct nccl_question {
    enum nccl_message message; /* 0: nothing is sent, their first message is awaited */
    const void *body;
    size_t body_bytes;
    enum nccl_message wanted; /* the message that answers it */
    void *answers;            /* room for one body of `bytes` a rank */
    size_t bytes;
    int first_alone; /* rank 0 alone is asked, not all */
    double deadline_s;
    double last_s; /* the deadline is not moved beyond this; 0: no bound */
    int refusals;  /* out: how many could not do it */
};

/* Send a request and wait for the answer of each:
 *   BENCH_ANSWERED  all have answered; where some refused, `detail` is one's reason
 *   BENCH_DIED      a worker is gone, or only some of them refused: the others hang in NCCL
 *   BENCH_LOST      a node is gone: see nccl_pool_broken
 *   BENCH_SILENT    somebody has not answered by the deadline (progress_now_s())
 * After the last three all workers have been killed. */
enum bench_outcome nccl_pool_ask(struct nccl_pool *t, struct nccl_question *q, volatile sig_atomic_t *stop,
                                 char detail[BENCH_DETAIL]);

/* After the last launch: what has disturbed nodes other than this one since the pool was opened. Once. */
void nccl_pool_noise(struct nccl_pool *t, struct findings *found);

/* Ends the launch: lets NCCL close its connections unless `kill`. */
void nccl_pool_stop(struct nccl_pool *t, int kill);

/* ---- inherit.c: the environment of workers, from that of the command ---- */

/* Add the names that candidates do not get. What nccltune has installed is gone already (core/delivered.h). */
void inherit_clear(struct words *w, struct arena *a);

/* Settings that jobs pin here, and candidates must not have: "NCCL_ALGO=Ring, NCCL_PROTO=LL"; NULL nothing. */
const char *inherit_pins(struct arena *a);

/* Says what holds for every candidate, and what for none. */
void inherit_log(struct log *log);
