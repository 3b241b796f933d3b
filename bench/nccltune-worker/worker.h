/* The roles of the nccltune-worker program; the result is the exit code. Agent and rank serve frames
 * (bench/launch/agent_protocol.h, worker_protocol.h) until their input ends. */
#ifndef BENCH_NCCLTUNE_WORKER_WORKER_H
#define BENCH_NCCLTUNE_WORKER_WORKER_H

struct worker_options {
    const char *nccl;    /* worker: library to load; NULL: search */
    const char *connect; /* agent: the engine's places (bench/launch/address.h); NULL: standard input and output */
    const char *name;    /* agent: what its node is called; NULL: what Slurm or the node itself calls it */
    int rank, local;     /* worker: its rank, and its number on this node */
};

int agent_serve(const struct worker_options *o);
int rank_serve(const struct worker_options *o);

/* When its input ends: prints this node's signs (bench/noise/signs.h) of the start and of the end. */
int signs_serve(void);

#endif
