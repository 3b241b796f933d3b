/* The condition of GPUs and RDMA ports while something is measured: heat, throttling, other processes, errors,
 * congestion. Needs libc alone: nccltune-worker links it. */
#pragma once

#include "core/arena.h"

struct gpu_watch;

/* Loads NVML (NCCLTUNE_NVML names another library) and listens for Xid errors from now on. NULL: there is none, or it
 * does not start. */
struct gpu_watch *gpu_watch_open(void);
void gpu_watch_close(struct gpu_watch *w); /* NULL is fine */

/* Called with a kind, "GPU 3", and a number:
 *
 *   gpu-slowed        1 while the hardware slows it down, for heat or power
 *   gpu-heat          1 while its software does so for heat
 *   gpu-clocks        1 while its clocks are limited by a setting
 *   gpu-hot           °C above the temperature at which it slows down; negative below it
 *   gpu-heat-time, gpu-power-time   seconds that it has been slowed down, or held at its power limit; they grow
 *   gpu-processes     that compute on it
 *   gpu-busy          percent of the last second
 *   ecc-uncorrected, ecc-corrected, pcie-replays, nvlink-errors    since the driver was loaded; they grow
 *   xid               Xid errors since gpu_watch_open, one call for each code: "GPU 3, Xid 79"
 *
 * What a GPU or a driver does not tell is left out. */
typedef void gpu_sign_fn(void *user, const char *kind, const char *subject, double value);
void gpu_watch_read(struct gpu_watch *w, gpu_sign_fn *tell, void *user);

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
