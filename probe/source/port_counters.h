/* What an RDMA port has counted of errors and congestion, from the kernel's files. */
#ifndef PROBE_SOURCE_PORT_COUNTERS_H
#define PROBE_SOURCE_PORT_COUNTERS_H

#include "core/arena.h"

/* Called for every counter of every port: its kind, "mlx5_0:1", its file's name, and what it stands at:
 *
 *   port-errors     symbols and packets that arrived damaged, links that had to recover
 *   port-flaps      times that the link went down
 *   port-discards   packets that the port could not send
 *   port-timeouts   packets that the other side did not acknowledge in time (RoCE)
 *   port-resent     of a million packets that arrived: requests to send again (RoCE)
 *   port-marked     of a million packets that were sent: notices of congestion that were obeyed (RoCE)
 *
 * What a driver does not count is left out. Scratch in `a`. */
typedef void port_counter_fn(void *user, const char *kind, const char *port, const char *counter, double value);
void port_counters_read(struct arena *a, port_counter_fn *tell, void *user);

#endif
