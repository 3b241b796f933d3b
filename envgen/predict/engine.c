/* The model engine: NCCL's own choices are predicted as the default, what a tuner and the environment can change as
 * candidates. */
#include "envgen/predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/candidates/candidates.h"
#include "bench/candidates/engine.h"
#include "bench/engines/engines.h"
#include "core/coll.h"

/* A launch of groups of a shape, prepared when it is first asked for. */
struct prepared {
    int nodes, per_node, others;
    const char *launch; /* label */
    struct model *model;
};

struct model_options {
    const char *calibration; /* a file; NULL: none */
    enum model_launcher launcher;
};

const char *predict_launcher_word(int i)
{
    static const char *const words[] = {"unknown", "process", "node", "graph", NULL};
    return words[i];
}

static const struct option_spec model_options[] = {
    PREDICT_LAUNCH_OPTION(struct model_options, launcher),
    {0, "calibration", "FILE", "fit predictions to a journal of NCCL on such nodes", option_text,
     offsetof(struct model_options, calibration)},
    {0},
};

struct context {
    struct arena *arena;
    struct model_fit fit;
    struct model_setup setup; /* of the baseline launch, less the nodes */
    struct prepared *prepared;
    int nprepared;
    int parts; /* that NCCL counts as nodes of each node */
};

static struct model *prepare(struct context *c, int nodes, int per_node, int others, const struct bench_knobs *launch,
                             struct err *e)
{
    for (int i = 0; i < c->nprepared; i++) {
        const struct prepared *p = &c->prepared[i];
        if (p->nodes == nodes && p->per_node == per_node && p->others == others && !strcmp(p->launch, launch->label))
            return p->model;
    }
    struct model_setup *s = ARENA_NEW(c->arena, struct model_setup);
    *s = c->setup;
    s->nccl.nodes = nodes;
    s->nccl.ranks_per_node = per_node;
    s->others = others;
    struct model *m = model_apply(launch, &s->nccl, c->arena) ? NULL : model_new(s, c->arena, e);
    ARENA_ADD(c->arena, c->prepared, c->nprepared) = (struct prepared){nodes, per_node, others, launch->label, m};
    return m;
}

/* ---- the plan ---- */

static int find_class(const struct topology *t, struct model_setup *s, struct log *log, struct err *e)
{
    if (!t)
        return err_set(e, ERR_USAGE, "the model engine needs a topology");
    s->nccl.topology = t;
    s->nccl.class_index = topo_gpu_class(t);
    if (s->nccl.class_index < 0)
        return err_set(e, ERR_FAILED, "%s: no node has a GPU: nothing to predict",
                       t->source ? t->source : "the topology");
    if (t->nclasses > 1)
        log_warn(log, "the nodes are not all alike: predicted for nodes of %s only",
                 t->classes[s->nccl.class_index].name);
    return 0;
}

/* Launches that the model is silent on, or that this machine cannot have, are not candidates of this engine. What is
 * tried beside the best launch is about queue pairs, of which the model knows nothing. */
static void keep_known(struct context *c, struct bench_plan *p)
{
    int kept = 1;
    for (int i = 1; i < p->nlaunches; i++) {
        int known = 1;
        for (int n = 0; n < p->nnodes && known; n++)
            known = prepare(c, p->nodes[n], p->ranks_per_node, 0, &p->launches[i], NULL) != NULL;
        if (known)
            p->launches[kept++] = p->launches[i];
    }
    p->nlaunches = kept;
    p->nbeside = 0;
}

static void log_assumptions(const struct context *c, const struct model *m, const char *library, struct log *log)
{
    log_info(log, "nothing is measured: %s on %s", library,
             c->setup.nccl.topology->source ? c->setup.nccl.topology->source : "this topology");
    for (int i = 0; i < m->nassumptions; i++)
        log_warn(log, "assumed: %s", m->assumptions[i]);
}

/* From here on nodes are what NCCL takes for such, as in every journal: by them it asks a tuner. Hosts of one NVLink
 * domain stay hosts. */
