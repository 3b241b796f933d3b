/* NCCL's own choices: its search and cost model on the profile's topology, under the profile's settings. */
#include "envgen/explain/explain_internal.h"

#include <string.h>

#include "core/coll.h"
#include "core/json.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/decide/decide.h"
#include "model/model.h"

/* Why there is no choice of NCCL's for a collective that is modelled. */
static const char *no_choice(int coll)
{
    return coll < COLL_COUNT ? "NCCL has no algorithm for this call"
                             : "NCCL builds it of sends and receives, without a choice";
}

/* A shape of job that was asked for; `model` NULL: `why`. */
struct believed {
    int nodes, ranks;
    const struct model *model;
    const char *why;
};

struct explain_model {
    struct arena *arena;
    struct topology *topology;
    struct nccl_setup setup;
    const char *silent; /* why nothing can be said; NULL */
    struct believed *shapes;
    int nshapes;
};

struct explain_model *explain_model_new(const struct env_profile *p, int nccl)
{
    struct arena *a = arena_new();
    struct explain_model *m = ARENA_NEW(a, struct explain_model);
    struct err e = {0};
    m->arena = a;
    m->topology = topo_load(arena_printf(a, "%s/topology.json", p->dir), &e);
    if (!m->topology)
        m->silent = arena_strdup(a, e.text);
    else if (env_model_setup(p->decisions, m->topology, nccl, ENV_UNDER_SETTINGS, a, &m->setup))
        m->silent = "the topology has no GPU";
    return m;
}

void explain_model_free(struct explain_model *m)
{
    if (!m)
        return;
    topo_free(m->topology);
    arena_free(m->arena);
}

int explain_model_speaks(const struct explain_model *m)
{
    return !m->silent;
}

int explain_model_knows(const struct env_shape *s)
{
    return !strcmp(bench_family_of(s->engine), BENCH_FAMILY_NCCL);
}

int explain_matches(const struct env_shape *s, const struct env_question *q)
{
    return (!q->nodes || s->nodes == q->nodes) && (!q->ranks || s->ranks == q->ranks);
}

int explain_model_shapes(const struct explain_model *m, const struct env_decisions *d, const struct env_question *q,
                         struct explain_shape *out)
{
    int n = 0;
    for (int i = 0, k; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        for (k = 0; k < n && (out[k].nodes != s->nodes || out[k].ranks != s->ranks);)
            k++;
        if (k == n && explain_model_knows(s) && explain_matches(s, q))
            out[n++] = (struct explain_shape){s->nodes, s->ranks};
    }
    if (n || m->silent)
        return n;
    int gpus = m->topology->classes[m->setup.class_index].ngpus;
    int nodes = q->nodes ? q->nodes : topo_class_hosts(m->topology, m->setup.class_index);
    if (!q->nodes && q->ranks)
        nodes = q->ranks < gpus ? 1 : q->ranks / gpus;
    int64_t ranks = q->ranks ? q->ranks : (int64_t)nodes * gpus;
    *out = (struct explain_shape){nodes, (int)ranks};
    return ranks <= INT32_MAX;
}

static struct believed *believe(struct explain_model *m, int nodes, int ranks)
{
    struct err e = {0};
    for (int i = 0; i < m->nshapes; i++)
        if (m->shapes[i].nodes == nodes && m->shapes[i].ranks == ranks)
            return &m->shapes[i];
    m->shapes = arena_grow(m->arena, m->shapes, (size_t)m->nshapes, sizeof *m->shapes);
    struct believed *b = &m->shapes[m->nshapes++];
    *b = (struct believed){.nodes = nodes, .ranks = ranks, .why = m->silent};
    if (!b->why && (nodes < 1 || ranks % nodes))
        b->why = "it takes as many ranks on every node";
    if (b->why)
        return b;
    struct model_setup s = {.nccl = m->setup};
    s.nccl.nodes = nodes;
    s.nccl.ranks_per_node = ranks / nodes;
    b->model = model_new(&s, m->arena, &e);
    if (!b->model)
        b->why = arena_strdup(m->arena, e.text);
    return b;
}

