/* What the nccl engine, the agents on the nodes and the workers on the GPUs say to one another: frames of a head and a
 * struct. All come from one build, which the first frame of an agent and of a worker proves. libc only.
 *
 *   engine ── pipe or TCP ── agent, one a node ── pipes ── worker, one a GPU
 *
 * The engine addresses a worker by its rank, or all of them with NCCL_ALL; an agent passes frames on in both
 * directions, starts workers and kills them. */
#ifndef BENCH_LAUNCH_WORKER_PROTOCOL_H
#define BENCH_LAUNCH_WORKER_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define WORKER_PROTOCOL_VERSION 2
#define WORKER_PROTOCOL_MAGIC   0x6e74576bU
#define NCCL_FRAME              ((size_t)1 << 16) /* the largest frame */
#define NCCL_ALL                (-1)
#define NCCL_TEXT               512
#define NCCL_CELLS              64 /* cells of a cost table; NCCL has 21 */

enum nccl_message {
    /* engine to agent */
    NCCL_SPAWN = 1, /* struct nccl_spawn and strings */
    NCCL_KILL,      /* all workers */
    /* agent to engine */
    NCCL_NODE,   /* struct nccl_node: the agent's first message */
    NCCL_ENDED,  /* struct nccl_ended: a worker that nobody killed is gone */
    NCCL_KILLED, /* after NCCL_KILL: struct nccl_ended of rank NCCL_ALL with the last words of all */
    /* engine to worker */
    NCCL_NAME,    /* make a unique id */
    NCCL_JOIN,    /* struct nccl_join */
    NCCL_PREPARE, /* struct nccl_point: allocate and fill */
    NCCL_MEASURE, /* struct nccl_measure */
    NCCL_QUIT,
    /* worker to engine */
    NCCL_HELLO,    /* struct nccl_hello: the worker's first message */
    NCCL_NAMED,    /* the unique id */
    NCCL_JOINED,   /* struct nccl_joined */
    NCCL_PREPARED, /* nothing */
    NCCL_TIMES,    /* struct nccl_times */
    NCCL_ERROR,    /* struct nccl_text: the request was not done; nothing was left running on the GPU */
};

struct nccl_head {
    uint32_t magic;
    uint16_t version, message;
    int32_t rank;
    uint32_t bytes; /* behind the head */
};

struct nccl_text {
    char text[NCCL_TEXT];
};

struct nccl_node {
    char host[64];
    char token[64]; /* what the engine gave the agent, over TCP */
};

/* Followed by `words` strings that are put in front of the worker's command line, and `settings` strings "NAME=value"
 * or "NAME" (taken out of the environment). */
struct nccl_spawn {
    int32_t first_rank, count; /* workers first_rank .. first_rank + count - 1 on this node */
    int32_t share_gpus;        /* each gets an NCCL_HOSTID of its own: ranks on one GPU count as nodes of their own */
    uint32_t words, settings;
};

struct nccl_ended {
    int32_t status; /* as from waitpid */
    char last[NCCL_TEXT];
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
};

struct nccl_joined {
    int32_t nodes; /* as NCCL counts them; 0 unknown without control */
    int32_t api;   /* version of the tuner interface that NCCL uses; 0 unknown */
};

struct nccl_point {
    int32_t coll, in_place;
    int32_t type;   /* ncclDataType_t; NCCL_TYPE_FITTING chooses */
    uint64_t bytes; /* the larger of a rank's two buffers */
};
#define NCCL_TYPE_FITTING (-1) /* float32 where the size allows it, else int8 */

struct nccl_measure {
    struct nccl_point point;       /* the prepared one */
    int32_t algo, proto, channels; /* -1, -1 and 0: NCCL's */
    int32_t iterations;            /* calls in one sample */
    int32_t check;                 /* of one call, before the sample */
    int32_t graph;                 /* the sample's calls are captured and launched as one */
    uint32_t chunk_bytes;          /* 0: NCCL's */
};

/* What NCCL offered for the call and what became of the request. Cells are numbered algo * protos + proto. */
struct nccl_choice {
    int32_t known;
    int32_t algos, protos;
    int32_t algo, proto; /* taken: what was requested, or NCCL's own cheapest */
    int32_t channels;    /* requested; 0: NCCL's */
    int32_t refused;     /* NCCL does not offer what was requested: nothing was changed */
    uint64_t allowed;    /* bit per cell */
    float cost_us[NCCL_CELLS];
};

enum { NCCL_DONE, NCCL_WRONG, NCCL_REFUSED };

struct nccl_times {
    int32_t status;
    double us; /* of one call */
    struct nccl_choice choice;
    char detail[NCCL_TEXT];
};

struct nccl_frame {
    struct nccl_head head;
    const void *body; /* valid until the next call on the inbox */
};

/* Bytes that came and were not handed out yet. */
struct nccl_inbox {
    char *data; /* NCCL_FRAME bytes */
    size_t used, given;
};

int nccl_inbox_open(struct nccl_inbox *in); /* -1: no memory */
void nccl_inbox_close(struct nccl_inbox *in);

/* Reads what there is: 1, 0 when the other side is gone, -1 when nothing can be read now. */
int nccl_inbox_fill(struct nccl_inbox *in, int fd);

/* The next whole frame: 1; 0 not yet there; -1 what came is no frame of this build. */
int nccl_inbox_next(struct nccl_inbox *in, struct nccl_frame *f);

/* The body as a struct of `bytes` bytes into `to`; -1 when it has another size. */
int nccl_body(const struct nccl_frame *f, void *to, size_t bytes);

/* Sends one frame, waiting up to 10 s for space; -1 when the other side is gone or does not listen. SIGPIPE must be
 * ignored. */
int nccl_send(int fd, enum nccl_message message, int rank, const void *body, size_t bytes);

#endif
