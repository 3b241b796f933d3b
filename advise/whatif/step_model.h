/* Predicted times for a step, where nothing was measured; private to advise/whatif/. */
#pragma once

#include "advise/whatif/step.h"
#include "model/model.h"
#include "probe/topology/topology.h"

struct step_model;

/* NULL: the topology has no GPU. Everything in `a`; decisions and topology must live as long. */
struct step_model *step_model_new(const struct env_decisions *d, const struct topology *t, int nccl, struct arena *a);

/* The same without a profile: `before` stands for nothing set, `after` for tuned. Only their topology, settings and
 * factors count; both must live as long. */
struct step_model *step_model_between(const struct model_setup *before, const struct model_setup *after,
                                      struct arena *a);

/* The predictor with it. */
struct step_predictor step_model_predictor(struct step_model *m);

/* Assumptions about the hardware so far, a sentence each, and whether some prediction lies beyond what the model
 * was held against. */
const char *const *step_model_assumptions(const struct step_model *m, int *n);
int step_model_unvalidated(const struct step_model *m);
