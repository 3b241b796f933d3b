/* A process's connections in the tree of a job: to its parent, and from its children.
 *
 * All come to the job's first rank, which knows them by the job's key and tells each its parent: the first process of a
 * network stack (a node) is its leader, leaders hang below one another in order of arrival, ONLINE_ARITY a node, and
 * the other processes of a node below its leader. It also compares what they choose by. Nothing here waits. */
#ifndef TUNER_ONLINE_TREE_H
#define TUNER_ONLINE_TREE_H

#include <poll.h>

#include "core/wire/proof.h"
#include "core/wire/tcp.h"
#include "tuner/online/node.h"
#include "tuner/online/place.h"
#include "tuner/online/settings.h"

#define ONLINE_ARITY      32
#define ONLINE_GUESTS     64    /* connections at once that have not been linked */
#define ONLINE_GUEST_MS   5000  /* for proof and greeting, and for each try to get to the parent */
#define ONLINE_RETRY_MS   500   /* between two tries */
#define ONLINE_GIVE_UP_MS 60000 /* after which a process that cannot get into the tree stays out */
#define ONLINE_ALIVE_MS   1000  /* between two signs of life */
#define ONLINE_SILENCE_MS 10000 /* without one a connection is lost */
#define ONLINE_TABLE      160
#define ONLINE_TEXT       640
#define ONLINE_BUNDLE     (FRAME_BODY / sizeof(struct online_entry))
#define ONLINE_FDS        (ONLINE_LINKS + 2)
#define ONLINE_ADDRESSES  8

/* Messages of frames. */
enum { ONLINE_HELLO = 1, ONLINE_PLACE, ONLINE_WORDS, ONLINE_ALIVE, ONLINE_REFUSAL };

struct online_hello {
    char stack[WIRE_STACK], host[64], table[ONLINE_TABLE];
    int32_t rank;
    uint32_t failures; /* to get where it was told to go */
    struct online_place at;
};

enum online_stage { ONLINE_AWAY, ONLINE_CONNECTING, ONLINE_PROVING, ONLINE_GREETING, ONLINE_LINKED };

struct online_peer {
    enum online_stage stage;
    struct connection c; /* while it proves only the descriptor */
    struct proof proof;
    uint64_t heard_ms; /* since it is at this stage, or has said something */
    int is_broken;
};

struct online_leader {
    char stack[WIRE_STACK];
    struct online_place at;
};

struct online_tree {
    struct online_node node;
    struct secret secret;
    struct online_hello self;
    int listener;
    uint64_t now_ms, alive_ms; /* the last signs of life were sent */
    int is_lost, is_soon;      /* out of the tree for ever; a turn is due in ONLINE_PROPOSE_MS */
    struct online_peer children[ONLINE_LINKS];
    struct online_peer parent;
    struct online_place root[ONLINE_ADDRESSES], to;
    int roots;
    unsigned tries;             /* to get in */
    int is_told;                /* `to` is where the root has sent it */
    uint64_t began_ms, next_ms; /* of the first try and the next */
    struct online_entry up[ONLINE_BUNDLE];
    size_t ups;
    uint64_t up_ms;                /* when the first of them came */
    struct online_leader *leaders; /* the root's, without itself */
    size_t leader_count;
    char refusal[ONLINE_TEXT]; /* "" or why the job cannot go on */
    int strangers, refused;    /* that the root has told of */
    void (*say)(const char *text);
};

/* `self` says who this is (stack, host, table, rank); `say` gets sentences for the user. -1: no memory. */
int online_tree_open(struct online_tree *t, const struct online_hello *self, void (*say)(const char *text));
void online_tree_close(struct online_tree *t);

/* The root's: where it listens. -1 with errno. The others': where the root may be. */
int online_tree_listen(struct online_tree *t, uint16_t port);
void online_tree_find(struct online_tree *t, const struct online_place *root, int roots);

/* What to wait for (ONLINE_FDS at most): how many, and for how long. */
nfds_t online_tree_wants(const struct online_tree *t, struct pollfd *fds, int *timeout_ms);

/* What is there is done, after a poll of what online_tree_wants has left. */
void online_tree_turn(struct online_tree *t, const struct pollfd *fds, uint64_t now_ms);

/* Whether an outcome is owed to somebody, or words have not gone out. */
int online_tree_is_busy(const struct online_tree *t);

#endif
