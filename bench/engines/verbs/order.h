/* Messages between the conductor of a fabric's measurement and the processes that own one port each:
 * frames (core/wire/wire.h) that agents pass on. Ranks are node * rails + rail. */
#pragma once

#include <net/if.h>
#include <sys/socket.h>

#include "bench/fabric/ports.h"
#include "bench/launch/worker_protocol.h"

/* ---- network interfaces (net.c): which lead from node to node, proven by TCP connections ---- */

#define VERBS_NETS 16 /* NCCL looks no further than this many */

struct verbs_net {
    char name[IF_NAMESIZE];
    struct sockaddr_storage address; /* where it listens */
};
struct verbs_net_list {
    struct verbs_net nets[VERBS_NETS];
    int n;
};

/* Opens a listening socket on every running interface with an address other than a loopback or link-local one, IPv4
 * first. `fds` gets the sockets: close them once the others have tried. What cannot be opened is left out. */
void verbs_net_listen(struct verbs_net_list *mine, int fds[VERBS_NETS]);

/* Connects from each interface of `mine` to that of the same name in each of others[0..n), all at once, until
 * `patience_s` is over. `reached[i]` gets how many answered interface i. An address that this node has itself, as
 * container bridges do everywhere, counts as not reached. */
void verbs_net_try(const struct verbs_net_list *mine, const struct verbs_net_list *others, int n, double patience_s,
                   int reached[VERBS_NETS]);

/* "10.0.0.1". Returns `text`. */
#define VERBS_NET_TEXT 64
char *verbs_net_address(char text[VERBS_NET_TEXT], const struct verbs_net *net);

/* ---- messages ---- */

enum verbs_message {
    /* to a port */
    VERBS_ORDER = AGENT_MESSAGES + 1, /* struct verbs_order */
    /* from a port */
    VERBS_WHO,    /* struct verbs_who: its first message */
    VERBS_LINE,   /* a JSON object as text: a port */
    VERBS_ANSWER, /* struct verbs_answer: the order has been carried out */
    /* both ways */
    VERBS_SWAP,     /* struct verbs_swap and bytes: a word between two ports under way */
    VERBS_NET_LIST, /* struct verbs_net_list: the node's own; those of another, to be tried */
};

struct verbs_who {
    char node[64], port[80];
    double rate_Gbps;
    char failure[400]; /* why the port cannot be opened; "" when it is */
};

enum verbs_what {
    VERBS_REST,
    VERBS_TRY,      /* connect and measure; `brief` only as much as tells whether it works */
    VERBS_TRY_GPU,  /* both ways with the memory of GPU `number` on the side that `owns` it */
    VERBS_GPUS,     /* how many are there? */
    VERBS_PORT,     /* say what the port is, and its GIDs */
    VERBS_PROVEN,   /* GID `number` has been proven by an earlier run */
    VERBS_LISTEN,   /* open the node's network interfaces */
    VERBS_TRY_NETS, /* connect to those of the nodes whose lists have come */
    VERBS_DEAFEN,   /* close them */
};

struct verbs_order {
    int32_t what, turn;    /* `turn` tells a late word of an earlier order from one of this */
    int32_t other, lead;   /* the rank to do it with, and whether this side leads */
    struct verbs_end mine; /* what this port is to the whole */
    struct verbs_end peer;
    char theirs[160];    /* "node1 mlx5_0:1" */
    char failure[400];   /* why that port cannot be opened */
    int32_t brief, back; /* VERBS_TRY: less to measure; also what the other side writes */
    int32_t number, owns;
};

struct verbs_answer {
    int32_t verdict;                                    /* enum verbs_verdict */
    int32_t count;                                      /* GPUs of the node */
    double GBps, both_GBps, latency_us, messages_per_s; /* with a GPU: what it sends, what it receives */
    double back_GBps;                                   /* 0 not asked for */
    double spread, back_spread;                         /* as in struct verbs_fabric_try */
    int32_t gid_index[2];                               /* as in struct verbs_fabric_try */
    char gid[40], pci[32], via[16], why[900];
    int reached[VERBS_NETS];
};

struct verbs_swap {
    int32_t to, turn;
};
