/* What the NCCL double and the worker need from the GPU driver double, on top of the driver's own interface. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The host spends `us` microseconds; a rank's clock is set when it meets the others. */
typedef void double_host_spend(double us);
typedef double double_host_time(void);
typedef void double_host_set(double us);

/* When work that the host puts on a stream now can begin: what was put there before has been done. */
typedef double double_stream_arrive(void *stream);

/* The stream is done with it at `us`. */
typedef void double_stream_finish(void *stream, double us);

/* Whether the stream is being captured. */
typedef int double_stream_captured(void *stream);

/* Work that is done later, `bytes` at `work`, when the stream is being captured: returns 1, and at every launch of the
 * graph `run` gets a copy of it. 0: the stream is not, nothing happened. */
typedef void double_graph_work(void *stream, const void *work);
typedef int double_stream_record(void *stream, double_graph_work *run, const void *work, size_t bytes);

/* The stream never finishes what was just put on it. */
typedef void double_stream_stick(void *stream);

/* Counts writes to device memory that were not the NCCL double's. */
typedef uint64_t double_writes(void);

/* The same type: how often the host has waited, after which it need not be where the others' are. */

/* The device whose context is current. */
typedef int double_device(void);

/* Whether memory is one of the devices'; for the double of libibverbs, which cannot register it without help. */
typedef int double_owner(const void *memory);
