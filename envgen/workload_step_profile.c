/* A step under a finished profile: its decisions, and predictions on its topology where they say nothing. */
#include "envgen/workload_step_profile.h"

int env_step_of_profile(const struct env_profile *p, const struct workload *w, int nccl, struct arena *a,
                        struct step_estimate *out, struct err *e)
{
    const struct step_input in = {.workload = w, .decisions = p->decisions};
    (void)nccl;
    return env_step_of(&in, a, out, e);
}
