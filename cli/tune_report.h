/* What came of tuning, for people and as JSON. */
#pragma once

#include "bench/results/points.h"
#include "core/arena.h"
#include "core/err.h"
#include "core/finding.h"
#include "envgen/profile/profile.h"

struct tune_result {
    const struct env_profile *profile;
    const struct bench_points *points; /* it was decided from them; NULL: nothing was measured */
    const struct findings *noise;      /* what disturbed the measurement; NULL: nothing was measured */
    const char *machine;               /* the name of the one that was predicted; NULL */
    const char *workload;              /* NULL */
    int json, verbose;
};

/* Says what was measured or predicted, what was decided, and the lines for a job script. */
int tune_report(const struct tune_result *t, struct arena *a, struct err *e);
