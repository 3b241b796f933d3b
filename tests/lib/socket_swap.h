/* The way between the two sides of a pair over a connected stream socket. */
#pragma once

#include <stddef.h>

/* A verbs_channel's `swap` (see bench/engines/verbs/verbs.h); `user` points to the socket's number, an int. Sends and
 * receives at the same time, so that two sides with full buffers do not wait for one another. 0 or an errno: ETIMEDOUT
 * at the deadline, EPIPE when the other side is gone. */
int socket_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s);
