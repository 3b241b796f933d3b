/* Messages between the conductor and nccltune-worker, in frames (core/wire/wire.h). All come from one build,
 * which the head of every frame proves. libc only.
 *
 *   engine ── pipe or TCP ── agent, one a node ── pipes ── worker, one a GPU
 *
 * An agent does not know what it runs: it starts processes, passes frames to them and frames or bytes from them, keeps
 * their last words and kills them. Messages below AGENT_MESSAGES are the agent's own; the others are for the workers.
 * The engine addresses a worker by its rank, or all of them with AGENT_ALL. */
#pragma once

#include "core/call/shape.h"
#include "core/wire/wire.h"

/* ---- agents ---- */

#define AGENT_ALL            (-1) /* a rank: all of a node's processes, but for the one beside */
#define AGENT_BESIDE         (-2) /* a rank: the one that stays while others are started and killed */
#define AGENT_TEXT           512
#define AGENT_MOST_PROCESSES 64
#define AGENT_MOST_STRINGS   512

enum agent_message {
    /* conductor to agent */
    AGENT_START = 1, /* struct agent_start and strings; processes that run already are killed first, unless this is the
                        one beside (first_rank AGENT_BESIDE, count 1, no frames), which takes the place of its like */
    AGENT_KILL,      /* all processes but the one beside */
    AGENT_INPUT_END, /* closes the standard input of `rank` */
    AGENT_EXIT,      /* int32_t: the agent ends with this status, its processes with it */
    /* agent to conductor */
    AGENT_NODE,   /* struct agent_node: its first message */
    AGENT_OUTPUT, /* bytes of standard output of `rank`, of processes that speak no frames */
    AGENT_ERRORS, /* the same of standard error */
    AGENT_ENDED,  /* struct agent_ended: a process that nobody killed is gone */
    AGENT_KILLED, /* after AGENT_KILL: struct agent_ended of rank AGENT_ALL with the last words of all */
    AGENT_MESSAGES = 32,
};

struct agent_node {
    char host[64];
    char release[32]; /* wire_release; "": older than this member */
    int32_t rank;     /* among the copies that a launcher has started; -1 it was not started by one */
};

/* Followed by `words` strings, the command line, and `settings` strings "NAME=value" or "NAME" (taken out of the
 * environment). In both "{self}" stands for the agent's own program, "{bin}" for its directory, "{host}" for the node's
 * name, "{rank}" and "{local}" for the process's numbers. */
struct agent_start {
    int32_t first_rank, count; /* processes first_rank .. first_rank + count - 1 */
    int32_t frames;            /* they speak frames, which are passed on as they are; else what they print is carried */
    uint32_t words, settings;
};

struct agent_ended {
    int32_t status; /* as from waitpid; -1 it did not start */
    char last[AGENT_TEXT];
};

/* ---- workers ---- */

#define NCCL_TEXT   512
#define NCCL_CELLS  64 /* cells of a cost table; NCCL has 21 */
#define NCCL_ACTIVE 160

/* Time that a worker waits for a GPU that another process holds. */
#define NCCL_GPU_HELD_S 30

enum nccl_message {
    /* engine to worker */
    NCCL_NAME = AGENT_MESSAGES + 1, /* make a unique id */
    NCCL_JOIN,                      /* struct nccl_join */
    NCCL_PREPARE,                   /* struct nccl_point: allocate and fill */
    NCCL_MEASURE,                   /* struct nccl_measure */
    NCCL_QUIT,
    /* worker to engine */
    NCCL_HELLO,    /* struct nccl_hello: the worker's first message */
    NCCL_NAMED,    /* the unique id */
    NCCL_JOINED,   /* struct nccl_joined */
    NCCL_PREPARED, /* struct nccl_prepared */
    NCCL_TIMES,    /* struct nccl_times */
    NCCL_ERROR,    /* struct nccl_text: the request was not done; nothing was left running on the GPU */
};

struct nccl_text {
    char text[NCCL_TEXT];
};

struct nccl_hello {
    int32_t version; /* 22809 */
    int32_t gpus;
    int32_t rccl;
    char path[256];
    char gpu[64];
};

struct nccl_join {
    int32_t nranks;
    int32_t control; /* the plugin is to be steered; without that it works as in a job */
    char id[128];
    int32_t table; /* the profile itself is measured: its plugin and table are there on purpose */
};

struct nccl_joined {
    int32_t nodes;            /* as NCCL counts them; 0 unknown without control */
    int32_t api;              /* version of the tuner interface that NCCL uses; 0 unknown */
    char active[NCCL_ACTIVE]; /* others' plugins: "tuner NAME, network NAME"; "" none */
    uint64_t free;            /* bytes of the GPU's memory, behind all that NCCL has taken; 0 unknown */
};

/* Callers: all ranks together, or groups of a shape at the same time. A rank in no group meets the others and answers
 * without a time. */
struct nccl_groups {
    struct bench_shape shape; /* all zero: everybody */
    int32_t whole_nodes;      /* that all ranks are on, numbered node by node */
};

struct nccl_point {
    int32_t coll, in_place;
    int32_t type;       /* ncclDataType_t; NCCL_TYPE_FITTING chooses */
    int32_t registered; /* buffers from NCCL's own allocator, registered with the communicator */
    uint64_t bytes;     /* the larger of a rank's two buffers */
    struct nccl_groups groups;
};
#define NCCL_TYPE_FITTING  (-1) /* float32 where the size allows it, else int8 */
#define NCCL_TYPE_BFLOAT16 9    /* ncclDataType_t's */

struct nccl_prepared {
    uint64_t working_set, cache; /* bytes: what calls in turn go through, and the GPU's cache that it is to exceed; 0:
                                    is not */
    int32_t group;               /* the rank's, from 0; below 0: it is in none, and the rest says nothing */
    int32_t nodes;               /* of that group as NCCL counts them; 0 unknown */
    char type[16];               /* "float32" */
};

struct nccl_measure {
    struct nccl_point point;       /* the prepared one */
    int32_t algo, proto, channels; /* -1, -1 and 0: NCCL's */
    int32_t iterations;            /* calls in one sample; a captured chain may need some more */
    int32_t check;                 /* of one call, before the sample */
    int32_t graph;                 /* the sample's calls are captured and launched as one */
    uint32_t chunk_bytes;          /* 0: NCCL's */
};

/* NCCL's offer for the call and the result of the request. Cells are numbered algo * protos + proto. */
struct nccl_choice {
    int32_t known;
    int32_t algos, protos;
    int32_t algo, proto;  /* taken: what was requested, or NCCL's own cheapest */
    int32_t channels;     /* requested; 0: NCCL's */
    int32_t channels_run; /* what NCCL made of that; 0: unknown */
    int32_t refused;      /* NCCL does not offer what was requested: nothing was changed */
    int32_t registered;   /* what NCCL told the tuner as regBuff; below 0: this release does not */
    uint64_t allowed;     /* bit per cell */
    float cost_us[NCCL_CELLS];
};

enum { NCCL_DONE, NCCL_WRONG, NCCL_REFUSED };

struct nccl_times {
    int32_t status;
    double us;                          /* of one call, by the GPU's clock */
    double host_least_us, host_most_us; /* by the host's, which sees the beginning and the end a little late */
    struct nccl_choice choice;
    char detail[NCCL_TEXT];
};
