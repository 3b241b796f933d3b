/* The thread that writes a process's file, so that no thread of NCCL's ever waits for a file system. */
#pragma once

#include <stdint.h>

/* Starts the thread: it calls `write` when it is asked to, and every `interval_ns` (0: only then). 0, or an
 * errno: there is no thread. */
int profiler_writer_start(void (*write)(void), uint64_t interval_ns);

/* Asks for one more file; never waits. What is asked for while a file is being written is one file, not many. */
void profiler_writer_ask(void);

/* Waits until the files that were asked for are written, at most `patience_ns`; not at all where the last wait was in
 * vain and nothing was written since. */
void profiler_writer_wait(uint64_t patience_ns);

/* Number of files skipped so far because an earlier one was being written. */
unsigned profiler_writer_late(void);
