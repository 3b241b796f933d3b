/* Which network interfaces lead from node to node, proven by TCP connections: NCCL's ranks find one another over them,
 * with RDMA or without. An interface of this node is tried against the one of the same name over there. */
#ifndef BENCH_ENGINES_VERBS_NET_H
#define BENCH_ENGINES_VERBS_NET_H

#include <net/if.h>
#include <sys/socket.h>

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

#endif
