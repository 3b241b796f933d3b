/* A step under a finished profile, or under two setups: its decisions, and where they say nothing predictions, with one
 * prepared model per shape of group, with nothing set and under the profile. */
#include "advise/whatif/step.h"

#include <string.h>

#include "envgen/decide/decide.h"
#include "envgen/predict/predict.h"

/* ---- predictions ---- */

struct step_prepared {
    int nodes, per_node, tuned;
    struct model *model; /* NULL: `why` */
    const char *why;
};

struct step_model {
    struct step_predictor predictor;
    struct arena *arena;
    struct model_setup setups[2]; /* untouched, tuned */
    struct step_prepared **shapes;
    int nshapes;
};

static void add_assumptions(struct step_model *m, const struct model *model)
{
    const char *const *list = model->assumptions;
    struct step_predictor *p = &m->predictor;
    for (int i = 0; i < model->nassumptions; i++) {
        int known = 0;
        for (int k = 0; k < p->nassumptions; k++)
            known |= !strcmp(p->assumptions[k], list[i]);
        if (!known)
            ARENA_ADD(m->arena, p->assumptions, p->nassumptions) = arena_strdup(m->arena, list[i]);
    }
}

static const struct step_prepared *prepare(struct step_model *m, int nodes, int per_node, int tuned)
{
    struct err e = {0};
    for (int i = 0; i < m->nshapes; i++)
        if (m->shapes[i]->nodes == nodes && m->shapes[i]->per_node == per_node && m->shapes[i]->tuned == tuned)
            return m->shapes[i];
    struct step_prepared *p = ARENA_NEW(m->arena, struct step_prepared);
    struct model_setup *s = ARENA_NEW(m->arena, struct model_setup);
    *s = m->setups[tuned];
    s->nccl.nodes = nodes;
    s->nccl.ranks_per_node = per_node;
    s->others = -1; /* a job's groups of a kind all call at the same time */
    *p = (struct step_prepared){nodes, per_node, tuned, model_new(s, m->arena, &e), NULL};
    if (p->model)
        add_assumptions(m, p->model);
    else
        p->why = arena_strdup(m->arena, e.text);
    ARENA_ADD(m->arena, m->shapes, m->nshapes) = p;
    return p;
}

/* A message is what an AllToAll between two ranks sends each way: half of its buffer. */
static struct step_question as_collective(const struct step_question *q)
{
    struct step_question pair = *q;
    if (q->kind != COLL_SENDRECV)
        return pair;
    pair.kind = COLL_ALLTOALL;
    pair.bytes = 2 * q->bytes;
    pair.nodes = q->nodes > 1 ? 2 : 1;
    pair.ranks = 2;
    return pair;
}

static struct model_call call_of(const struct step_question *q)
{
    struct model_call c = {.coll = q->kind, .bytes = q->bytes, .algo = -1, .proto = -1};
    if (q->rule && q->rule->algorithm >= 0 && q->rule->protocol >= 0) {
        c.algo = q->rule->algorithm;
        c.proto = q->rule->protocol;
        c.channels = q->rule->channels > 0 ? (int)q->rule->channels : 0;
    }
    return c;
}

static int predict(void *arg, const struct step_question *asked, struct step_time *t, const char **why)
{
    struct step_model *m = arg;
    const struct step_question q = as_collective(asked);
    struct model_time time;
    if (q.ranks % q.nodes) {
        *why = "its groups do not have as many ranks on every node, which the model takes for granted";
        return -1;
    }
    const struct step_prepared *p = prepare(m, q.nodes, q.ranks / q.nodes, q.tuned);
    if (!p->model) {
        *why = p->why;
        return -1;
    }
    struct model_call c = call_of(&q);
    if (model_predict(p->model, &c, &time)) {
        *why = "NCCL does not offer it here";
        return -1;
    }
    m->predictor.unvalidated |= time.unvalidated;
    *t = (struct step_time){time.us, time.low_us, time.high_us};
    *why = arena_strdup(m->arena, time.limit);
    return 0;
}

static struct step_predictor *predict_between(const struct model_setup *before, const struct model_setup *after,
                                              struct arena *a)
{
    struct step_model *m = ARENA_NEW(a, struct step_model);
    *m = (struct step_model){.predictor = {predict, m}, .arena = a, .setups = {*before, *after}};
    return &m->predictor;
}

struct step_predictor *step_predictor_new(const struct env_decisions *d, const struct topology *t, int nccl,
                                          struct arena *a)
{
    struct model_setup setups[2] = {0};
    if (env_model_setup(d, t, nccl, ENV_UNDER_NOTHING, a, &setups[0].nccl) ||
        env_model_setup(d, t, nccl, ENV_UNDER_CHOICES, a, &setups[1].nccl))
        return NULL;
    return predict_between(&setups[0], &setups[1], a);
}

/* ---- steps ---- */

int env_step_of_profile(const struct env_profile *p, const struct workload *w, int nccl, struct arena *a,
                        struct step_estimate *out, struct err *e)
{
    struct topology *t = topo_load(arena_printf(a, "%s/topology.json", p->dir), e);
    struct step_input in = {w, p->decisions, t ? step_predictor_new(p->decisions, t, nccl, a) : NULL};
    int rc = t ? env_step_of(&in, a, out, e) : e->code;
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
    int rc = env_step_of(&(struct step_input){w, nothing, predict_between(before, after, a)}, a, out, e);
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
