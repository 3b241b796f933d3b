/* The candidates of a point: the default, and of the engine's calls those that what is known leaves a chance. */
#ifndef BENCH_SEARCH_CANDIDATES_H
#define BENCH_SEARCH_CANDIDATES_H

#include "bench/search/rounds.h"
#include "bench/search/study.h"

struct candidate_source {
    const struct bench_study *study;
    struct bench_session *session;
    const char *launch; /* label */
    int round;
    int full; /* all calls; else the default call alone */
};

/* Fills the candidates of `r`, in its arena: the default, then every call worth trying, the most promising first, those
 * without a past last; in later rounds the fastest of those that came through the first, and what was not tried in it.
 * Room for BENCH_VARIATIONS more is left. */
void candidates_list(const struct candidate_source *e, const struct history_place *at, struct rounds *r);

/* For rounds.vary, with struct candidate_source as `user`: variations of the winner that have not been tried here and
 * did not lose on both sides. */
int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner);

#endif
