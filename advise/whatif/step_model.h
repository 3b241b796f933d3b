/* Predicted times for a step, where nothing was measured; private to advise/whatif/. */
#pragma once

#include "advise/whatif/step.h"
#include "model/model.h"
#include "probe/topology/topology.h"

struct step_model {
    struct step_predictor predictor;
    const char **assumptions; /* about the hardware so far, a sentence each */
    int nassumptions;
    int unvalidated; /* some prediction lies beyond what the model was held against */

    struct arena *arena;          /* the rest is step_model.c's */
    struct model_setup setups[2]; /* untouched, tuned */
    struct step_prepared **shapes;
    int nshapes;
};

/* NULL: the topology has no GPU. Everything in `a`; decisions and topology must live as long. */
struct step_model *step_model_new(const struct env_decisions *d, const struct topology *t, int nccl, struct arena *a);

/* The same without a profile: `before` stands for nothing set, `after` for tuned. Only their topology, settings and
 * factors count; both must live as long. */
struct step_model *step_model_between(const struct model_setup *before, const struct model_setup *after,
                                      struct arena *a);
