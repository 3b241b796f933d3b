/* Which results are of one call under one launch: of some ten thousand the search asks for a few, some ten thousand
 * times. */
#pragma once

#include "core/arena.h"
#include "core/call/result.h"

struct bench_index;

/* Adds the next result, which is number 0, 1, ...; `x` NULL: a new index. Returns the index, which lives in the arena.
 */
struct bench_index *bench_index_add(struct bench_index *x, const struct bench_result *r, struct arena *a);

/* The first result of the same collective, shape, buffers, launch and call, at any size or `here` at the same
 * one, and the one behind it, in the order in which they were added; -1 none. Others whose hash is the same may be
 * among them. */
int bench_index_first(const struct bench_index *x, const struct bench_result *like, int here);
int bench_index_next(const struct bench_index *x, int number, int here);
