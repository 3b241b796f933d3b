/* What came of tuning, for people and as JSON. */
#ifndef CLI_TUNE_REPORT_H
#define CLI_TUNE_REPORT_H

#include "core/arena.h"
#include "core/err.h"

struct tune_result {
    const char *dir;      /* the profile */
    const char *results;  /* its journal; NULL: nothing was measured */
    const char *machine;  /* the name of the one that was predicted; NULL */
    const char *workload; /* NULL */
    int json;
};

/* Says what was measured or predicted, what was decided, and the lines for a job script. */
int tune_report(const struct tune_result *t, struct arena *a, struct err *e);

#endif
