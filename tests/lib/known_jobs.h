/* Training jobs that people run, by name, for tests. */
#pragma once

#include "model/workload/job.h"

/* The job without its defaults; fails the test if the name is unknown. */
struct workload_job known_job(const char *name);
