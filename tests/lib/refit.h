/* The model's constants fitted anew without a machine: what a machine that is in no table should expect. */
#pragma once

#include "model/model.h"

/* After published_read: fits the constants to all results but those of `machine` (NULL: to all), and makes the models
 * of its runs anew, in `a`, with them; what no other machine has is doubted as what follows relatives. refit_committed
 * brings committed constants and models back. Half a second. */
void refit_without(const char *machine, struct arena *a);
void refit_committed(void);

/* Every constant, a line each: committed, where the fit starts, fitted last, the quotient of the first and the third,
 * and the factor that it is uncertain by, from all fits without a machine so far (jackknife; nothing below two). */
void refit_print(void);
