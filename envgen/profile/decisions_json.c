/* decisions.json: from the structures to the document. Times are in microseconds. */
#include "core/coll.h"
#include "core/vars/catalogue.h"
#include "envgen/profile/decisions.h"

static void add_interval(cJSON *o, const char *key, struct bench_interval v)
{
    if (v.n <= 0)
        return;
    cJSON *i = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(i, "median", v.median);
    cJSON_AddNumberToObject(i, "low", v.low);
    cJSON_AddNumberToObject(i, "high", v.high);
    cJSON_AddNumberToObject(i, "n", v.n);
    if (v.predicted)
        cJSON_AddBoolToObject(i, "predicted", 1);
    if (v.slowdown > 0)
        cJSON_AddNumberToObject(i, "slowdown", v.slowdown);
}

static void add_knobs(cJSON *o, const struct bench_knobs *k)
{
    json_add_str(o, "label", k->label);
    cJSON *settings = cJSON_AddObjectToObject(o, "settings");
    for (int i = 0; i < k->nsettings; i++)
        json_add_str(settings, k->settings[i].name, k->settings[i].value);
}

static void add_option(cJSON *array, const struct env_option *option)
{
    cJSON *o = json_append(array);
    add_knobs(o, &option->call);
    json_add_str(o, "status", bench_status_name(option->status));
    add_interval(o, "time_us", option->time_us);
    add_interval(o, "gain", option->gain);
    json_add_str(o, "lines", option->lines);
}

static void add_point(cJSON *array, const struct env_point *p)
{
    cJSON *o = json_append(array);
    cJSON_AddNumberToObject(o, "bytes", (double)p->bytes);
    cJSON_AddNumberToObject(o, "default", p->fallback);
    cJSON_AddNumberToObject(o, "chosen", p->chosen);
    cJSON_AddBoolToObject(o, "smoothed", p->smoothed);
    json_add_str(o, "shared", p->shared);
    add_interval(o, "untouched_us", p->untouched_us);
    add_interval(o, "total_gain", p->total_gain);
    cJSON *options = cJSON_AddArrayToObject(o, "candidates");
    for (int i = 0; i < p->noptions; i++)
        add_option(options, &p->options[i]);
}

static void add_range(cJSON *array, const struct env_range *r)
{
    cJSON *o = json_append(array);
    cJSON_AddNumberToObject(o, "min_bytes", (double)r->min_bytes);
    cJSON_AddNumberToObject(o, "max_bytes", r->max_bytes == ENV_OPEN ? -1 : (double)r->max_bytes);
    add_knobs(cJSON_AddObjectToObject(o, "call"), &r->call);
    json_add_str(o, "why", r->why);
    add_interval(o, "gain", r->gain);
    cJSON *points = cJSON_AddArrayToObject(o, "points");
    for (int i = 0; i < r->npoints; i++)
        add_point(points, &r->points[i]);
}

static void add_launch(cJSON *array, const struct env_launch *l)
{
    cJSON *o = json_append(array);
    add_knobs(o, &l->knobs);
    json_add_str(o, "status", bench_status_name(l->status));
    cJSON_AddNumberToObject(o, "points", l->points);
    add_interval(o, "gain", l->gain);
    json_add_str(o, "why", l->why);
}

static void add_shape(cJSON *array, const struct env_shape *s)
{
    cJSON *o = json_append(array);
    json_add_str(o, "engine", s->engine);
    json_add_str(o, "library", s->library);
    json_add_str(o, "evidence", bench_evidence_text(bench_evidence_of(s->engine)));
    json_add_str(o, "buffers", bench_buffers_name(s->buffers));
    json_add_str(o, "active", s->active);
    cJSON_AddNumberToObject(o, "nodes", s->nodes);
    cJSON_AddNumberToObject(o, "ranks", s->ranks);
    if (s->others)
        cJSON_AddNumberToObject(o, "groups", s->others + 1);
    json_add_str(o, "load", bench_load_name(s->load));
    cJSON_AddNumberToObject(o, "chosen", s->chosen);
    json_add_str(o, "why", s->why);
    add_interval(o, "total_gain", s->total_gain);
    cJSON *launches = cJSON_AddArrayToObject(o, "launches");
    for (int i = 0; i < s->nlaunches; i++)
        add_launch(launches, &s->launches[i]);
    cJSON *colls = cJSON_AddArrayToObject(o, "collectives");
    for (int i = 0; i < s->ncolls; i++) {
        cJSON *c = json_append(colls);
        json_add_str(c, "collective", coll_name(s->colls[i].coll));
        cJSON *ranges = cJSON_AddArrayToObject(c, "ranges");
        for (int r = 0; r < s->colls[i].nranges; r++)
            add_range(ranges, &s->colls[i].ranges[r]);
    }
}

