/* The model's constants fitted anew without a machine: what a machine that is in no table should expect. */
#pragma once

#include "tests/lib/published.h"

/* After published_read: fits the constants to all results but those whose `kin` is `of` (NULL: to all), and makes the
 * models of these anew, in `a`, with them; what nothing else has is doubted as what follows relatives. refit_committed
 * brings committed constants, doubts and models back. A fifth of a second. */
void refit_without(enum published_kin kin, const char *of, struct arena *a);
void refit_committed(void);

/* Estimates model_doubts from `predicted`, a time for every published row, each by a fit without its kin (us 0: none):
 * variance components by maximum likelihood, machines counting alike, without those whose `kin` is `of`. What follows
 * relatives or is assumed keeps its quotient to the rest. To be called before refit_without. */
void refit_doubts(const struct model_time *predicted, enum published_kin kin, const char *of);

/* Every constant, a line each: committed, where the fit starts, fitted last, the quotient of the first and the third,
 * and the factor that it is uncertain by, from all fits without a machine so far (jackknife; nothing below two). */
void refit_print(void);
