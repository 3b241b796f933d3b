/* A session in one launch. */
#pragma once

#include "bench/search/study.h"

/* Its work. */
struct search_session {
    const struct bench_knobs *launch;
    int round;
    int full;       /* explores all calls; else the default call alone, a few samples; or */
    int prove;      /* those that are to prove what was explored, where there are any */
    int screening;  /* only the few points that tell launches apart */
    double least_s; /* without `full`: it lasts so long, as what passes over the machine meanwhile is averaged out */
    double part;    /* of the time that is left once it has started */
};

/* Runs it. What crashes or hangs is journalled, killed and replaced. Errors: the journal cannot be written; the
 * default launch does not start. */
int search_session_run(struct bench_study *s, const struct search_session *v, struct err *e);
