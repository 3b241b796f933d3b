/* Where the conductor can be reached, and getting there from a node. libc only.
 *
 * "9f02c1b7d4e85a36/10.0.0.1:4711,[fd00::1]:4711": which network stack the conductor is on, then its addresses. An
 * agent on the same stack takes the loopback address; all others leave out loopback and every address that they have
 * themselves (docker0's is the same everywhere), because neither can lead to the conductor. */
#ifndef BENCH_LAUNCH_ADDRESS_H
#define BENCH_LAUNCH_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/wire/tcp.h"

#define ADDRESS_PLACES 2048 /* the longest text */

/* All of this machine's places; those that do not fit are left out. */
void address_places(uint16_t port, char places[ADDRESS_PLACES]);

/* Whether an agent that has the addresses `own` should try `to`. */
int address_leads_away(const struct sockaddr *to, const struct sockaddr *const *own, int nown);

/* Connects to one of `places` after the other, each for `patience_ms` at most. `try` gets each connected descriptor and
 * returns nonzero to take it; the others are closed. Returns the descriptor, or -1 with a sentence in `why`. */
typedef int address_try(void *user, int fd);
int address_connect(const char *places, int patience_ms, address_try *try, void *user, char *why, size_t bytes);

#endif
