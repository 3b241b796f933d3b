/* The parts of the verbs engine's worker, private to bench/nccltune-bench/. All of these are collective: every rank
 * calls them, unless said otherwise. */
#ifndef BENCH_NCCLTUNE_BENCH_VERBS_INTERNAL_H
#define BENCH_NCCLTUNE_BENCH_VERBS_INTERNAL_H

#include <mpi.h>

#include "bench/engines/verbs/connect.h"
#include "bench/fabric/fabric.h"

/* The most that one step between two ports may take. */
#define PATIENCE_S 60.0

struct who {
    char node[64], port[80];
    double rate_Gbps;
    int node_index, rail;
    char failure[400]; /* why the port cannot be opened; "" when it is */
};

/* What the lead of a try reports to all others; of fixed size. */
struct tally {
    struct verbs_try pair;
    int tried;
    enum verbs_verdict verdict;
    double GBps, both_GBps, latency_us, messages_per_s;
    int gid_index[2]; /* as in struct verbs_fabric_try */
    char gid[40], why[900];
};

/* How a port has fared so far. */
struct record {
    int good, failed;
};

struct worker {
    MPI_Comm comm;
    int rank, ranks, nodes, rails, nccl;
    uint64_t sweep_bytes; /* 0: no sweep */
    struct arena *arena;
    struct who *all;         /* by rank */
    int *rank_of;            /* by node * rails + rail */
    struct verbs_port *port; /* NULL where there is no RDMA */
    struct tally *round;     /* by rank */
    struct record *records;  /* by node * rails + rail */
    struct verbs_outcome *outcomes;
    int noutcomes, turn;
    int recalled; /* the first of the outcomes, which an earlier run has found; sorted by pair */
};

/* The rank's own place. */
const struct who *worker_me(const struct worker *w);

/* Rank 0 prints `o` as a line; the others do nothing. Takes `o`. The second puts it into an object as `key`. */
void worker_say(const struct worker *w, cJSON *o);
void worker_say_inside(const struct worker *w, const char *key, cJSON *o);

/* MPI_Allgather that waits asleep: others are being measured on these cores. */
void worker_gather(const struct worker *w, const void *mine, void *all, size_t bytes);

/* What an earlier run has found: reads it from rank 0's standard input, lines {"try": {...}} up to {"go": true} or the
 * end, and gives it to all ranks. Not told again. Error: tries of another fabric. */
int worker_recall(struct worker *w, struct err *e);

/* A connection of this rank's port to another rank's, with the out-of-band way to it. */
struct worker_link {
    struct worker *worker;
    int rank, tag;
    char mine[160], theirs[160]; /* "node0 mlx5_0:1" */
    struct verbs_channel channel;
    struct verbs_pair pair;
};

/* Connects with the rank `other`, which does the same at the same time; no other rank is concerned. `setup->port` is
 * the worker's. See verbs_connect for the rest. Close the pair in any case. */
int worker_connect(struct worker_link *l, struct worker *w, int other, int lead, struct verbs_pair_setup setup,
                   struct verbs_attempt *used, struct err *e);

/* The rank that `me` has a try with in this round, and whether this one leads; -1 none. */
int worker_partner(const struct worker *w, const struct verbs_round *r, struct verbs_try *pair, int *lead);

/* Every round of `s`, those of its tries that are not known; with `skip_dead` not those with a port that only ever
 * failed. The rounds are told as those from `done` + 1 on of `of`. */
void worker_schedule(struct worker *w, const struct verbs_schedule *s, int brief, int skip_dead, int done, int of);

/* Tries again, one by one, who was slow among others. */
void worker_repeat_slow(struct worker *w);

/* Tries that tell possible faults apart, until there is no doubt or nothing left to try. */
void worker_resolve(struct worker *w, int brief);

/* All sizes from 2 bytes to `most_bytes` on 1, 2 and 4 queue pairs between the ports of the schedule's first round, but
 * for those that are dead; reports every point. */
void worker_sweep(struct worker *w, const struct verbs_schedule *s, uint64_t most_bytes);

/* Every port with every GPU of its node, between the ports of the schedule's first round; reports what it finds.
 * Nothing where no node has a GPU driver. */
void worker_gpus(struct worker *w, const struct verbs_schedule *s);

/* Reports every port with its GIDs; every node's network interfaces and where they lead. */
void verbs_report_ports(const struct worker *w);
void verbs_report_interfaces(const struct worker *w);

#endif
