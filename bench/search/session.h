/* A session in one launch. */
#ifndef BENCH_SEARCH_SESSION_H
#define BENCH_SEARCH_SESSION_H

#include "bench/search/study.h"

/* What is to be done in it. */
struct search_session {
    const struct bench_knobs *launch;
    int round;
    int full;       /* all calls; else the default call alone */
    int suspicious; /* only points whose default does not repeat itself */
    int screening;  /* only the few points that tell launches apart */
    double until_s; /* time is dealt out so that it ends about then */
};

/* Runs it. What crashes or hangs is journalled, killed and replaced. Errors: the journal cannot be written; the
 * default launch does not start. */
int search_session_run(struct bench_study *s, const struct search_session *v, struct err *e);

#endif
