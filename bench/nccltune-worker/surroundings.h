/* What an agent needs around it, whoever started it. */
#ifndef BENCH_NCCLTUNE_WORKER_SURROUNDINGS_H
#define BENCH_NCCLTUNE_WORKER_SURROUNDINGS_H

/* Takes lines "NAME=value" up to an empty one from standard input into the environment: an ssh passes nothing else on,
 * and a command line can be read by anybody. -1 when the input ends before the empty line. */
int surroundings_read(void);

/* Undoes the pinning to single cores that launchers do: workers inherit it, and NCCL's threads would share one core.
 * What a container or a job may not use stays out of reach. */
void surroundings_unpin(void);

#endif
