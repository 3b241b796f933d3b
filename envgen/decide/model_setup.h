/* Whom the models are asked about: the nodes of a profile's topology, with or without what the profile sets. */
#ifndef ENVGEN_DECIDE_MODEL_SETUP_H
#define ENVGEN_DECIDE_MODEL_SETUP_H

#include "bench/predict/nccl/model.h"
#include "envgen/profile/decisions.h"

enum env_under {
    ENV_UNDER_NOTHING,  /* the library as it comes */
    ENV_UNDER_SETTINGS, /* what the profile sets */
    ENV_UNDER_CHOICES,  /* and the launch that was only predicted to be better */
};

/* Fills `s` but its nodes and ranks: the class with GPUs that most hosts belong to, NCCL `nccl` (0: the newest that the
 * profile is for). Settings that the model is silent on are left out. -1: the topology has no GPU. */
int env_model_setup(const struct env_decisions *d, const struct topology *t, int nccl, enum env_under under,
                    struct arena *a, struct nccl_setup *s);

#endif
