/* The candidates of a point: the default, and of the engine's calls those that what is known leaves a chance; or those
 * that are to prove it. */
#pragma once

#include "bench/search/rounds.h"
#include "bench/search/study.h"

/* Fill the candidates of `r`, in its arena: the default, then with `full` every call that has not failed, what the
 * library believes in first. Room for BENCH_VARIATIONS more is left. */
void candidates_list(const struct bench_study *s, int full, struct rounds *r);

/* For rounds.vary, with the study as `user`: variations of the winner that have not failed. */
int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner);

/* ---- what is to be proven ---- */

/* Calls of one point that are proven side by side: more share the time of a start, and the confidence. */
#define CONTENDERS 3

/* Pairs that one start takes of each, where there is time: six or more can say by themselves that a call is slower. */
#define CONTENDER_PAIRS 8

struct contender {
    const struct bench_candidate *candidate; /* in the launch, or the untouched one, where it was explored */
    struct bench_interval proof;             /* in the launch */
};

/* Of the launch `launch`, what is still to be proven at a point: the calls that came out best while it was explored, or
 * the untouched one if it has not been, and seem worth a setting, best first, until the starts say that one is, or that
 * none can be. They are looked at after 5, 8, 12 and 20 starts, no sooner. Returns how many. */
int candidates_contend(const struct bench_study *s, const struct bench_point *p, const char *launch,
                       struct contender found[CONTENDERS]);

/* Fills the candidates of `r` with the default and those. */
void candidates_list_contenders(const struct bench_study *s, const struct bench_point *p, struct rounds *r);

/* What promises most at a point in the baseline launch, by more than half of the margin; else the default; NULL: that
 * was not measured, or `p` is NULL. */
const struct bench_candidate *candidates_promising(const struct bench_study *s, const struct bench_point *p);

/* The point of `at`; NULL: nothing was measured there. */
const struct bench_point *candidates_point(const struct bench_points *p, const struct known_place *at);

/* ---- whether choices depend on the type and the place of the data, which a tuner is not told ---- */

/* The part of the time that this may take. */
#define VARIANTS_PART 0.05

/* List the points, in the arena, at which other data is compared with the usual: a few sizes of each collective, those
 * first at which something else than the default promises to win. None where it has been done, or cannot be. */
int variants_list(const struct bench_study *s, const struct bench_points *known, struct arena *a,
                  const struct study_point **points);

/* Fill the candidates of `r` for such a point, of which `p` is known with the usual data: the default, what is chosen
 * there, and the fastest of other kinds. */
void variants_candidates(const struct bench_study *s, const struct bench_point *p, struct rounds *r);

/* Return whether another of them is proven to win with these data, or one of them fails: the point is a result then,
 * and the collective is measured with these data everywhere (s->matters). A finding says so. */
int variants_change(struct bench_study *s, const struct bench_point *p, const struct rounds *r);

/* Add the finding that sums up `compared` of `wanted` comparisons, to the journal, too. Once a run. */
int variants_finish(struct bench_study *s, int compared, int wanted, struct err *e);

/* Takes over what an earlier run has found, from the journal. */
void variants_resume(struct bench_study *s);