static void count_as_nccl(struct context *c, struct bench_plan *p, const struct model *m)
{
    int *nodes = arena_alloc(c->arena, (size_t)p->nnodes * sizeof *nodes);
    c->parts = m->nccl->nodes > m->nccl->setup.nodes ? m->nccl->nodes / m->nccl->setup.nodes : 1;
    for (int i = 0; i < p->nnodes; i++)
        nodes[i] = p->nodes[i] * c->parts;
    p->nodes = nodes;
    p->ranks_per_node /= c->parts;
}

static int plan_predictions(const struct bench_setup *setup, struct arena *a, struct bench_plan *p, struct err *e)
{
    struct context *c = ARENA_NEW(a, struct context);
    const struct model_options *own = setup->own;
    int *hosts = ARENA_NEW(a, int);
    memset(p, 0, sizeof *p);
    p->context = c;
    p->library = "NCCL";
    c->arena = a;
    c->setup.nccl.version = setup->nccl_version;
    c->setup.nccl.ranks_per_node = setup->ranks_per_node;
    c->setup.launcher = own ? own->launcher : MODEL_LAUNCH_UNKNOWN;
    int rc = find_class(setup->topology, &c->setup, setup->log, e);
    if (!rc && own && own->calibration)
        rc = calibration_load(own->calibration, &c->setup, &c->fit, setup->log, e);
    if (rc)
        return rc;
    *hosts = topo_class_hosts(setup->topology, c->setup.nccl.class_index);
    p->nodes = setup->nnodes ? setup->nodes : hosts;
    p->nnodes = setup->nnodes ? setup->nnodes : 1;
    nccl_plan_calls(p, a, 0);
    nccl_plan_launches(setup, p->nodes[p->nnodes - 1], p, a);
    p->ranks_per_node = setup->ranks_per_node ? setup->ranks_per_node
                                              : c->setup.nccl.topology->classes[c->setup.nccl.class_index].ngpus;
    const struct model *m;
    int i = 0;
    do {
        m = prepare(c, p->nodes[i], p->ranks_per_node, 0, &p->launches[0], e);
        if (!m)
            return e && e->code ? e->code : ERR_FAILED;
    } while (++i < p->nnodes);
    p->library = arena_printf(a, "%s, predicted", m->library);
    keep_known(c, p);
    log_assumptions(c, m, p->library, setup->log);
    count_as_nccl(c, p, m);
    return 0;
}

/* ---- a prediction ---- */

static int predict_call(struct bench_plan *p, const struct known_place *at, const struct bench_knobs *launch,
                        const struct bench_knobs *call, struct bench_prediction *g)
{
    struct context *c = p->context;
    int per_node = at->ranks / at->nodes, whole = at->nodes % c->parts == 0 && per_node == p->ranks_per_node,
        parts = whole ? c->parts : 1; /* else of groups within parts */
    const struct model *m = prepare(c, at->nodes / parts, per_node * parts, at->others, launch, NULL);
    struct nccl_requested requested = nccl_requested_of(call);
    struct model_call asked = {at->coll, at->bytes, requested.algo, requested.proto, requested.channels};
    struct model_time t;
    if (!m || requested.chunk_bytes || model_predict(m, &asked, &t))
        return -1;
    g->us = t.us;
    g->low_us = t.low_us;
    g->high_us = t.high_us;
    g->doubt = t.doubt;
    snprintf(g->detail, sizeof g->detail, "%s%s%s", *t.limit ? "bound by " : "", t.limit,
             t.unvalidated ? ", unvalidated: no published results to compare" : "");
    return 0;
}

static const struct bench_predict_ops ops = {plan_predictions, predict_call};

const struct bench_engine bench_engine_model = {
    .name = BENCH_PREDICTING,
    .description = "predictions from a topology, nothing is measured",
    .evidence = BENCH_PREDICTED,
    .family = BENCH_FAMILY_NCCL,
    .most_bytes = BENCH_MOST_BYTES,
    .options = model_options,
    .options_title = "Predictions (--engine model)",
    .options_bytes = sizeof(struct model_options),
    .predicts = &ops,
};
