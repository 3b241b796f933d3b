/* What the conductor and the agents on the nodes say to one another. An agent knows nothing of what it runs: it starts
 * processes, carries frames to and frames or bytes from them, keeps their last words and kills them. Messages below
 * AGENT_MESSAGES are the agent's own; others are for the processes (bench/launch/worker_protocol.h). libc only. */
#ifndef BENCH_LAUNCH_AGENT_PROTOCOL_H
#define BENCH_LAUNCH_AGENT_PROTOCOL_H

#include "core/wire/connection.h"

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

#endif
