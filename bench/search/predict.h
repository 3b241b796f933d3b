/* The conductor for engines that compute: every point of every candidate, without sessions, samples or rounds.
 */
#pragma once

#include "bench/search/study.h"

/* Writes the predictions of `s->engine` to the journal: of every launch its default calls and its best ones, and of the
 * baseline launch and the best one every call. What the journal holds already is not written again. Errors: the
 * journal cannot be written; the engine predicts nothing for the untouched library. */
int bench_predict(struct bench_study *s, struct err *e);
