/* Whether choices depend on the type and the place of the data, which a tuner is not told. */
#pragma once

#include "bench/search/rounds.h"
#include "bench/search/study.h"

/* The part of the time that this may take. */
#define VARIANTS_PART 0.05

/* List the points, in the arena, at which other data is compared with the usual: a few sizes of each collective, those
 * first at which something else than the default promises to win. None where it has been done, or cannot be. */
int variants_list(const struct bench_study *s, const struct bench_points *known, struct arena *a,
                  struct bench_place **places);

/* Fill the candidates of `r` for such a point, of which `p` is known with the usual data: the default, what is chosen
 * there, and the fastest of other kinds. */
void variants_candidates(const struct bench_study *s, const struct bench_point *p, struct rounds *r);

/* Return whether another of them is proven to win with these data, or one of them fails: the point is a result then,
 * and the collective is measured with these data everywhere (s->matters). A finding says so. */
int variants_change(struct bench_study *s, const struct known_place *at, const struct rounds *r);

/* Add the finding that sums up `compared` of `wanted` comparisons, to the journal, too. Once a run. */
int variants_finish(struct bench_study *s, int compared, int wanted, struct err *e);

/* Nonzero if a rank has an element for each other one there. */
int variants_fit(const struct bench_study *s, struct bench_place place);

/* Takes over what an earlier run has found, from the journal. */
void variants_resume(struct bench_study *s);
