/* Answers from a profile, for programs: the decisions less what was not asked for. */
#include <string.h>

#include "core/coll.h"
#include "core/json.h"
#include "envgen/decide/decide.h"
#include "envgen/explain/explain.h"
#include "envgen/explain/explain_internal.h"
#include "envgen/profile/decisions.h"

static void keep_setting(struct env_decisions *d, const struct env_decisions *all, const char *name)
{
    if (!strncmp(name, "OMPI_MCA_", 9))
        name += 9;
    d->nshapes = 0;
    d->settings = env_find_setting(all, name);
    d->nsettings = d->settings != NULL;
}

/* A point with the candidates that are worth telling. */
static struct env_point *copy_point(struct arena *a, const struct env_point *p)
{
    const struct env_option **sorted = arena_alloc(a, ((size_t)p->noptions + 1) * sizeof(struct env_option *));
    struct env_point *out = ARENA_NEW(a, struct env_point);
    *out = *p;
    out->noptions = explain_told(p, sorted);
    out->options = arena_alloc(a, ((size_t)out->noptions + 1) * sizeof *out->options);
    out->chosen = out->fallback = -1;
    for (int i = 0; i < out->noptions; i++) {
        out->options[i] = *sorted[i];
        if (sorted[i] - p->options == p->chosen)
            out->chosen = i;
        if (sorted[i] - p->options == p->fallback)
            out->fallback = i;
    }
    return out;
}

/* Of a shape: the one collective, of that the one range, of that the nearest size; and the launch that is used. */
static struct env_shape narrow(struct arena *a, const struct env_shape *s, const struct env_question *q)
{
    struct env_shape out = *s;
    const struct env_range *r = env_range_at(s, q->coll, q->bytes);
    const struct env_point *nearest = r ? explain_nearest(r, q->bytes) : NULL;
    out.ncolls = r != NULL;
    out.colls = ARENA_NEW(a, struct env_coll);
    if (r) {
        struct env_range *one = ARENA_NEW(a, struct env_range);
        *one = *r;
        one->points = nearest ? copy_point(a, nearest) : NULL;
        one->npoints = nearest != NULL;
        *out.colls = (struct env_coll){q->coll, one, 1};
    }
    out.launches += s->chosen > 0 ? s->chosen : 0;
    out.nlaunches = s->chosen >= 0;
    out.chosen = s->chosen >= 0 ? 0 : -1;
    return out;
}

static void keep_call(struct env_decisions *d, const struct env_decisions *all, const struct env_question *q)
{
    d->nsettings = d->nshapes = 0;
    d->shapes = arena_alloc(d->arena, ((size_t)all->nshapes + 1) * sizeof *d->shapes);
    for (int i = 0; i < all->nshapes; i++)
        if (explain_matches(&all->shapes[i], q))
            d->shapes[d->nshapes++] = narrow(d->arena, &all->shapes[i], q);
}

/* ---- NCCL's own choices ------------------------------------------------------------------------------------------ */

static void add_call_model(cJSON *array, struct explain_model *m, const struct env_decisions *kept,
                           const struct env_question *q)
{
    struct explain_shape *own = arena_alloc(kept->arena, ((size_t)kept->nshapes + 1) * sizeof *own);
    for (int i = 0, n = explain_model_shapes(m, kept, q, own); i < n; i++)
        cJSON_AddItemToArray(array, explain_model_json(m, q->coll, q->bytes, own[i].nodes, own[i].ranks));
}

static void add_range_model(cJSON *array, struct explain_model *m, const struct env_shape *s, int coll,
                            const struct env_range *r)
{
    const char *own = r->call.nsettings && explain_model_knows(s) ? explain_model_range(m, s, coll, r) : NULL;
    if (!own)
        return;
    cJSON *o = json_append(array);
    cJSON_AddNumberToObject(o, "nodes", s->nodes);
    cJSON_AddNumberToObject(o, "ranks", s->ranks);
    json_add_str(o, "collective", coll_name(coll));
    cJSON_AddNumberToObject(o, "min_bytes", (double)r->min_bytes);
    if (r->max_bytes != ENV_OPEN)
        cJSON_AddNumberToObject(o, "max_bytes", (double)r->max_bytes);
    json_add_str(o, "profile", r->call.label);
    json_add_str(o, "nccl_would", own);
}

