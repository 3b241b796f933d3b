/* Numbers without the C library. */
#ifndef BENCH_NCCLTUNE_WORKER_NUMBER_H
#define BENCH_NCCLTUNE_WORKER_NUMBER_H

/* Digits alone, at most `high`; -1 otherwise. (strtol binds a symbol of glibc 2.38 where that is installed.) */
long worker_number(const char *s, long high);

#endif
