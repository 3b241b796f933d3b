/* Whether a choice holds for larger sizes than were measured. */
#pragma once

#include "envgen/profile/decisions.h"

/* Whether the choice at the last of `n` points, ascending, of one collective may go on without end: through the three
 * largest sizes, each twice the one before or more, time has to be a straight line in the size for it and for the
 * default, by their intervals, and so much steeper for the default that the gain clears the margin however large the
 * size gets; and its interval must show a gain at the last two of them, at the last one no less than before. No other
 * call that was measured may be less steep by the margin either: NCCL may turn to it by itself. What there was no time
 * for in this launch is judged by `untouched`, the same sizes in the untouched one (NULL: this is it). The default
 * always goes on. */
int decide_goes_on(const struct env_point *points, const struct env_point *untouched, int n, double margin);
