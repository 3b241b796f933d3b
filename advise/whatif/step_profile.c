/* A step under a finished profile: its decisions, and predictions on its topology where they say nothing. */
#include "advise/whatif/step_profile.h"

#include "advise/whatif/step_model.h"

/* `m` NULL: nothing is predicted. */
static int estimate(const struct env_decisions *d, const struct workload *w, struct step_model *m, struct arena *a,
                    struct step_estimate *out, struct err *e)
{
    const struct step_input in = {w, d, m ? &m->predictor : NULL};
    int rc = env_step_of(&in, a, out, e);
    if (rc || !m)
        return rc;
    out->assumptions = m->assumptions;
    out->nassumptions = m->nassumptions;
    out->unvalidated = m->unvalidated;
    return 0;
}

int env_step_of_profile(const struct env_profile *p, const struct workload *w, int nccl, struct arena *a,
                        struct step_estimate *out, struct err *e)
{
    struct topology *t = topo_load(arena_printf(a, "%s/topology.json", p->dir), e);
    int rc = t ? estimate(p->decisions, w, step_model_new(p->decisions, t, nccl, a), a, out, e) : e->code;
    topo_free(t);
    return rc;
}

struct under_profile {
    const struct env_profile *profile;
    int nccl;
    struct arena *arena;
};

static int under_profile(void *arg, const struct workload *w, struct step_estimate *out, struct err *e)
{
    const struct under_profile *u = arg;
    return env_step_of_profile(u->profile, w, u->nccl, u->arena, out, e);
}

int env_step_changes(const struct env_profile *p, int nccl, const struct step_estimate *s, struct step_changes *out,
                     struct err *e)
{
    struct under_profile u = {p, nccl, s->arena};
    *out = (struct step_changes){.arena = s->arena};
    step_changes_add(out, "this profile", step_time_less(&s->now.waits, &s->tuned.waits));
    return step_changes_of_job(out, s, under_profile, &u, e);
}

int env_step_between(const struct model_setup *before, const struct model_setup *after, const struct workload *w,
                     struct arena *a, struct step_estimate *out, struct err *e)
{
    struct env_decisions *nothing = env_decisions_new(ENV_MARGIN);
    int rc = estimate(nothing, w, step_model_between(before, after, a), a, out, e);
    env_decisions_free(nothing);
    return rc;
}

int env_step_cover_job(const struct env_profile *p, const char *workload, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    struct workload *w = workload_load(workload, e);
    struct step_estimate s;
    int rc = w ? env_step_of_profile(p, w, 0, a, &s, e) : e->code;
    if (!rc)
        env_step_print_cover(&s, out);
    workload_free(w);
    arena_free(a);
    return rc;
}
