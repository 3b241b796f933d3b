/* Whose plugins are at work in this process beside NCCL and nccltune. */
#ifndef BENCH_NCCLTUNE_WORKER_ACTIVE_H
#define BENCH_NCCLTUNE_WORKER_ACTIVE_H

#include <stddef.h>

/* "tuner NAME, network NAME", of what is loaded once a communicator is there; "" when it is NCCL alone. */
void active_plugins(char *text, size_t size);

#endif
