/* How an agent on another node reaches the engine. */
#ifndef BENCH_NCCLTUNE_WORKER_CONNECT_H
#define BENCH_NCCLTUNE_WORKER_CONNECT_H

/* Connects to the first of "ADDRESS:PORT[,ADDRESS:PORT...]" (IPv4 in numbers) that answers; each gets 5 s. A
 * descriptor, or -1 with errno. */
int agent_connect(const char *places);

#endif
