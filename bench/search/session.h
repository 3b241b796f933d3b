/* A session in one launch. */
#ifndef BENCH_SEARCH_SESSION_H
#define BENCH_SEARCH_SESSION_H

#include "bench/search/study.h"

/* What is to be done in it. */
struct search_session {
    const struct bench_knobs *launch;
    int round;
    int full;       /* all calls; else the default call alone, a few samples */
    int screening;  /* only the few points that tell launches apart */
    double least_s; /* without `full`: it lasts so long, as what passes over the machine meanwhile is averaged out */
    double part;    /* of the time that is left once it has started; all of it where the rest would not do for */
    int spare;      /* as many further sessions */
    int keep; /* where starts are dear its processes are left to the next session, if that is of the same launch */
};

/* Runs it. What crashes or hangs is journalled, killed and replaced. Errors: the journal cannot be written; the
 * default launch does not start. */
int search_session_run(struct bench_study *s, const struct search_session *v, struct err *e);

/* Ends processes that a session has left. */
void search_session_end(struct bench_study *s);

#endif
