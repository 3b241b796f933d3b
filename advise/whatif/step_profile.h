/* A step under a finished profile, or under two setups of the model. */
#pragma once

#include "advise/whatif/changes.h"
#include "envgen/profile/profile.h"
#include "model/model.h"

/* Predicted times, where nothing was measured. */
struct step_model {
    struct step_predictor predictor;
    const char **assumptions; /* about the hardware so far, a sentence each */
    int nassumptions;
    int unvalidated; /* some prediction lies beyond what the model was held against */

    struct arena *arena;          /* the rest is step_profile.c's */
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

/* env_step_of with the profile's decisions, and with a predictor for NCCL `nccl` (0: the newest that the profile is
 * for) where its topology has GPUs. Everything in `a`; `p` and `w` must live as long. Error: a topology that cannot be
 * read, decisions that a tuner cannot express. */
int env_step_of_profile(const struct env_profile *p, const struct workload *w, int nccl, struct arena *a,
                        struct step_estimate *out, struct err *e);

/* The largest savings in the step of env_step_of_profile: the profile itself, and changes of the job. */
int env_step_changes(const struct env_profile *p, int nccl, const struct step_estimate *s, struct step_changes *out,
                     struct err *e);

/* The same by predictions alone: `now` under `before`, `tuned` under `after`. All must live as long as `a`. */
int env_step_between(const struct model_setup *before, const struct model_setup *after, const struct workload *w,
                     struct arena *a, struct step_estimate *out, struct err *e);

/* env_step_print_cover for the job in the file `workload`. */
int env_step_cover_job(const struct env_profile *p, const char *workload, FILE *out, struct err *e);