static const char *cell(struct arena *a, const struct nccl_choice *c)
{
    return arena_printf(a, "%s/%s", algo_name(c->algo), proto_name(c->proto));
}

const char *explain_model_library(const struct explain_model *m)
{
    const struct topology *t = m->silent ? NULL : m->topology;
    return t && t->classes[m->setup.class_index].gpus[0].arch ? "RCCL" : "NCCL";
}

static const char *release(struct explain_model *m, const struct believed *b)
{
    char text[ENV_VERSION];
    return arena_strdup(m->arena, env_version_text(text, b->model->nccl->version));
}

void explain_model_call(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks, FILE *out)
{
    struct believed *b = believe(m, nodes, ranks);
    struct nccl_choice c;
    const char *library = explain_model_library(m);
    fprintf(out, "\n%s's own choice on %d node%s, %d ranks\n", library, nodes, nodes == 1 ? "" : "s", ranks);
    if (!b->model) {
        fprintf(out, "  model: %s's own choice is not known: %s\n", library, env_comment(m->arena, b->why));
        return;
    }
    if (nccl_model_choose(b->model->nccl, coll, bytes, &c)) {
        fprintf(out, "  model: %s\n", no_choice(coll));
        return;
    }
    fprintf(out,
            "  model: %s %s by itself would choose %s with %d channel%s (%d threads a block); its own estimate is "
            "%.1f us\n",
            library, release(m, b), cell(m->arena, &c), c.used, c.used == 1 ? "" : "s", c.threads, c.us);
    if (c.taken_by)
        fprintf(out, "    %s's kernels make calls of this size, not %s's own: the model does not know their time\n",
                c.taken_by, library);
    if (b->model->nccl->assumed)
        fprintf(out, "    assumed: %s\n", env_comment(m->arena, b->model->nccl->assumed));
}

const char *explain_model_cell(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks)
{
    struct believed *b = believe(m, nodes, ranks);
    struct nccl_choice c;
    return b->model && !nccl_model_choose(b->model->nccl, coll, bytes, &c) ? cell(m->arena, &c) : NULL;
}

const char *explain_model_range(struct explain_model *m, const struct env_shape *s, int coll, const struct env_range *r)
{
    const char *text = NULL, *last = "";
    for (int i = 0; i < r->npoints; i++) {
        const char *now = explain_model_cell(m, coll, r->points[i].bytes, s->nodes, s->ranks);
        if (now && strcmp(now, last) != 0)
            text = text ? arena_printf(m->arena, "%s, %s", text, now) : now;
        last = now ? now : last;
    }
    return text;
}

cJSON *explain_model_json(struct explain_model *m, int coll, uint64_t bytes, int nodes, int ranks)
{
    struct believed *b = believe(m, nodes, ranks);
    cJSON *o = cJSON_CreateObject();
    struct nccl_choice c;
    cJSON_AddNumberToObject(o, "nodes", nodes);
    cJSON_AddNumberToObject(o, "ranks", ranks);
    if (!b->model || nccl_model_choose(b->model->nccl, coll, bytes, &c)) {
        json_add_str(o, "why", b->model ? no_choice(coll) : b->why);
        return o;
    }
    json_add_str(o, "nccl", release(m, b));
    json_add_str(o, "algorithm", algo_name(c.algo));
    json_add_str(o, "protocol", proto_name(c.proto));
    cJSON_AddNumberToObject(o, "channels", c.used);
    cJSON_AddNumberToObject(o, "channels_at_most", c.channels);
    cJSON_AddNumberToObject(o, "threads", c.threads);
    cJSON_AddNumberToObject(o, "estimate_us", c.us);
    json_add_str(o, "taken_by", c.taken_by);
    json_add_str(o, "assumed", b->model->nccl->assumed);
    return o;
}
