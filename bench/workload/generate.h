/* From a job to the workload that its framework makes of it. */
#ifndef BENCH_WORKLOAD_GENERATE_H
#define BENCH_WORKLOAD_GENERATE_H

#include "bench/workload/job.h"

/* The workload of a complete job that workload_check found no error in. Sizes and counts are those that the framework's
 * published algorithm implies; every call says its formula. Free with workload_free. */
struct workload *workload_generate(const struct workload_job *job);

#endif
