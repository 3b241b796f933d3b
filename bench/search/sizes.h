/* The sizes of a run, once something is known of the nodes and of the calls. */
#pragma once

#include "bench/search/study.h"

/* Leaves out what there is no room for, unless a user asked for it; `room_bytes` 0: unknown. */
void sizes_fit(struct bench_study *s, uint64_t room_bytes);

/* Adds sizes where the best call changes from one size to the next, in the middle between the two, for some collective
 * in groups of some shape: a rule begins nearer to where it should. Where either of the two calls would do as well at
 * the other's size nothing is gained. None where a user has listed sizes or a workload has its own. Returns how many.
 */
#define SIZES_ADDED 6
int sizes_add(struct bench_study *s);

/* Whether a size, one of every second that are measured behind the others, lies between two with the same fastest call
 * whose time, and the default's, is in proportion to the size: nothing changes in between. */
int sizes_tell_nothing(const struct bench_study *s, struct bench_place at);
