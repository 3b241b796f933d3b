/* nccltune-workload/1: what a job asks of its collectives, step by step.
 *
 * A workload is the phases of one training step (rollout, forward, backward, weight sync...), each with the collective
 * calls that one rank makes in it. Files are generated from a model and a framework (model/workload/job.h), captured
 * from a real job, or written by hand; nccltune-workload.json(5) describes them. */
#pragma once

#include <stdint.h>

#include "core/arena.h"
#include "core/coll.h"
#include "core/err.h"

#define WORKLOAD_FORMAT "nccltune-workload/1"

enum workload_place {
    WORKLOAD_NODE,    /* every group lies within one node */
    WORKLOAD_CLUSTER, /* groups cross nodes */
};

struct workload_call {
    int kind;       /* enum coll */
    uint64_t bytes; /* NCCL's nBytes: the larger of the per-rank send and receive buffers; sendrecv: one message */
    double count;   /* calls of one rank per step; of a run that was captured without steps: per run */
    int group_size; /* ranks of the communicator, 2 or more */
    enum workload_place place;
    int stride;        /* distance of neighbours of the group in the job's rank order, 1 or more */
    const char *dtype; /* "bfloat16"; NULL unknown */
    const char *what;  /* what the call is for and the formula of its size; NULL */
    double overlap_us; /* compute that one call can hide behind; -1 unknown */
    /* From a capture; otherwise unknown. */
    double time_us;  /* of one call, median; -1 unknown */
    int algo, proto; /* enum algo, enum proto; -1 unknown */
    int channels;    /* 0 unknown */
};

struct workload_phase {
    const char *name;
    double compute_us;     /* without communication; -1 unknown */
    double compute_factor; /* of an estimate: its 80 % interval reaches this factor either way; 0 measured */
    double bubble; /* a pipeline's stage waits for so much of the phase's own time on top: (pp - 1) / m; 0 none */
    struct workload_call *calls;
    int ncalls;
};

struct workload {
    struct arena *arena;
    const char *name, *source;     /* source: "generated", "captured", "merged"...; NULL unknown */
    const char *model, *framework; /* NULL unknown */
    uint64_t parameters;           /* 0 unknown */
    int ranks, ranks_per_node;
    int per_run; /* counts are totals of a run, not of a step */
    struct workload_phase *phases;
    int nphases;
    const char **notes; /* assumptions, for people */
    int nnotes;
    struct workload_change *changes; /* what its launch script could do otherwise; in no file */
    int nchanges;
};

struct workload_change {
    const char *what;
    struct workload *workload; /* the job with it */
};

struct workload *workload_new(void);
void workload_free(struct workload *w); /* and those of its changes; NULL is fine */

/* Reads a workload file ("-": standard input). The file is hostile: a wrong word or number is an error that names the
 * place ("phases[0].collectives[3].bytes"). Unknown fields are ignored. NULL after an error; free with workload_free.
 */
struct workload *workload_load(const char *path, struct err *e);

/* The same from text in memory; `path` is only named in errors. */
struct workload *workload_parse(const char *text, size_t bytes, const char *path, struct err *e);

/* Writes a workload atomically (NULL or "-": standard output). */
int workload_save(const struct workload *w, const char *path, struct err *e);

/* One workload out of the files that the ranks of one job wrote. Calls that agree in everything but count and times
 * become one: its count is the largest of any rank (stages of a pipeline differ, the busiest sets the pace), its time
 * the shortest (the others waited for the last rank to come). Errors: the files are of different jobs. */
struct workload *workload_merge(struct workload *const *parts, int nparts, struct err *e);

/* The nodes that one group of `call` spans in `w`, 1 or more. */
int workload_call_nodes(const struct workload *w, const struct workload_call *call);

/* Bytes that one rank hands to its collectives per step: sum of bytes × count; `kind` -1: all. `phase` NULL: all. */
double workload_bytes(const struct workload *w, const struct workload_phase *phase, int kind);

/* Building: both copy the strings they are given into the arena. */
struct workload_phase *workload_add_phase(struct workload *w, const char *name);
struct workload_call *workload_add_call(struct workload *w, struct workload_phase *phase, struct workload_call call);
/* One call of all ranks, and nothing that hides it. */
struct workload *workload_of_call(int coll, uint64_t bytes, int ranks, int ranks_per_node);
void workload_add_note(struct workload *w, const char *note);
