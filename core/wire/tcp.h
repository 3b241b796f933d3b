/* TCP between nodes. libc only. */
#ifndef CORE_WIRE_TCP_H
#define CORE_WIRE_TCP_H

#include <stdint.h>
#include <sys/socket.h>

#define WIRE_STACK 17

/* Opens `*port`, or any where that is 0, on all interfaces, IPv6 and IPv4 or IPv4 alone; -1 with errno. Non-blocking.
 */
int wire_listen(uint16_t *port);

/* A descriptor that is being connected, non-blocking: wait until it can be written to and ask wire_connected. -1 with
 * errno. */
int wire_connect(const struct sockaddr *to, socklen_t bytes);

/* 0, or the errno that it failed with. */
int wire_connected(int fd);

/* What every connection between nodes gets: no delay, and an end when the other side's machine or the network between
 * has not answered for WIRE_SILENCE_S. */
#define WIRE_SILENCE_S 5
void wire_tune(int fd);

/* Which network stack this process is on: 16 hex digits of boot and network namespace, or "" where /proc does not
 * tell. */
void wire_stack(char stack[WIRE_STACK]);

#endif
