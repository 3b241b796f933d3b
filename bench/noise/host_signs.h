/* What the kernel says of this node's condition. */
#ifndef BENCH_NOISE_HOST_SIGNS_H
#define BENCH_NOISE_HOST_SIGNS_H

#include "core/arena.h"

/* Called with a kind, what it is about, and a number:
 *
 *   load            average of the last minute, for each processor
 *   cpu-pressure    percent of the last ten seconds in which something waited for a processor (PSI)
 *   cpu-stolen      seconds a processor that the hypervisor kept; it grows
 *   cpu-throttled   times that the processors were slowed down for heat; it grows
 *   cpu-limited     percent of its clock that a processor may not use
 *   port-errors     of an RDMA port, one counter each: "mlx5_0:1, symbol_error"; they grow
 *
 * What the kernel does not tell is left out. Scratch in `a`. */
typedef void host_sign_fn(void *user, const char *kind, const char *subject, double value);
void host_signs_read(struct arena *a, host_sign_fn *tell, void *user);

#endif