static void add_setting(cJSON *array, const struct env_setting *s)
{
    cJSON *o = json_append(array);
    json_add_str(o, "family", s->family);
    json_add_str(o, "name", s->name);
    json_add_str(o, "value", s->value);
    json_add_str(o, "source", s->source);
    json_add_str(o, "why", s->why);
    cJSON_AddBoolToObject(o, "in_profile", s->in_profile);
    if (s->node_class)
        json_add_str(o, "class", s->node_class);
}

static void add_releases(cJSON *doc, const struct env_decisions *d)
{
    char low[ENV_VERSION], high[ENV_VERSION];
    cJSON *o = cJSON_AddObjectToObject(doc, "nccl");
    json_add_str(o, "low", env_version_text(low, d->nccl_low));
    json_add_str(o, "high", env_version_text(high, d->nccl_high));
    json_add_str(o, "source", d->nccl_source);
    cJSON_AddBoolToObject(o, "rccl", d->rccl);
}

static void add_fit(cJSON *doc, const struct model_fit *f)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "model_fit");
    cJSON_AddNumberToObject(o, "results", f->used);
    cJSON_AddNumberToObject(o, "before", f->before);
    cJSON_AddNumberToObject(o, "spread", f->spread);
    if (f->left_out > 0)
        cJSON_AddNumberToObject(o, "left_out", f->left_out);
    cJSON_AddNumberToObject(o, "bounded", f->bounded);
    cJSON *factors = cJSON_AddObjectToObject(o, "factors");
    for (int i = 0; i < MODEL_PARTS; i++)
        cJSON_AddNumberToObject(factors, model_part_name(i), f->factors.time[i]);
    cJSON_AddNumberToObject(o, "rest", f->factors.rest);
}

static void add_extrapolation(cJSON *array, const struct env_extrapolation *r)
{
    cJSON *o = json_append(array);
    json_add_str(o, "collective", coll_name(r->coll));
    cJSON_AddNumberToObject(o, "min_bytes", (double)r->min_bytes);
    cJSON_AddNumberToObject(o, "max_bytes", r->max_bytes == ENV_OPEN ? -1 : (double)r->max_bytes);
    cJSON_AddNumberToObject(o, "nodes_low", r->nodes_low);
    cJSON_AddNumberToObject(o, "nodes_high", r->nodes_high);
    cJSON_AddNumberToObject(o, "ranks_per_node", r->ranks_per_node);
    add_knobs(cJSON_AddObjectToObject(o, "call"), &r->call);
    add_interval(o, "gain", r->gain);
    json_add_str(o, "why", r->why);
}

cJSON *env_decisions_json(const struct env_decisions *d)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", ENV_FORMAT);
    json_add_str(doc, "tool", d->tool);
    json_add_str(doc, "topology", d->topology);
    cJSON_AddNumberToObject(doc, "margin", d->margin);
    cJSON_AddNumberToObject(doc, "confidence", d->confidence);
    json_add_str(doc, "today", d->today);
    if (d->nccl_low)
        add_releases(doc, d);
    cJSON_AddBoolToObject(doc, "predictions_are_set", d->predicted);
    cJSON_AddNumberToObject(doc, "extrapolate_nodes", d->extrapolate_nodes);
    json_add_str(doc, "host_memory", BENCH_HOST_MEMORY);
    cJSON *settings = cJSON_AddArrayToObject(doc, "settings");
    for (int i = 0; i < d->nsettings; i++)
        add_setting(settings, &d->settings[i]);
    cJSON *shapes = cJSON_AddArrayToObject(doc, "shapes");
    for (int i = 0; i < d->nshapes; i++)
        add_shape(shapes, &d->shapes[i]);
    if (!d->fit.used)
        return doc;
    add_fit(doc, &d->fit);
    cJSON *extrapolations = cJSON_AddArrayToObject(doc, "beyond");
    for (int i = 0; i < d->nextrapolations; i++)
        add_extrapolation(extrapolations, &d->extrapolations[i]);
    return doc;
}
