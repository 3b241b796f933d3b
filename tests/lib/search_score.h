/* Between the simulated cluster and the score: what everything truly takes, and how good a decision is. */
#pragma once

#include "tests/lib/search_world.h"

/* Microseconds of a call under a launch; the launch's own factor at that size; whether the machine has that call there.
 */
double world_true_us(int coll, uint64_t bytes, const struct bench_knobs *launch, const struct bench_knobs *call);
double world_launch_factor(const struct bench_knobs *launch, uint64_t bytes);
int world_is_candidate(const struct bench_call *c, int coll, uint64_t bytes);

/* Whether the call dies in one start of 20: no gain is worth that. */
int world_may_die(int coll, const struct bench_knobs *call);

/* Adds a place where `launch` and `call` were decided and the best is under `best`; and a whole run of the search. */
void score_place(struct world_score *s, const struct world_place *p, const struct bench_knobs *best,
                 const struct bench_knobs *launch, const struct bench_knobs *call);
void score_run(struct world_score *s);
