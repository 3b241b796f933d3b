/* The candidates of a point: the default, and of the engine's calls those that what is known leaves a chance; or those
 * that are to prove it. */
#pragma once

#include "bench/search/rounds.h"
#include "bench/search/study.h"

struct candidate_source {
    const struct bench_study *study;
    struct bench_session *session;
    const char *launch; /* label */
    int full;           /* all calls; else the default call alone */
};

/* Fill the candidates of `r`, in its arena: the default, then every call that has not failed, what the library believes
 * in first. Room for BENCH_VARIATIONS more is left. */
void candidates_list(const struct candidate_source *e, const struct known_place *at, struct rounds *r);

/* For rounds.vary, with struct candidate_source as `user`: variations of the winner that have not failed. */
int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner);

/* ---- what is to be proven ---- */

/* Calls of one point that are proven side by side. */
#define CONTENDERS 3

/* Pairs that one start takes of each, where there is time. */
#define CONTENDER_PAIRS 8

struct contender {
    const struct bench_knobs *call;
    double promise;              /* of struct bench_candidate: in the launch, else in the untouched one */
    struct bench_interval proof; /* in the launch */
};

/* Of the launch `launch`, what is still to be proven at a point: the calls that came out best while it was explored, or
 * the untouched one if it has not been, and seem worth a setting, best first, until the starts say that one is, or that
 * none can be. They are looked at after 5, 8, 12 and 20 starts, no sooner. Returns how many. */
int candidates_contend(const struct bench_study *s, const struct bench_point *p, const char *launch,
                       struct contender found[CONTENDERS]);

/* Fills the candidates of `r` with the default and those. */
void candidates_list_contenders(const struct candidate_source *e, const struct bench_point *p, struct rounds *r);

/* The point of `at`; NULL: nothing was measured there. */
const struct bench_point *candidates_point(const struct bench_points *p, const struct known_place *at);
