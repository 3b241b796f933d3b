/* The profiler side of the NCCL double: finds NCCL_PROFILER_PLUGIN and tells it what runs, as NCCL 2.30 does. */
#pragma once

#include <stddef.h>

#include "tests/doubles/nccl_move.h"
#include "tests/doubles/nccl_tuner.h"

struct profiler_double; /* of a communicator */

/* NULL: there is no plugin, or it wants nothing of this communicator. */
struct profiler_double *profiler_attach(uint64_t id, int rank, int nranks, int nnodes, tuner_log *log);
void profiler_detach(struct profiler_double *p); /* NULL is fine */

/* A collective as the caller gave it; then the tuner is asked. */
void profiler_say(struct profiler_double *p, const struct move *m, int is_captured);

/* Calls that are told of up to profiler_launch are of one launch. */
void profiler_gather(struct profiler_double *p);
void profiler_launch(struct profiler_double *p);

/* What became of a call. */
void profiler_tell(struct profiler_double *p, const struct move *m, int algo, int proto, int channels, double us);
