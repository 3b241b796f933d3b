/* What a process of a job does with words that come by: a node of the tree whose root is the coordinator. Pure: no
 * thread, no socket, no clock.
 *
 * Ranks' words go up unchanged; those of neighbouring ranks that say the same travel as one. The coordinator's go down
 * to where ranks of the communicator are. So the tree is nothing but a slow network to the protocol of online.h: what
 * is proven of that holds here. */
#ifndef TUNER_ONLINE_NODE_H
#define TUNER_ONLINE_NODE_H

#include "tuner/online/carrier.h"

#define ONLINE_LINKS       384   /* children of a node */
#define ONLINE_COMMS       16384 /* communicators that a node knows at once; those beyond stay untouched */
#define ONLINE_RANKS       (1U << 17)
#define ONLINE_PROPOSE_MS  50
#define ONLINE_PATIENCE_MS 2000 /* of the coordinator, for all promises of a round */
#define ONLINE_UP          (-1) /* the link to the parent */

/* Beside those of enum online_word. */
enum {
    ONLINE_HERE = 16, /* up: these ranks have joined */
    ONLINE_GONE,      /* up: these have left; count 0: some are lost */
    ONLINE_ASK,       /* up: of rank 0, begin a round */
    ONLINE_MAY,       /* down, to rank 0: one can begin; `from` is the furthest call */
};

/* One word of `count` ranks from `rank` on, in the byte order of the machine (core/wire tells when the other side has
 * another). `from`: of several ranks' the largest. */
struct online_entry {
    uint64_t comm, from;
    uint32_t word, round, plan;
    uint32_t rank, count, ranks; /* `ranks`: of the communicator */
};

struct online_topic;

struct online_node {
    int is_root;
    void (*send)(void *arg, int link, const struct online_entry *e); /* to a child, or ONLINE_UP */
    void *arg;
    uint64_t now_ms;
    struct online_topic **topics; /* by hash */
    size_t count, ranks;
    size_t rounds; /* under way through this node */
};

/* -1: no memory. */
int online_node_open(struct online_node *n, int is_root,
                     void (*send)(void *arg, int link, const struct online_entry *e), void *arg);
void online_node_close(struct online_node *n); /* also a zeroed one; members are forgotten */

/* A rank of this process: -1 no memory, or no room. */
int online_node_join(struct online_node *n, struct online_member *m);
void online_node_leave(struct online_node *n, const struct online_member *m);

/* A word from a link. -1: it is nonsense, and so is whoever has sent it. */
int online_node_hear(struct online_node *n, int link, const struct online_entry *e);

/* A link is gone. ONLINE_UP: all members here have lost the coordinator, and are forgotten. */
void online_node_lose(struct online_node *n, int link);

/* Time passes: proposals are asked for, and the coordinator's patience ends. 1: it wants to be told soon again. */
int online_node_tick(struct online_node *n, uint64_t now_ms);

/* The end of the program: what is undecided is aborted at once. */
void online_node_stop(struct online_node *n);

/* Adds a word to `list` of `*count`, or widens one of them by its ranks. 0: the list has no room (`most`). */
int online_merge(struct online_entry *list, size_t *count, size_t most, const struct online_entry *e);

#endif
