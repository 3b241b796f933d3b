/* Addresses that the nodes of the tree are told: on the management network, not on that of the job's data. libc only.
 */
#ifndef TUNER_ONLINE_PLACE_H
#define TUNER_ONLINE_PLACE_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

/* An address with its port; all zero: none. */
struct online_place {
    unsigned char ip[16]; /* IPv4 as ::ffff:1.2.3.4 */
    uint16_t port;        /* in the byte order of the machine */
};

struct online_place online_place_at(const struct sockaddr *a, uint16_t port);

/* A descriptor that is being connected to, non-blocking; -1 with errno. */
int online_connect(const struct online_place *to);

/* The connection's own address. */
struct online_place online_place_seen(int fd, uint16_t port);

/* Where another node reaches the one that has this connection and listens on `port`: the connection's own address,
 * where that is on an interface to be used, else the best that there is. */
struct online_place online_place_of(int fd, uint16_t port);

/* Whether an interface is to be used: NCCL_SOCKET_IFNAME's where that is set (`wanted`), else one that no RDMA device
 * and no bridge of containers is behind. `net`: /sys/class/net. */
int online_interface_fits(const char *name, const char *wanted, const char *net);

int online_place_equal(const struct online_place *a, const struct online_place *b);

#endif
