/* The data of the page, for programs: figures in columns, because a large cluster has very many. */
#include <math.h>
#include <stdlib.h>

#include "core/call/shape.h"
#include "core/coll.h"
#include "core/json.h"
#include "envgen/report/report_internal.h"

/* Five digits: more than any measurement is good for. */
static void add_figure(cJSON *row, double v, int known)
{
    char text[32];
    snprintf(text, sizeof text, "%.5g", v);
    cJSON_AddItemToArray(row, known && isfinite(v) ? cJSON_CreateNumber(strtod(text, NULL)) : cJSON_CreateNull());
}

static void add_interval(cJSON *row, const struct bench_interval *v)
{
    add_figure(row, v->median, v->n > 0);
    add_figure(row, v->low, v->n > 0);
    add_figure(row, v->high, v->n > 0);
    cJSON_AddItemToArray(row, cJSON_CreateNumber(v->n));
}

static void add_gain(cJSON *o, const struct bench_interval *v)
{
    cJSON *row = cJSON_CreateArray();
    add_interval(row, v);
    cJSON_AddItemToObject(o, "gain", row);
}

static void add_candidates(cJSON *o, const struct env_coll *c)
{
    static const char *const columns[] = {"bytes",   "call", "status",   "median_us", "low_us",       "high_us",
                                          "samples", "gain", "gain_low", "gain_high", "gain_samples", "used"};
    cJSON_AddItemToObject(o, "columns", cJSON_CreateStringArray(columns, sizeof columns / sizeof *columns));
    cJSON *rows = cJSON_AddArrayToObject(o, "candidates");
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++)
            for (int n = 0; n < c->ranges[i].points[k].noptions; n++) {
                const struct env_point *p = &c->ranges[i].points[k];
                const struct env_option *option = &p->options[n];
                cJSON *row = cJSON_CreateArray();
                cJSON_AddItemToArray(rows, row);
                cJSON_AddItemToArray(row, cJSON_CreateNumber((double)p->bytes));
                json_append_str(row, option->call.label);
                json_append_str(row, bench_status_name(option->status));
                add_interval(row, &option->time_us);
                add_interval(row, &option->gain);
                cJSON_AddItemToArray(row, cJSON_CreateBool(n == p->chosen));
            }
}

static void add_ranges(cJSON *o, const struct env_coll *c)
{
    cJSON *ranges = cJSON_AddArrayToObject(o, "ranges");
    for (int i = 0; i < c->nranges; i++) {
        cJSON *range = json_append(ranges);
        cJSON_AddNumberToObject(range, "min_bytes", (double)c->ranges[i].min_bytes);
        if (c->ranges[i].max_bytes != ENV_OPEN)
            cJSON_AddNumberToObject(range, "max_bytes", (double)c->ranges[i].max_bytes);
        json_add_str(range, "call", c->ranges[i].call.label);
        json_add_str(range, "why", c->ranges[i].why);
        add_gain(range, &c->ranges[i].gain);
    }
}

static void add_shape(cJSON *array, const struct env_shape *s)
{
    cJSON *o = json_append(array);
    json_add_str(o, "engine", s->engine);
    json_add_str(o, "library", s->library);
    json_add_str(o, "evidence", bench_evidence_text(bench_evidence_of(s->engine)));
    json_add_str(o, "buffers", bench_buffers_name(s->buffers));
    cJSON_AddNumberToObject(o, "nodes", s->nodes);
    cJSON_AddNumberToObject(o, "ranks", s->ranks);
    cJSON_AddNumberToObject(o, "groups", s->others + 1);
    json_add_str(o, "load", bench_load_name(s->load));
    json_add_str(o, "launch", s->chosen < 0 ? NULL : s->launches[s->chosen].knobs.label);
    json_add_str(o, "why", s->why);
    add_gain(o, &s->total_gain);
    cJSON *launches = cJSON_AddArrayToObject(o, "launches"), *colls = cJSON_AddArrayToObject(o, "collectives");
    for (int i = 0; i < s->nlaunches; i++) {
        cJSON *l = json_append(launches);
        json_add_str(l, "label", s->launches[i].knobs.label);
        json_add_str(l, "why", s->launches[i].why);
        add_gain(l, &s->launches[i].gain);
    }
    for (int i = 0; i < s->ncolls; i++) {
        cJSON *c = json_append(colls);
        json_add_str(c, "collective", coll_name(s->colls[i].coll));
        add_ranges(c, &s->colls[i]);
        add_candidates(c, &s->colls[i]);
    }
}

cJSON *report_data(struct report *r)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", "nccltune-report/1");
    json_add_str(doc, "profile", r->p->manifest.hash);
    json_add_str(doc, "tool", r->p->manifest.tool);
    json_add_str(doc, "created", r->p->manifest.created);
    json_add_str(doc, "topology", r->d->topology);
    json_add_str(doc, "today", r->d->today);
    cJSON_AddNumberToObject(doc, "margin", r->d->margin);
    cJSON_AddNumberToObject(doc, "confidence", r->d->confidence);
    cJSON *settings = cJSON_AddArrayToObject(doc, "settings"), *shapes = cJSON_AddArrayToObject(doc, "shapes");
    for (int i = 0; i < r->d->nsettings; i++) {
        const struct env_setting *s = &r->d->settings[i];
        cJSON *o = json_append(settings);
        json_add_str(o, "name", s->name);
        json_add_str(o, "value", s->value);
        json_add_str(o, "class", s->node_class);
        json_add_str(o, "source", s->source);
        json_add_str(o, "why", s->why);
    }
    for (int i = 0; i < r->d->nshapes; i++)
        add_shape(shapes, &r->d->shapes[i]);
    if (r->t)
        findings_add_json(doc, "findings", r->t->findings, r->t->nfindings);
    if (r->measured)
        findings_add_json(doc, "noise", r->measured->noise.list, r->measured->noise.n);
    return doc;
}