/* For a call what NCCL would choose, for the whole where that is not what the profile makes it do. */
static void add_model(cJSON *doc, const struct env_profile *p, const struct env_decisions *kept,
                      const struct env_question *q)
{
    struct explain_model *m = explain_model_new(p, q->nccl);
    cJSON *array = cJSON_AddArrayToObject(doc, "model");
    if (q->coll >= 0)
        add_call_model(array, m, kept, q);
    for (int i = 0; i < kept->nshapes && q->coll < 0; i++)
        for (int c = 0; c < kept->shapes[i].ncolls; c++)
            for (int r = 0; r < kept->shapes[i].colls[c].nranges; r++)
                add_range_model(array, m, &kept->shapes[i], kept->shapes[i].colls[c].coll,
                                &kept->shapes[i].colls[c].ranges[r]);
    explain_model_free(m);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static int add_rules(cJSON *doc, const struct env_profile *p, const struct env_decisions *kept,
                     const struct env_question *q, struct err *e)
{
    struct env_rules rules;
    int rc = env_rules_of(p->decisions, &rules, e);
    cJSON *array = cJSON_AddArrayToObject(doc, "rules");
    for (int i = 0; i < kept->nshapes && !rc; i++) {
        const char *name = NULL;
        const struct env_rule *rule = env_rules_find(&rules, q->coll, kept->shapes[i].ranks, q->bytes, &name);
        if (!rule || !rule->algorithm || strcmp(bench_family_of(kept->shapes[i].engine), BENCH_FAMILY_OPENMPI) != 0)
            continue;
        cJSON *o = json_append(array);
        json_add_str(o, "file", "openmpi.rules");
        json_add_str(o, "collective", name);
        cJSON_AddNumberToObject(o, "ranks", kept->shapes[i].ranks);
        cJSON_AddNumberToObject(o, "min_bytes", (double)rule->min_bytes);
        cJSON_AddNumberToObject(o, "algorithm", (double)rule->algorithm);
        cJSON_AddNumberToObject(o, "fanout", (double)rule->fanout);
        cJSON_AddNumberToObject(o, "segment_bytes", (double)rule->segment_bytes);
    }
    return rc;
}

/* What a hot rank costs, by shape. */
static void add_skew(cJSON *doc, const struct env_profile *p, const struct env_question *q)
{
    cJSON *array = cJSON_AddArrayToObject(doc, "skew");
    for (int i = 0; i < p->decisions->nshapes; i++) {
        const struct env_shape *s = &p->decisions->shapes[i];
        double even_us = 0, times = explain_matches(s, q) ? explain_skew(s, q->bytes, &even_us) : 0;
        if (!(times > 0))
            continue;
        cJSON *o = cJSON_CreateObject();
        json_add_str(o, "shape", bench_shape_text(&(struct bench_shape){s->nodes, s->ranks, s->others}, p->arena));
        cJSON_AddNumberToObject(o, "even_us", even_us);
        cJSON_AddNumberToObject(o, "times_as_long", times);
        cJSON_AddItemToArray(array, o);
    }
}

cJSON *env_explain_json(const struct env_profile *p, const struct env_question *q, struct err *e)
{
    struct env_decisions kept = *p->decisions;
    if (q->variable)
        keep_setting(&kept, p->decisions, q->variable);
    else if (q->coll >= 0)
        keep_call(&kept, p->decisions, q);
    cJSON *doc = env_decisions_json(&kept);
    json_add_str(doc, "dir", p->dir);
    json_add_str(doc, "hash", p->manifest.hash);
    if (!q->variable)
        add_model(doc, p, &kept, q);
    if (q->variable)
        cJSON_AddItemToObject(doc, "catalogue", explain_catalogued_json(p->decisions, q));
    if (!q->variable && q->coll >= 0)
        cJSON_AddItemToObject(doc, "tuner", explain_rules_json(p, q));
    if (!q->variable && q->coll == COLL_ALLTOALLV)
        add_skew(doc, p, q);
    if (!q->variable && q->coll >= 0 && add_rules(doc, p, &kept, q, e)) {
        cJSON_Delete(doc);
        return NULL;
    }
    return doc;
}
