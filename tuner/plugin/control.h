/* Steering the plugin from inside the process: what the benchmark worker uses to switch the choice of a collective
 * between two calls on one communicator, and to read back what NCCL offered.
 *
 * The functions are exported by libnccl-tuner-nccltune.so; find them with dlsym on the handle of the library that NCCL
 * loaded. Until nccltune_control_arm the plugin's calls pay one test of a flag for all this. Calls are serialised while
 * armed. Every rank of a communicator has to force the same. */
#pragma once

#include <stdint.h>

#define NCCLTUNE_CONTROL_VERSION 4
#define NCCLTUNE_CONTROL_CELLS   64 /* cells of a cost table that are recorded; NCCL has 21 */
#define NCCLTUNE_CONTROL_ALL     (-1)

/* A choice for one collective (enum coll of core/coll.h), or for NCCLTUNE_CONTROL_ALL of them. algo and proto -1: no
 * cell is written; one of them -1: the cheapest of the other's row or column. channels and chunk_bytes 0: NCCL's.
 * With nothing set it holds the table back: the baseline. */
struct nccltune_force {
    int coll, algo, proto, channels;
    uint32_t chunk_bytes;
};

enum nccltune_source {
    NCCLTUNE_SOURCE_NONE,    /* NCCL's own choice stands */
    NCCLTUNE_SOURCE_TABLE,   /* a rule of tuner.csv */
    NCCLTUNE_SOURCE_FORCED,  /* nccltune_control_force */
    NCCLTUNE_SOURCE_REFUSED, /* forced, but NCCL does not offer that here: nothing was written */
};

/* Arguments and answer of the last call of getCollInfo. Cells are numbered algo * protos + proto. */
struct nccltune_record {
    uint64_t sequence; /* calls since the plugin was armed */
    uint64_t bytes;
    uint64_t allowed; /* bit per recorded cell that NCCL offered and the next tuner has not taken away */
    int api;          /* 1 to 7: version of the interface that NCCL called */
    int coll, nodes, ranks;
    int pipe_ops, reg_buff;    /* reg_buff -2: not passed by this version */
    int algos, protos;         /* versions 1 and 2 pass no costs: allowed combinations show as small numbers */
    int algo, proto, channels; /* what was written; -1, -1 and 0 for nothing */
    int source;                /* enum nccltune_source */
    int channels_run;          /* what NCCL made of them, by the slices that it asked chunk sizes for (version 6
                                  on); 0 unknown */
    float cost[NCCLTUNE_CONTROL_CELLS]; /* as NCCL gave it, before anything was written */
};

/* The tuner that is asked before the table (NCCLTUNE_NEXT_TUNER). */
struct nccltune_next {
    int version; /* of its interface; 0: there is none, or it failed */
    char name[64], path[256];
};

/* NCCLTUNE_CONTROL_VERSION of the plugin; everything else here may change with it. */
int nccltune_control_version(void);

/* Starts recording, with an empty record and nothing forced; again: anew. */
void nccltune_control_arm(void);

/* From the next call on. 0, or -1: not armed, or a number outside its range. */
int nccltune_control_force(const struct nccltune_force *f);

/* Holds from the first communicator's init on. */
void nccltune_control_next(struct nccltune_next *n);

/* Copies the record. 0, or -1 when no call was made since the plugin was armed. */
int nccltune_control_last(struct nccltune_record *r);
