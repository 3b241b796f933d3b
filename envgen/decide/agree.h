/* What must be the same for several shapes of job. */
#pragma once

#include "envgen/decide/weights.h"
#include "envgen/profile/decisions.h"

/* Launch settings are common to all jobs. Where the shapes from `first` to before `end`, which are of one engine, would
 * choose differently, the launch is taken that gains most over all of them together, if that clears the margin and it
 * loses in none; else all stay with the untouched one. `worth` has what each shape counts. */
void decide_agree_on_launch(struct env_decisions *d, struct env_shape *first, struct env_shape *end,
                            const double *worth);

/* The points of one collective in one of the shapes that a tuner cannot tell apart (env_shapes_alike): one group alone
 * or several at once, one type of data or another. */
struct decide_side {
    const struct env_shape *shape;
    struct env_point *points; /* by size */
    int count;
};

/* Where the sides would choose differently at a size, all take the call that loses least in any of them, of those that
 * were measured in all that have the size: the greatest of its losses is the smallest. The points' `shared` says so. */
void decide_agree_on_calls(struct env_decisions *d, struct decide_side *sides, int n);
