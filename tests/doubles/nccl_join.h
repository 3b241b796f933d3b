/* How ranks of the NCCL double meet: TCP to rank 0, whose address is in the unique id, and exchanges through it. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* The first bytes of a unique id. */
struct join_id {
    uint64_t magic;
    struct sockaddr_in address;
};

struct join {
    int rank, nranks;
    int *peers; /* rank 0: a socket for each rank, its own -1; others: peers[0] is rank 0 */
};

struct join_blob {
    void *data; /* from malloc */
    size_t bytes;
};

/* Listens on the interface that NCCL_SOCKET_IFNAME names (or the first that is not loopback, else loopback); rank 0 of
 * the communicator must be this process. 0 or -1. */
int join_listen(struct join_id *id);

/* Meets the others; blocks until all are there. 0 or -1. */
int join_meet(struct join *j, const struct join_id *id, int rank, int nranks);
void join_leave(struct join *j);

/* Everybody's bytes to rank 0: all[r] for each rank, for free(). Elsewhere `all` is not touched. 0 or -1: a peer is
 * gone. */
int join_gather(struct join *j, const void *mine, size_t bytes, struct join_blob *all);

/* Rank 0's bytes for each rank; `mine` gets exactly `bytes`. */
int join_scatter(struct join *j, const struct join_blob *each, void *mine, size_t bytes);
