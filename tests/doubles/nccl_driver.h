/* What the NCCL double needs from the GPU driver double, on top of the driver's own interface. */
#ifndef TESTS_DOUBLES_NCCL_DRIVER_H
#define TESTS_DOUBLES_NCCL_DRIVER_H

#include <stdint.h>

/* Work of `us` microseconds is put on a stream: its clock advances, nobody waits. */
typedef void double_stream_work(void *stream, double us);

/* The stream never finishes what was just put on it. */
typedef void double_stream_stick(void *stream);

/* Counts writes to device memory that were not the NCCL double's. */
typedef uint64_t double_writes(void);

/* The device whose context is current. */
typedef int double_device(void);

/* Whether memory is one of the devices'; for the double of libibverbs, which cannot register it without help. */
typedef int double_owner(const void *memory);

#endif
