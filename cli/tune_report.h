/* Results of tuning, as text and JSON. */
#pragma once

#include "bench/results/points.h"
#include "core/arena.h"
#include "core/err.h"
#include "core/finding.h"
#include "envgen/profile/profile.h"
#include "envgen/verify/verify.h"

struct tune_result {
    const struct env_profile *profile;
    const struct bench_points *points;       /* it was decided from them; NULL: nothing was measured */
    const struct findings *noise;            /* what disturbed the measurement; NULL: nothing was measured */
    const struct verify_delivery *delivered; /* NULL: it was not checked, or changes nothing */
    const char *machine;                     /* the name of the one that was predicted; NULL */
    const char *workload;                    /* NULL */
    int json, verbose;
};

/* Return this program as one would type it here: by its name where the shell finds it by that. In `a`. */
const char *tune_typed_self(struct arena *a);

/* Says what was measured or predicted, what was decided, and the lines for a job script. */
int tune_report(const struct tune_result *t, struct arena *a, struct err *e);

/* Return whether a launch or a call was chosen that is not the library's own. */
int tune_report_changes(const struct env_decisions *d);
