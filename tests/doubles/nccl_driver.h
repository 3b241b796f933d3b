/* What the NCCL double needs from the GPU driver double, on top of the driver's own interface. */
#ifndef TESTS_DOUBLES_NCCL_DRIVER_H
#define TESTS_DOUBLES_NCCL_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* Work of `us` microseconds is put on a stream: its clock advances, nobody waits. */
typedef void double_stream_work(void *stream, double us);

/* Work that is done later, `bytes` at `work`, when the stream is being captured: returns 1, and at every launch of the
 * graph `run` gets a copy of it. 0: the stream is not, nothing happened. */
typedef void double_graph_work(void *stream, const void *work);
typedef int double_stream_record(void *stream, double_graph_work *run, const void *work, size_t bytes);

/* The stream never finishes what was just put on it. */
typedef void double_stream_stick(void *stream);

/* Counts writes to device memory that were not the NCCL double's. */
typedef uint64_t double_writes(void);

/* The device whose context is current. */
typedef int double_device(void);

/* Whether memory is one of the devices'; for the double of libibverbs, which cannot register it without help. */
typedef int double_owner(const void *memory);

#endif
