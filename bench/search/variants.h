/* Whether choices depend on the type and the place of the data, which a tuner is not told; and whether they do on
 * captured calls and registered buffers, which can have rules of their own. */
#pragma once

#include "bench/search/study.h"

/* The part of the time that this may take. */
#define VARIANTS_PART 0.05

/* At a few sizes the usual choice and its rivals with both, side by side in a session of the baseline launch where all
 * else has been measured; once a run. Collectives and types or places where the choice changes are noted in s->matters,
 * for the sessions to come; what was found is a line of the journal. BENCH_ANSWERED, also where there is nothing to do
 * or no time for it; BENCH_STOPPED; else the session is of no further use, and who was at fault is in the journal. `rc`
 * is an error where the journal cannot be written. */
enum bench_outcome variants_compare(struct bench_study *s, struct bench_session *session, int *rc, struct err *e);

/* Whether a rank has an element for each other one there. */
int variants_fit(const struct bench_study *s, struct bench_place place);

/* Takes over what an earlier run has found, from the journal. */
void variants_resume(struct bench_study *s);
