/* The roles of the nccltune-worker program; the result is the exit code. Agent and rank serve frames
 * (bench/launch/worker_protocol.h, worker_protocol.h) until their input ends. */
#pragma once

struct worker_options {
    const char *nccl;    /* worker: library to load; NULL: search */
    const char *connect; /* agent: the engine's places (core/wire/wire.h); NULL: standard input and output */
    const char *name;    /* agent: what its node is called; NULL: what Slurm or the node itself calls it */
    int rank, local;     /* worker: its rank, and its number on this node */
};

int agent_serve(const struct worker_options *o);
int rank_serve(const struct worker_options *o);

/* ---- what a process needs around it, whoever started it (surroundings.c) ---- */

/* Takes lines "NAME=value" up to an empty one from standard input into the environment: an ssh passes nothing else on,
 * and a command line can be read by anybody. -1 when the input ends before the empty line. */
int surroundings_read(void);

/* Undoes the pinning to single cores that launchers do: workers inherit it, and NCCL's threads would share one core.
 * What a container or a job may not use stays out of reach. */
void surroundings_unpin(void);
